package provisioner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"juju/provider"
	"juju/state/entity"
)

// tend does for one machine what its life asks for, again until that succeeds.
func (p *provisioner) tend(ctx context.Context, id string) {
	defer func() { p.done <- id }()
	for again := false; ctx.Err() == nil; again = true {
		err := p.try(ctx, id, again)
		if err == nil || ctx.Err() != nil {
			return
		}
		logger.Errorf("machine %s: %v; again in %v", id, err, p.Retry)
		pause(ctx, p.Retry)
	}
}

func (p *provisioner) try(ctx context.Context, id string, again bool) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case p.slots <- struct{}{}:
	}
	defer func() { <-p.slots }()
	m, err := p.machine(ctx, id)
	tag := entity.MachineTag(id)
	switch {
	case errors.Is(err, entity.NotFound) || m.Manager:
		return nil
	case err != nil:
		return err
	case m.Life == entity.Alive && m.InstanceID == "" && m.Status != entity.StatusError:
		if again {
			if err := p.stopLeft(ctx, id); err != nil {
				return err
			}
		}
		return p.start(ctx, m)
	case m.Life == entity.Alive || m.Life == entity.Dying && m.InstanceID != "":
		return nil
	case m.InstanceID != "":
		if err := p.Environ.StopInstances(ctx, m.InstanceID); err != nil {
			return fmt.Errorf("cannot stop instance %s: %w", m.InstanceID, err)
		}
	case m.Life != entity.Dead:
		if err := p.API.EnsureDead(ctx, tag); err != nil {
			return err
		}
	}
	return p.API.RemoveMachine(ctx, tag)
}

// machine reads one machine; NotFound when it is gone.
func (p *provisioner) machine(ctx context.Context, id string) (entity.MachineInfo, error) {
	machines, err := p.API.Machines(ctx, id)
	if err != nil {
		return entity.MachineInfo{}, err
	}
	if len(machines) == 0 {
		return entity.MachineInfo{}, entity.Errorf(entity.NotFound, "machine %s not found", id)
	}
	return machines[0], nil
}

// start gives an Alive machine its instance, or the status that says why not. If
// the machine stops being Alive meanwhile, that is an event which brings it here again.
func (p *provisioner) start(ctx context.Context, m entity.MachineInfo) error {
	tag, nonce := entity.MachineTag(m.ID), "machine-0:"+uuid.NewString()
	params, err := p.startParams(ctx, m, nonce)
	if err != nil {
		return err
	}
	instance, err := p.startInstance(ctx, params)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		logger.Errorf("cannot start an instance for machine %s: %v", m.ID, err)
		if err := p.stopLeft(ctx, m.ID); err != nil {
			return err
		}
		return p.API.SetMachineStatus(ctx, tag, entity.Status{
			Status:  entity.StatusError,
			Message: fmt.Sprintf("cannot start an instance: %v", err),
		})
	}
	err = p.API.SetProvisioned(ctx, tag, entity.Instance{ID: instance.ID, Nonce: nonce, Addresses: instance.Addresses})
	if isGoing(err) {
		return p.stopLeft(ctx, m.ID)
	}
	if err != nil {
		// It may have been recorded all the same: only the next look can tell.
		return fmt.Errorf("cannot record instance %s: %w", instance.ID, err)
	}
	logger.Infof("machine %s has instance %s", m.ID, instance.ID)
	return nil
}

// startParams collects what the instance is made of.
func (p *provisioner) startParams(ctx context.Context, m entity.MachineInfo, nonce string) (provider.StartParams, error) {
	constraints, err := entity.ParseConstraints(m.Constraints)
	if err != nil {
		return provider.StartParams{}, err
	}
	password, err := p.API.NewPassword(ctx, entity.MachineTag(m.ID))
	if err != nil {
		return provider.StartParams{}, err
	}
	config, err := p.AgentConfig(m, password, nonce)
	if err != nil {
		return provider.StartParams{}, fmt.Errorf("cannot write its agent's configuration: %w", err)
	}
	return provider.StartParams{
		MachineID: m.ID, Nonce: nonce, Series: m.Series,
		Constraints: constraints, Placement: m.Placement, AgentConfig: config,
	}, nil
}

// startInstance tries again while that may help and the machine wants an instance.
// All attempts share a nonce, so they end in one instance.
func (p *provisioner) startInstance(ctx context.Context, params provider.StartParams) (provider.Instance, error) {
	for attempt := 1; ; attempt++ {
		instance, err := p.Environ.StartInstance(ctx, params)
		if err == nil || attempt >= p.Attempts || !provider.IsRetryable(err) {
			return instance, err
		}
		logger.Warningf("cannot start an instance for machine %s at attempt %d: %v", params.MachineID, attempt, err)
		pause(ctx, p.Pause)
		if m, readErr := p.machine(ctx, params.MachineID); readErr == nil && m.Life != entity.Alive || isGoing(readErr) {
			return instance, err
		}
	}
}

// stopLeft stops whatever a failed start has left of the machine's.
func (p *provisioner) stopLeft(ctx context.Context, machine string) error {
	instances, err := p.Environ.Instances(ctx)
	if err != nil {
		return err
	}
	for _, in := range instances {
		if in.MachineID == machine {
			if err := p.Environ.StopInstances(ctx, in.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

// isGoing tells the errors of writing to a machine that nobody wants any more.
func isGoing(err error) bool {
	return errors.Is(err, entity.NotFound) || errors.Is(err, entity.NotAlive)
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
