package cleaner

import (
	"context"
	"time"

	"github.com/juju/loggo"

	"juju/worker"
)

var logger = loggo.GetLogger("juju.worker.cleaner")

// Config is what a cleaner needs.
type Config struct {
	API API
	// Retry is the pause before unfinished cleanups are retried; 30 seconds if zero. New cleanups run
	// immediately.
	Retry time.Duration
}

// New returns the cleaner of one model.
func New(config Config) worker.Func {
	if config.Retry == 0 {
		config.Retry = 30 * time.Second
	}
	return func(ctx context.Context) error {
		// No event announces that an unfinished cleanup can continue, so it is retried periodically.
		return worker.NotifyAgain(ctx, config.API.WatchCleanups, func(ctx context.Context) (time.Duration, error) {
			left, due, err := config.API.Cleanup(ctx)
			if err != nil || left == 0 {
				return due, err
			}
			logger.Debugf("%d cleanups left for the next pass", left)
			if due == 0 || due > config.Retry {
				due = config.Retry
			}
			return due, nil
		})
	}
}
