package facades

import (
	"context"
	"strings"
	"time"

	"juju/state"
	"juju/state/entity"
	"juju/state/entity/sshkey"
	"juju/state/modelconfig"
)

// How many of an agent's failing workers are kept, and how much of each text.
const (
	maxFailures    = 16
	maxFailureText = 1000 // bytes
)

// setFailures records which of an agent's workers keep failing, for as long as the agent is
// connected.
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

// setFirewallError records why the agent of a machine can't close ports of its host; "" if it can.
func (c *Caller) setFirewallError(_ context.Context, machine entity.Tag, text string) error {
	c.Presence.SetFirewallError(c.Model.UUID(), machine, entity.Cut(text, maxFailureText))
	return nil
}

// newPassword makes a new password for the agent of a machine or unit. Only the agent that
// starts that agent learns it.
func (c *Caller) newPassword(ctx context.Context, agent entity.Tag) (string, error) {
	password := state.NewAgentPassword()
	return password, c.Model.Agents().SetPassword(ctx, agent, password)
}

func (c *Caller) setMachineAddresses(ctx context.Context, machine entity.Tag, addresses []string) error {
	if err := entity.CheckAddresses(addresses); err != nil {
		return err
	}
	m, err := c.Model.Machine(ctx, machine.ID)
	if err != nil {
		return err
	}
	return m.SetAddresses(ctx, addresses)
}

func (c *Caller) setMachineHardware(ctx context.Context, machine entity.Tag, hardware entity.Hardware) error {
	if err := hardware.Check(); err != nil {
		return err
	}
	m, err := c.Model.Machine(ctx, machine.ID)
	if err != nil {
		return err
	}
	return m.SetHardware(ctx, hardware)
}

func (c *Caller) observe(ctx context.Context, machine entity.Tag, in entity.Instance, status string) error {
	err := in.Check()
	if err == nil {
		err = entity.LimitStatusWord.CheckText(status)
	}
	if err != nil {
		return err
	}
	m, err := c.Model.Machine(ctx, machine.ID)
	if err != nil {
		return err
	}
	return m.Observe(ctx, in, status)
}

// maxHostKeys is how many keys a machine's SSH server can have.
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
	m, err := c.Model.Machine(ctx, machine.ID)
	if err != nil {
		return err
	}
	return m.SetHostKeys(ctx, plain)
}

func (c *Caller) setMachineStatus(ctx context.Context, machine entity.Tag, status entity.Status) error {
	status, err := reported(status, entity.MachineWords)
	if err != nil {
		return err
	}
	m, err := c.Model.Machine(ctx, machine.ID)
	if err != nil {
		return err
	}
	return m.SetStatus(ctx, status)
}

func (c *Caller) setInstanceStatus(ctx context.Context, machine entity.Tag, status entity.Status) error {
	status.Since = time.Time{} // now, by the controller's clock
	m, err := c.Model.Machine(ctx, machine.ID)
	if err != nil {
		return err
	}
	return m.SetInstanceStatus(ctx, status)
}

// loseInstance refuses while the machine's agent is connected: its instance is there,
// whatever the cloud says.
func (c *Caller) loseInstance(ctx context.Context, machine entity.Tag, missed entity.Instance) error {
	if c.Presence.Connected(c.Model.UUID(), machine) {
		return entity.Errorf(entity.InUse, "the agent of machine %s is connected", machine.ID)
	}
	m, err := c.Model.Machine(ctx, machine.ID)
	if err != nil {
		return err
	}
	return m.LoseInstance(ctx, missed)
}

// removeMachine refuses to remove a manual machine while its agent is connected. No cloud ends the
// agent of such a machine.
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
	if err := status.CheckWord(entity.StorageWords); err != nil {
		return err
	}
	s, err := c.Model.Storage(ctx, storage.ID)
	if err != nil {
		return err
	}
	return s.SetStatus(ctx, status)
}

func (c *Caller) setUnitStatus(ctx context.Context, unit entity.Tag, status entity.Status) error {
	status, err := reported(status, entity.UnitWords)
	if err != nil {
		return err
	}
	u, err := c.Model.Unit(ctx, unit.ID)
	if err != nil {
		return err
	}
	return u.SetStatus(ctx, status)
}

func (c *Caller) setServiceStatus(ctx context.Context, unit entity.Tag, epoch int64, status entity.Status) error {
	status, err := reported(status, entity.WorkloadWords)
	if err != nil {
		return err
	}
	u, err := c.Model.Unit(ctx, unit.ID)
	if err != nil {
		return err
	}
	return u.SetServiceStatus(ctx, epoch, status)
}

func (c *Caller) setAgentStatus(ctx context.Context, unit entity.Tag, status entity.Status) error {
	status, err := reported(status, entity.AgentWords)
	if err != nil {
		return err
	}
	u, err := c.Model.Unit(ctx, unit.ID)
	if err != nil {
		return err
	}
	return u.SetAgentStatus(ctx, status)
}

// reported checks the status that an agent reports, which must be one of words. Its time is
// now, by the controller's clock, unless the agent gives one in the past: the status that a
// failed hook had hidden is shown again with its old time.
func reported(status entity.Status, words []entity.StatusWord) (entity.Status, error) {
	if status.Since.Before(firstSince) || status.Since.After(time.Now()) {
		status.Since = time.Time{}
	}
	return status, status.CheckWord(words)
}

// firstSince is earlier than any status.
var firstSince = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// watchMachineAgents fires when the agent of one of the model's machines is no longer connected.
func (c *Caller) watchMachineAgents(ctx context.Context) (<-chan struct{}, error) {
	return c.Presence.WatchDepartures(ctx, c.Model.UUID()), nil
}

// agentModelConfig returns the model's settings, none of which is a secret.
func (c *Caller) agentModelConfig(ctx context.Context, _ entity.Tag) (modelconfig.Config, error) {
	return c.Model.Settings().Config(ctx)
}
