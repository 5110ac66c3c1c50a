package facades

import (
	"context"
	"fmt"

	"juju/apiserver/params"
	"juju/state"
	"juju/state/entity"
)

// ManualHosts sets up hosts that users add as machines.
type ManualHosts interface {
	// HasBinaries reports whether there are agent binaries for an architecture ("amd64").
	HasBinaries(arch string) bool
	// Script returns a shell script that makes a host a machine of the model. It contains the password of the machine's
	// agent.
	Script(ctx context.Context, st *state.State, machine entity.MachineInfo, password string) (string, error)
}

// manualMachine fills in what state records about a manual machine.
func manualMachine(c *Caller, p params.AddMachineParams, args *state.AddMachineParams) error {
	hosts := c.ManualHosts
	if hosts == nil {
		return entity.NoHosts()
	}
	if !entity.IsManualInstance(p.InstanceID) {
		return entity.Errorf(entity.Invalid, "cannot add a machine: %q is not an instance of a manual machine", p.InstanceID)
	}
	if !hosts.HasBinaries(p.Hardware.Arch) {
		return entity.Errorf(entity.NotSupported, "cannot add a machine: the controller has no agent binaries for %q",
			p.Hardware.Arch)
	}
	if p.Base != nil {
		args.Series = p.Base.Series()
	}
	if entity.BaseOf(args.Series).Channel == "" {
		return entity.Errorf(entity.NotSupported, "cannot add a machine: unknown series %q", args.Series)
	}
	args.Manual = entity.Instance{ID: p.InstanceID, Nonce: p.Nonce}
	for _, a := range p.Addresses {
		args.Manual.Addresses = append(args.Manual.Addresses, a.Value)
	}
	args.Hardware = entity.Hardware{Arch: p.Hardware.Arch, Cores: p.Hardware.Cores, Mem: p.Hardware.Mem,
		RootDisk: p.Hardware.RootDisk}
	return nil
}

// machineManagerProvisioningScript sets a new password for a manual machine's agent.
func machineManagerProvisioningScript(
	ctx context.Context, c *Caller, p params.ProvisioningScriptParams,
) (params.ProvisioningScriptResult, error) {
	script, err := provisioningScript(ctx, c, p)
	if err != nil {
		err = fmt.Errorf("cannot make the script for machine %s: %w", p.MachineID, err)
	}
	return params.ProvisioningScriptResult{Script: script}, err
}

func provisioningScript(ctx context.Context, c *Caller, p params.ProvisioningScriptParams) (string, error) {
	if c.ManualHosts == nil {
		return "", entity.NoHosts()
	}
	if p.DataDir != "" && p.DataDir != entity.DataDir {
		return "", entity.Errorf(entity.NotSupported, "machine agents are installed in %s, not in %s", entity.DataDir, p.DataDir)
	}
	m, err := c.Model.Machine(ctx, p.MachineID)
	if err != nil {
		return "", err
	}
	info, err := m.Info(ctx)
	switch {
	case err != nil:
		return "", err
	case !info.IsManual() || info.Nonce != p.Nonce:
		return "", entity.Errorf(entity.Invalid, "it is not a manual machine with that nonce")
	case info.Life != entity.Alive:
		return "", entity.Errorf(entity.NotAlive, "machine is not alive")
	case info.Status != entity.StatusPending:
		return "", entity.Errorf(entity.Invalid, "its agent has already started")
	}
	password := state.NewAgentPassword()
	script, err := c.ManualHosts.Script(ctx, c.Model, info, password)
	if err != nil {
		return "", err
	}
	return script, c.Model.Agents().SetPassword(ctx, entity.MachineTag(m.ID()), password)
}
