package pruner

import (
	"context"
	"time"
)

// API is what a pruner needs of the state of one database.
type API interface {
	// PruneTransactions removes finished transactions older than age, takes them out of the
	// queues that name them, and returns how many it removed.
	PruneTransactions(ctx context.Context, age time.Duration) (removed int, err error)
}
