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
	// Retry is the pause before unfinished cleanups are tried again; 30 seconds when zero. New
	// cleanups run at once.
	Retry time.Duration
}

// New returns the cleaner of one model.
func New(config Config) worker.Func {
	if config.Retry == 0 {
		config.Retry = 30 * time.Second
	}
	return func(ctx context.Context) error {
		// No event tells that an unfinished cleanup can go on, so it is tried again after a
		// while.
		return worker.NotifyAgain(ctx, config.API.WatchCleanups, func(ctx context.Context) (time.Duration, error) {
			left, due, err := config.API.Cleanup(ctx)
			if err != nil || left == 0 {
				return due, err
			}
			logger.Debugf("%d cleanups are left for the next pass", left)
			if due == 0 || due > config.Retry {
				due = config.Retry
			}
			return due, nil
		})
	}
}
