package mongo

import "context"

type movedKey struct{}

// Moving returns a context for work whose duration grows with the data. The work calls moved, possibly from several
// goroutines, whenever it has made progress, so a caller can limit the time without progress instead of the total time. If
// ctx comes from Moving too, its own moved is called as well.
func Moving(ctx context.Context, moved func()) context.Context {
	outer, _ := ctx.Value(movedKey{}).(func())
	return context.WithValue(ctx, movedKey{}, func() {
		moved()
		if outer != nil {
			outer()
		}
	})
}

// Moved reports that the work of a context has made progress. Run calls it for each transaction that it has applied.
func Moved(ctx context.Context) {
	if moved, ok := ctx.Value(movedKey{}).(func()); ok {
		moved()
	}
}
