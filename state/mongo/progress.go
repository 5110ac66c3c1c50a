package mongo

import "context"

type movedKey struct{}

// Moving returns a context for work whose length grows with the data: it calls moved, which may be called by several
// goroutines, whenever it has made some progress. So the clock of who waits for it need not be long enough for all of it.
func Moving(ctx context.Context, moved func()) context.Context {
	return context.WithValue(ctx, movedKey{}, moved)
}

// Moved says that the work of a context has made some progress. Run says it of each transaction that it has applied.
func Moved(ctx context.Context) {
	if moved, ok := ctx.Value(movedKey{}).(func()); ok {
		moved()
	}
}
