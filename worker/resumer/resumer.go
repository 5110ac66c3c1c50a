package resumer

import (
	"context"
	"time"

	"juju/worker"
)

// Config is what a resumer needs.
type Config struct {
	API    API
	Period time.Duration // a minute if zero
}

// New returns the resumer of one database.
func New(config Config) worker.Func {
	if config.Period == 0 {
		config.Period = time.Minute
	}
	return func(ctx context.Context) error {
		return worker.Every(ctx, config.Period, config.API.ResumeTransactions)
	}
}
