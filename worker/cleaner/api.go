package cleaner

import (
	"context"
	"time"
)

// API is what a cleaner needs of the state of one model.
type API interface {
	// WatchCleanups fires when a cleanup document may have appeared.
	WatchCleanups(ctx context.Context) (<-chan struct{}, error)
	// Cleanup does the steps that cleanup documents ask for; one that fails is
	// logged and left for the next pass. It returns how many are left that should
	// be tried again, and in how long the next one falls due of those that have a
	// time, or 0.
	Cleanup(ctx context.Context) (left int, due time.Duration, err error)
}
