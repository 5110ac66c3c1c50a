package hooks

import (
	"context"
	"errors"
)

// ErrAbort is the reason for which a hook or task is ended at once instead of being waited for: its unit has been
// destroyed with force, or a user has cancelled it.
var ErrAbort = errors.New("hook aborted")

// abortKey is the key of the context that ends with an abort, in a context of WithAbort.
type abortKey struct{}

// WithAbort returns a context that ends with the cause ErrAbort when abort is called. A hook that Run runs with it is
// ended by abort even if the context was done before, as that of an agent which is told to stop and waits for its hook.
func WithAbort(ctx context.Context) (aborted context.Context, abort func()) {
	hook, abortHook := context.WithCancelCause(abortOf(ctx))
	aborted, cancel := context.WithCancelCause(context.WithValue(ctx, abortKey{}, hook))
	return aborted, func() {
		abortHook(ErrAbort)
		cancel(ErrAbort)
	}
}

// abortOf returns the context that ends when a hook that runs with ctx is aborted.
func abortOf(ctx context.Context) context.Context {
	if hook, ok := ctx.Value(abortKey{}).(context.Context); ok {
		return hook
	}
	return context.Background()
}
