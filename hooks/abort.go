package hooks

import (
	"context"
	"errors"
)

// ErrAbort is the cause for killing a hook or task immediately: its unit was destroyed with force, or a user cancelled
// it.
var ErrAbort = errors.New("hook aborted")

// abortKey is the key of the context that ends with an abort, in a context of WithAbort.
type abortKey struct{}

// WithAbort returns a context that abort cancels with the cause ErrAbort. Abort kills a hook that Run runs with it even
// if the context was already done, as when a stopping agent waits for its hook.
func WithAbort(ctx context.Context) (aborted context.Context, abort func()) {
	hook, abortHook := context.WithCancelCause(abortOf(ctx))
	aborted, cancel := context.WithCancelCause(context.WithValue(ctx, abortKey{}, hook))
	return aborted, func() {
		abortHook(ErrAbort)
		cancel(ErrAbort)
	}
}

// abortOf returns the context that is cancelled when a hook running with ctx is aborted.
func abortOf(ctx context.Context) context.Context {
	if hook, ok := ctx.Value(abortKey{}).(context.Context); ok {
		return hook
	}
	return context.Background()
}
