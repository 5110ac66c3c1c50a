package cleaner

import "context"

// API is what a cleaner needs of the state of one model.
type API interface {
	// WatchCleanups fires when a cleanup document may have appeared.
	WatchCleanups(ctx context.Context) (<-chan struct{}, error)
	// Cleanup does the steps that cleanup documents ask for; one that fails is
	// logged and left for the next pass. It returns how many are left.
	Cleanup(ctx context.Context) (left int, err error)
}
