package facades

import (
	"cmp"
	"context"
	"strings"
	"time"

	"juju/state"
	"juju/state/entity"
	"juju/state/entity/sshkey"
	"juju/state/limits"
	"juju/state/modelconfig"
)

// The limits on how many of an agent's worker failures are kept, and on each text.
const (
	maxFailures    = 16
	maxFailureText = 1000 // bytes
)

// setFailures records which of an agent's workers keep failing, while the agent is connected.
func (c *Caller) setFailures(_ context.Context, agent entity.Tag, failures []entity.WorkerFailure) error {
	failures = failures[:min(len(failures), maxFailures)]
	for i := range failures {
		for _, text := range []*string{&failures[i].Worker, &failures[i].Error} {
			if len(*text) > maxFailureText {
				*text = strings.ToValidUTF8((*text)[:maxFailureText], "") + "…"
			}
		}
	}
	c.Presence.SetFailures(c.Model.UUID(), agent, failures)
	return nil
}

// setFirewallError records why a machine's agent can't close ports of its host; "" if it can.
func (c *Caller) setFirewallError(_ context.Context, machine entity.Tag, text string) error {
	c.Presence.SetFirewallError(c.Model.UUID(), machine, entity.Cut(text, maxFailureText))
	return nil
}

// setFullDisk records that a machine's disk is full or nearly so, while its agent is connected; the zero value that it has
// room.
func (c *Caller) setFullDisk(_ context.Context, machine entity.Tag, disk entity.FullDisk) error {
	disk.Dir = entity.Cut(disk.Dir, maxFailureText)
	c.Presence.SetFullDisk(c.Model.UUID(), machine, disk)
	return nil
}

// cloudSpec returns how to use the cloud, to a unit whose service a user trusts.
func (c *Caller) cloudSpec(ctx context.Context, unit entity.Tag) (entity.CloudSpec, error) {
	svc, err := c.Model.Service(ctx, entity.UnitService(unit.ID))
	if err != nil {
		return entity.CloudSpec{}, err
	}
	trusted, _, err := svc.Trust(ctx)
	if err == nil && !trusted {
		err = entity.Errorf(entity.Unauthorized, "permission denied")
	}
	if err != nil {
		return entity.CloudSpec{}, err
	}
	return c.specOf(ctx, c.Model.UUID())
}

// newPassword sets a new password for the agent of a machine or unit. It is returned only to the agent that starts that
// agent.
func (c *Caller) newPassword(ctx context.Context, agent entity.Tag) (string, error) {
	password := state.NewAgentPassword()
	return password, c.Model.Agents().SetPassword(ctx, agent, password)
}

// pass calls set with the entity, unless what the agent reported is invalid.
func pass[E any](
	ctx context.Context, invalid error, find func(context.Context, string) (E, error), tag entity.Tag, set func(E) error,
) error {
	if invalid != nil {
		return invalid
	}
	e, err := find(ctx, tag.ID)
	if err != nil {
		return err
	}
	return set(e)
}

func (c *Caller) setMachineAddresses(ctx context.Context, machine entity.Tag, addresses []string) error {
	return pass(ctx, limits.CheckAddresses(addresses), c.Model.Machine, machine,
		func(m *state.Machine) error { return m.SetAddresses(ctx, addresses) })
}

func (c *Caller) setMachineHardware(ctx context.Context, machine entity.Tag, hardware entity.Hardware) error {
	return pass(ctx, limits.CheckHardware(hardware), c.Model.Machine, machine,
		func(m *state.Machine) error { return m.SetHardware(ctx, hardware) })
}

func (c *Caller) observe(ctx context.Context, machine entity.Tag, in entity.Instance, status string) error {
	invalid := cmp.Or(limits.CheckInstance(in), limits.StatusWord.CheckText(status))
	return pass(ctx, invalid, c.Model.Machine, machine, func(m *state.Machine) error { return m.Observe(ctx, in, status) })
}

// maxHostKeys limits the number of keys of a machine's SSH server.
const maxHostKeys = 16

func (c *Caller) setHostKeys(ctx context.Context, machine entity.Tag, keys []string) error {
	if len(keys) > maxHostKeys {
		return entity.Errorf(entity.Invalid, "cannot set %d keys of an SSH server: the limit is %d", len(keys), maxHostKeys)
	}
	plain := make([]string, 0, len(keys))
	for _, line := range keys {
		key, err := sshkey.Parse(line)
		if err != nil {
			return err
		}
		plain = append(plain, key.Line)
	}
	return pass(ctx, nil, c.Model.Machine, machine, func(m *state.Machine) error { return m.SetHostKeys(ctx, plain) })
}

