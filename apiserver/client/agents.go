package client

import (
	"context"
	"slices"

	"juju/apiserver/params"
	"juju/state/entity"
)

// agent names the entity that an agent's request is about.
func agent(tag entity.Tag) params.Agent { return params.Agent{Tag: params.TagOf(tag)} }

// agentStatus is the request of an agent that sets a status. What the controller would
// refuse of it, because a cloud or an error said too much, is cut: the agent could do
// nothing about the refusal, and the user would see no status at all.
func agentStatus(tag entity.Tag, status entity.Status) params.AgentStatus {
	return params.AgentStatus{Agent: agent(tag), Status: status.Fitted()}
}

// machineFacade returns the facade for a request about a machine that both a
// machiner and a provisioner may make: a machine's agent acts for itself, the
// controller's for any other. On a model that is not its own, the controller's
// machine 0 is not that model's, and the server does not offer it Machiner.
func (c *Conn) machineFacade(machine entity.Tag) string {
	if machine == c.Tag() && c.has("Machiner") {
		return "Machiner"
	}
	return "Provisioner"
}

// SetTroubles says which of the agent's own workers fail again and again. It holds until
// the connection ends. Errors are cut to what the controller takes, as by agentStatus.
func (c *Conn) SetTroubles(ctx context.Context, self entity.Tag, troubles []entity.Trouble) error {
	troubles = slices.Clone(troubles)
	for i := range troubles {
		troubles[i].Error = entity.LimitName.Cut(troubles[i].Error)
	}
	return c.call(ctx, "Agent", 1, "SetTroubles", params.AgentTroubles{Agent: agent(self), Troubles: troubles}, nil)
}

// Machine returns what the machine's agent decides on.
func (c *Conn) Machine(ctx context.Context, machine entity.Tag) (info entity.MachineInfo, err error) {
	err = c.call(ctx, "Machiner", 1, "Machine", agent(machine), &info)
	return info, err
}

// WatchMachine fires when anything in Machine may have changed.
func (c *Conn) WatchMachine(ctx context.Context, machine entity.Tag) (<-chan struct{}, error) {
	return notify(ctx, c, "Machiner", "WatchMachine", agent(machine))
}

// SetMachineAddresses records the machine's addresses, the one to use first.
func (c *Conn) SetMachineAddresses(ctx context.Context, machine entity.Tag, addresses []string) error {
	return c.call(ctx, "Machiner", 1, "SetMachineAddresses", params.AgentAddresses{Agent: agent(machine), Addresses: addresses}, nil)
}

// SetMachineStatus replaces the machine's status.
func (c *Conn) SetMachineStatus(ctx context.Context, machine entity.Tag, status entity.Status) error {
	return c.call(ctx, c.machineFacade(machine), 1, "SetMachineStatus", agentStatus(machine, status), nil)
}

// EnsureDead takes a Dying machine or unit to Dead: one's own or, for the
// controller, a machine without an instance.
func (c *Conn) EnsureDead(ctx context.Context, tag entity.Tag) error {
	facade := "Uniter"
	if tag.Kind == entity.KindMachine {
		facade = c.machineFacade(tag)
	}
	return c.call(ctx, facade, 1, "EnsureDead", agent(tag), nil)
}

// WatchDeployed names units of the parent's that were assigned to it, recalled,
// or changed their life; the first event names all.
func (c *Conn) WatchDeployed(ctx context.Context, parent entity.Tag) (<-chan []string, error) {
	return names(ctx, c, "Deployer", "WatchDeployed", agent(parent))
}

// DeployedUnits returns the parent's units with their lives.
func (c *Conn) DeployedUnits(ctx context.Context, parent entity.Tag) ([]entity.AgentUnit, error) {
	var result params.DeployedUnits
	err := c.call(ctx, "Deployer", 1, "DeployedUnits", agent(parent), &result)
	return result.Units, err
}

// NewPassword makes a fresh password for the agent of a unit in the caller's
// charge or, for the controller, of a machine; the one before is void.
func (c *Conn) NewPassword(ctx context.Context, tag entity.Tag) (string, error) {
	facade := "Deployer"
	if tag.Kind == entity.KindMachine {
		facade = "Provisioner"
	}
	var result params.Password
	err := c.call(ctx, facade, 1, "NewPassword", agent(tag), &result)
	return result.Password, err
}

// RemoveUnit removes a Dead unit in the caller's charge, or one that was never
// deployed and is not Alive; nil when it is gone already.
func (c *Conn) RemoveUnit(ctx context.Context, unit entity.Tag) error {
	return c.call(ctx, "Deployer", 1, "RemoveUnit", agent(unit), nil)
}

// WatchMachines names machines of the model that appeared, changed their life or
// were removed; the first event names all.
func (c *Conn) WatchMachines(ctx context.Context) (<-chan []string, error) {
	return names(ctx, c, "Provisioner", "WatchMachines", nil)
}

// Machines returns the named machines that exist; all of them for no names.
func (c *Conn) Machines(ctx context.Context, ids ...string) ([]entity.MachineInfo, error) {
	var result params.Machines
	err := c.call(ctx, "Provisioner", 1, "Machines", params.MachineIDs{IDs: ids}, &result)
	return result.Machines, err
}

// SetProvisioned records the instance of a machine that has none and is Alive, or
// Dying with units on it.
func (c *Conn) SetProvisioned(ctx context.Context, machine entity.Tag, instance entity.Instance) error {
	return c.call(ctx, "Provisioner", 1, "SetProvisioned", params.AgentInstance{Agent: agent(machine), Instance: instance}, nil)
}

// RemoveMachine removes a Dead machine; nil when it is gone already.
func (c *Conn) RemoveMachine(ctx context.Context, machine entity.Tag) error {
	return c.call(ctx, "Provisioner", 1, "RemoveMachine", agent(machine), nil)
}

// SetInstanceStatus records what the cloud said last of a machine's instance; an
// error's data may hold a "hint".
func (c *Conn) SetInstanceStatus(ctx context.Context, machine entity.Tag, status entity.Status) error {
	return c.call(ctx, "Provisioner", 1, "SetInstanceStatus", agentStatus(machine, status), nil)
}

// LoseInstance takes off a machine the instance that the cloud does not have any
// more; nothing when the machine is gone, Dead, or has another by now.
func (c *Conn) LoseInstance(ctx context.Context, machine entity.Tag, missed entity.Instance) error {
	return c.call(ctx, "Provisioner", 1, "LoseInstance", params.AgentInstance{Agent: agent(machine), Instance: missed}, nil)
}

// Leftovers returns what destructions with force have left in the model's cloud.
func (c *Conn) Leftovers(ctx context.Context) ([]entity.Leftover, error) {
	var result params.Leftovers
	err := c.call(ctx, "Provisioner", 1, "Leftovers", nil, &result)
	return result.Leftovers, err
}

// DropLeftovers forgets those of an instance, which is there no more.
func (c *Conn) DropLeftovers(ctx context.Context, instance string) error {
	return c.call(ctx, "Provisioner", 1, "DropLeftovers", params.InstanceID{ID: instance}, nil)
}
