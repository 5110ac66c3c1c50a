package mongo

import "context"

type movedKey struct{}

// Moving returns a context for work whose length grows with the data: it calls moved, which may be called by several
// goroutines, whenever it has made some progress. So the clock of who waits for it need not be long enough for all of it.
// Those whom it calls for a context that this one derives from are called as well.
func Moving(ctx context.Context, moved func()) context.Context {
	outer, _ := ctx.Value(movedKey{}).(func())
	return context.WithValue(ctx, movedKey{}, func() {
		moved()
		if outer != nil {
			outer()
		}
	})
}

// Moved says that the work of a context has made some progress. Run says it of each transaction that it has applied.
func Moved(ctx context.Context) {
	if moved, ok := ctx.Value(movedKey{}).(func()); ok {
		moved()
	}
}
