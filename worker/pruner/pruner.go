package pruner

import (
	"context"
	"time"

	"github.com/juju/loggo"

	"juju/worker"
)

var logger = loggo.GetLogger("juju.worker.pruner")

// Config is what a pruner needs.
type Config struct {
	API API
	Age time.Duration // how long finished transactions are kept; an hour if zero
	// Period is the time between passes; half of Age if zero, so that no transaction is kept longer than one
	// and a half times Age.
	Period time.Duration
}

// New returns the pruner of one database.
func New(config Config) worker.Func {
	if config.Age == 0 {
		config.Age = time.Hour
	}
	if config.Period == 0 {
		config.Period = config.Age / 2
	}
	return func(ctx context.Context) error {
		return worker.Every(ctx, config.Period, func(ctx context.Context) error {
			removed, err := config.API.PruneTransactions(ctx, config.Age)
			if err == nil && removed > 0 {
				logger.Debugf("pruned %d transactions", removed)
			}
			return err
		})
	}
}
