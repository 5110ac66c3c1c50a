package pruner

import (
	"context"
	"time"
)

// API is what a pruner needs of the state of one database.
type API interface {
	// PruneTransactions removes finished transactions older than age and their entries in documents' queues.
	// It returns how many it removed.
	PruneTransactions(ctx context.Context, age time.Duration) (removed int, err error)
}
