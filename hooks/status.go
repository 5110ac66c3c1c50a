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
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.status == nil {
		ctx, cancel := context.WithTimeout(ctx, backendTimeout)
		defer cancel()
		status, err := c.backend.UnitStatus(ctx, c.unit)
		if err != nil {
			return entity.Status{}, fmt.Errorf("cannot read the status: %w", err)
		}
		c.status = &status
	}
	return *c.status, nil
}

// SetWorkloadStatus sets the status immediately, even if the hook fails later.
func (c toolContext) SetWorkloadStatus(ctx context.Context, word entity.StatusWord, message string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	status := entity.Status{Status: word, Message: message}
	ctx, cancel := context.WithTimeout(ctx, backendTimeout)
	defer cancel()
	if err := c.backend.SetUnitStatus(ctx, c.unit, status); err != nil {
		return fmt.Errorf("cannot set the status: %w", err)
	}
	c.status = &status
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
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ofService == nil {
		ctx, cancel := context.WithTimeout(ctx, backendTimeout)
		defer cancel()
		all, err := c.backend.ServiceStatus(ctx, c.unit)
		if err != nil {
			return all, err
		}
		c.ofService = &all
	}
	return *c.ofService, nil
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
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ofService = nil
	ctx, cancel := context.WithTimeout(ctx, backendTimeout)
	defer cancel()
	err = c.backend.SetServiceStatus(ctx, c.unit, epoch, entity.Status{Status: word, Message: message})
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