func (c *Caller) setMachineStatus(ctx context.Context, machine entity.Tag, status entity.Status) error {
	status, invalid := reported(status, entity.MachineWords)
	return pass(ctx, invalid, c.Model.Agents().KnownMachine, machine, func(m *state.Machine) error {
		return m.SetStatus(ctx, status)
	})
}

func (c *Caller) setInstanceStatus(ctx context.Context, machine entity.Tag, status entity.Status) error {
	status.Since = time.Time{} // now, by the controller's clock
	return pass(ctx, nil, c.Model.Machine, machine, func(m *state.Machine) error {
		return m.SetInstanceStatus(ctx, status)
	})
}

// loseInstance fails while the machine's agent is connected: then its instance exists, whatever the cloud says.
func (c *Caller) loseInstance(ctx context.Context, machine entity.Tag, missed entity.Instance) error {
	if c.Presence.Connected(c.Model.UUID(), machine) {
		return entity.Errorf(entity.InUse, "the agent of machine %s is connected", machine.ID)
	}
	return pass(ctx, nil, c.Model.Machine, machine, func(m *state.Machine) error { return m.LoseInstance(ctx, missed) })
}

// removeMachine does not remove a manual machine while its agent is connected, because no cloud terminates that agent.
func (c *Caller) removeMachine(ctx context.Context, machine entity.Tag) error {
	m, err := c.Model.Machine(ctx, machine.ID)
	if err != nil {
		return err
	}
	if entity.IsManualInstance(m.InstanceID()) && m.Life() == entity.Dead &&
		c.Presence.Connected(c.Model.UUID(), machine) {
		return entity.Errorf(entity.InUse, "the agent of machine %s is connected", machine.ID)
	}
	return m.Remove(ctx)
}

func (c *Caller) setStorageStatus(ctx context.Context, storage entity.Tag, status entity.Status) error {
	status.Since = time.Time{} // now, by the controller's clock
	return pass(ctx, limits.CheckStatusWord(status.Status, entity.StorageWords), c.Model.Storage, storage,
		func(s *state.Storage) error { return s.SetStatus(ctx, status) })
}

func (c *Caller) setUnitStatus(ctx context.Context, unit entity.Tag, status entity.Status) error {
	status, invalid := reported(status, entity.UnitWords)
	err := pass(ctx, invalid, c.Model.Agents().KnownUnit, unit, func(u *state.Unit) error {
		return u.SetStatus(ctx, status)
	})
	if err == nil && status.Status == entity.StatusError && status.Data["hook"] != nil {
		c.Meter.HookFailed(c.Model.Name(), entity.UnitService(unit.ID))
	}
	return err
}

// hookRan notes how long a hook of the unit ran. It asks nothing of the store.
func (c *Caller) hookRan(_ context.Context, unit entity.Tag, took time.Duration) error {
	c.Meter.HookRan(c.Model.Name(), entity.UnitService(unit.ID), took)
	return nil
}

func (c *Caller) setServiceStatus(ctx context.Context, unit entity.Tag, epoch int64, status entity.Status) error {
	status, invalid := reported(status, entity.WorkloadWords)
	return pass(ctx, invalid, c.Model.Agents().KnownUnit, unit, func(u *state.Unit) error {
		return u.SetServiceStatus(ctx, epoch, status)
	})
}

func (c *Caller) setAgentStatus(ctx context.Context, unit entity.Tag, status entity.Status) error {
	status, invalid := reported(status, entity.AgentWords)
	return pass(ctx, invalid, c.Model.Agents().KnownUnit, unit, func(u *state.Unit) error {
		return u.SetAgentStatus(ctx, status)
	})
}

// reported checks a status reported by an agent, which must be one of words. Its time is now, by the controller's
// clock, unless the agent gives one in the past: the status that a failed hook had hidden is shown again with its old
// time.
func reported(status entity.Status, words []entity.StatusWord) (entity.Status, error) {
	if status.Since.Before(firstSince) || status.Since.After(time.Now()) {
		status.Since = time.Time{}
	}
	return status, limits.CheckStatusWord(status.Status, words)
}

// firstSince is before any status.
var firstSince = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// watchMachineAgents sends an event when the agent of one of the model's machines disconnects.
func (c *Caller) watchMachineAgents(ctx context.Context) (<-chan struct{}, error) {
	return c.Presence.WatchDepartures(ctx, c.Model.UUID()), nil
}

// agentModelConfig returns the model's settings without what may hold secrets and is for the provisioner only.
func (c *Caller) agentModelConfig(ctx context.Context, _ entity.Tag) (modelconfig.Config, error) {
	config, err := c.Model.Settings().Config(ctx)
	delete(config, modelconfig.UserData)
	return config, err
}
