package minunits

import (
	"context"
	"errors"
	"fmt"

	"github.com/juju/loggo"

	"juju/state/entity"
	"juju/worker"
)

var logger = loggo.GetLogger("juju.worker.minunits")

// Config is what the worker needs.
type Config struct {
	API API
}

// New returns the worker for one model. If it can't add a service's units, it continues with the other
// services, then fails; after a restart it checks all of them again.
func New(config Config) worker.Func {
	return func(ctx context.Context) error {
		return worker.Strings(ctx, config.API.WatchMinUnits, func(ctx context.Context, services []string) error {
			var errs []error
			for _, service := range services {
				err := config.API.EnsureMinUnits(ctx, entity.ServiceTag(service))
				switch {
				case ctx.Err() != nil:
					return context.Cause(ctx)
				case errors.Is(err, entity.NotFound):
					logger.Debugf("service %q is removed", service)
				case err != nil:
					errs = append(errs, fmt.Errorf("cannot maintain the minimum units of %q: %w", service, err))
				}
			}
			return errors.Join(errs...)
		})
	}
}
