package hooks

import (
	"context"
	"errors"
	"fmt"

	"juju/state/entity"
)

// errNotLeader is the error of tools that only the leader of a service can use.
var errNotLeader = errors.New("this unit is not the leader")

func (c toolContext) WorkloadStatus(ctx context.Context) (entity.Status, error) {
	return c.status.get(ctx, func(ctx context.Context) (entity.Status, error) {
		status, err := c.backend.UnitStatus(ctx, c.unit)
		if err != nil {
			err = fmt.Errorf("cannot read the status: %w", err)
		}
		return status, err
	})
}

// SetWorkloadStatus sets the status immediately, even if the hook fails later.
func (c toolContext) SetWorkloadStatus(ctx context.Context, word entity.StatusWord, message string) error {
	status := entity.Status{Status: word, Message: message}
	err := c.status.put(ctx, status, func(ctx context.Context) error {
		return c.backend.SetUnitStatus(ctx, c.unit, status)
	})
	if err != nil {
		return fmt.Errorf("cannot set the status: %w", err)
	}
	return nil
}

// ServiceStatus returns the statuses of the service and its units.
func (c toolContext) ServiceStatus(ctx context.Context) (entity.StatusesOfService, error) {
	epoch, err := c.leads(ctx)
	if err != nil {
		return entity.StatusesOfService{}, err
	}
	if epoch == 0 {
		return entity.StatusesOfService{}, errNotLeader
	}
	return c.ofService.get(ctx, func(ctx context.Context) (entity.StatusesOfService, error) {
		return c.backend.ServiceStatus(ctx, c.unit)
	})
}

// SetServiceStatus sets the service's status immediately, even if the hook fails later.
func (c toolContext) SetServiceStatus(ctx context.Context, word entity.StatusWord, message string) error {
	epoch, err := c.leads(ctx)
	if err != nil {
		return fmt.Errorf("cannot set the status: %w", err)
	}
	if epoch == 0 {
		return errNotLeader
	}
	err = c.ofService.change(ctx, func(ctx context.Context) error {
		return c.backend.SetServiceStatus(ctx, c.unit, epoch, entity.Status{Status: word, Message: message})
	})
	if err != nil {
		return fmt.Errorf("cannot set the status: %w", err)
	}
	return nil
}

// SetWorkloadVersion immediately sets the version that status shows.
func (c toolContext) SetWorkloadVersion(ctx context.Context, version string) error {
	ctx, cancel := context.WithTimeout(ctx, backendTimeout)
	defer cancel()
	if err := c.backend.SetWorkloadVersion(ctx, c.unit, version); err != nil {
		return fmt.Errorf("cannot set the version: %w", err)
	}
	return nil
}
