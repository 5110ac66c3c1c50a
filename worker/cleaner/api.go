package cleaner

import (
	"context"
	"time"
)

// API is what a cleaner needs of the state of one model.
type API interface {
	// WatchCleanups fires when a cleanup document may have appeared.
	WatchCleanups(ctx context.Context) (<-chan struct{}, error)
	// Cleanup runs the steps of the cleanup documents. It logs a failed step and leaves it for the next pass.
	// It returns how many cleanups to retry, and the time until the next scheduled one is due, or 0.
	Cleanup(ctx context.Context) (left int, due time.Duration, err error)
}
