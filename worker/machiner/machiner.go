package machiner

import (
	"context"
	"errors"
	"fmt"

	"github.com/juju/loggo"

	"juju/state/entity"
	"juju/state/modelconfig"
	"juju/worker"
)

var logger = loggo.GetLogger("juju.worker.machiner")

// Config is what a machiner needs.
type Config struct {
	API     API
	Machine entity.Tag
	// Addresses returns the machine's addresses, best first. It is nil if the provisioner sets them.
	Addresses func() ([]string, error)
	// Configured is called with the model's settings initially and when they may have changed. It may be nil.
	Configured func(modelconfig.Config)
	// Boot identifies the machine's current boot; "" if the machine can't be restarted.
	Boot string
	// Restart is called, possibly repeatedly, once a unit has requested a restart of the machine in this boot.
	// It must return promptly. It may be nil if Boot is "".
	Restart func()
}

// New returns the machiner of one machine. It fails with worker.ErrTerminateAgent when the machine is Dead or
// removed.
func New(config Config) worker.Func {
	return func(ctx context.Context) error {
		m := machiner{Config: config}
		err := worker.Notify(ctx,
			func(ctx context.Context) (<-chan struct{}, error) {
				return config.API.WatchMachine(ctx, config.Machine)
			}, m.handle)
		if isGone(err) {
			return m.terminate("is removed")
		}
		return err
	}
}

type machiner struct {
	Config
	started bool // this process has reported that it started
}

func (m *machiner) handle(ctx context.Context) error {
	machine, err := m.API.Machine(ctx, m.Machine)
	if err != nil {
		return err
	}
	if m.Configured != nil {
		config, err := m.API.ModelConfig(ctx, m.Machine)
		if err != nil {
			return err
		}
		m.Configured(config)
	}
	switch machine.Life {
	case entity.Alive:
		return m.serve(ctx, machine)
	case entity.Dying:
		// Only units prevent a machine from becoming Dead. Their agents and the deployer remove them, and the
		// removal of the last one fires this watch.
		err := m.API.EnsureDead(ctx, m.Machine)
		if errors.Is(err, entity.InUse) {
			logger.Debugf("machine %s is not dead yet: %v", m.Machine.ID, err)
			return m.serve(ctx, machine)
		}
		if err != nil {
			return err
		}
	}
	return m.terminate("is dead")
}

// serve handles a machine that is Alive or still has units.
func (m *machiner) serve(ctx context.Context, machine entity.MachineInfo) error {
	if err := m.start(ctx); err != nil {
		return err
	}
	if m.Boot != "" && machine.Reboot == m.Boot {
		m.Restart()
	}
	return nil
}

func (m *machiner) start(ctx context.Context) error {
	if m.started {
		return nil
	}
	if m.Addresses != nil {
		addresses, err := m.Addresses()
		if err != nil {
			return fmt.Errorf("cannot find the machine's addresses: %w", err)
		}
		if err := m.API.SetMachineAddresses(ctx, m.Machine, addresses); err != nil {
			return err
		}
	}
	if err := m.API.SetMachineStatus(ctx, m.Machine, entity.Status{Status: entity.StatusStarted}); err != nil {
		return err
	}
	m.started = true
	return nil
}

func (m *machiner) terminate(why string) error {
	return fmt.Errorf("machine %s %s: %w", m.Machine.ID, why, worker.ErrTerminateAgent)
}

// isGone reports whether the agent's entity no longer exists: it is not found, or its password,
// which was removed with it, is invalid.
func isGone(err error) bool {
	return errors.Is(err, entity.NotFound) || errors.Is(err, entity.Unauthorized)
}
