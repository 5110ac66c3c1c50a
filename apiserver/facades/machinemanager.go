package facades

import (
	"cmp"
	"context"
	"fmt"

	"juju/apiserver/params"
	"juju/state"
	"juju/state/constraints"
	"juju/state/entity"
	"juju/state/limits"
)

func machineManagerAddMachines(
	ctx context.Context, c *Caller, p params.AddMachines,
) (params.AddMachinesResults, error) {
	if err := limits.CheckAtOnce("machines", len(p.MachineParams)); err != nil {
		return params.AddMachinesResults{}, err
	}
	results := make([]params.AddMachinesResult, 0, len(p.MachineParams))
	for _, one := range p.MachineParams {
		id, warnings, err := addMachine(ctx, c, one)
		result := params.AddMachinesResult{Machine: id, Warnings: warnings.log(c)}
		if err != nil {
			result.Error = c.wireError("AddMachines", err)
		}
		results = append(results, result)
	}
	return params.AddMachinesResults{Machines: results}, nil
}

func addMachine(ctx context.Context, c *Caller, p params.AddMachineParams) (id string, w warnings, err error) {
	wire := p.Placement
	if p.ContainerType != "" || p.ParentID != "" {
		wire = &params.Placement{Scope: cmp.Or(p.ContainerType, "lxd"), Directive: p.ParentID}
	}
	at, err := c.placement(wire)
	switch {
	case err != nil:
		return "", nil, fmt.Errorf("cannot add a machine: %w", err)
	case at.Machine != "" && at.Container == "":
		return "", nil, entity.Errorf(entity.Invalid, "machine-id cannot be specified when adding machines")
	}
	for _, job := range p.Jobs {
		if job != params.JobHostUnits {
			return "", nil, entity.Errorf(entity.NotSupported, "cannot add a machine with job %q: not supported yet", job)
		}
	}
	args := state.AddMachineParams{Constraints: p.Constraints, Jobs: p.Jobs, Placement: at}
	if p.InstanceID != "" {
		err = manualMachine(c, p, &args)
	} else if p.Nonce != "" || len(p.Addresses) > 0 || p.Hardware != (params.HardwareCharacteristics{}) {
		err = entity.Errorf(entity.Invalid, "cannot add a machine: nonce, addresses and hardware need an instance id")
	} else {
		args.Series, w, err = checkMachine(ctx, c, p, at.ForCloud())
	}
	if err != nil {
		return "", w, err
	}
	m, err := c.Model.AddMachine(ctx, args)
	if err != nil {
		return "", w, err
	}
	return m.ID(), w, nil
}

func machineManagerDestroyMachines(
	ctx context.Context, c *Caller, p params.DestroyMachinesParams,
) (params.DestroyMachineResults, error) {
	with := storageWith(ctx, c)
	return params.DestroyMachineResults{Results: each(c, "DestroyMachineWithParams", p.MachineTags,
		func(e *params.Error) params.DestroyMachineResult { return params.DestroyMachineResult{Error: e} },
		func(tag params.Tag) (r params.DestroyMachineResult, err error) {
			how, err := p.Destruction.Read()
			if err != nil {
				return r, err
			}
			if p.Keep {
				return r, entity.Errorf(entity.NotSupported,
					"cannot keep the instance of a machine that is destroyed: not supported yet")
			}
			if err := isKind(tag, entity.KindMachine); err != nil {
				return r, err
			}
			m, err := c.Model.Machine(ctx, tag.ID)
			if err != nil {
				return r, err
			}
			if m.IsManager() && m.InstanceID() == entity.BootstrapInstance {
				return r, entity.WithHint(entity.Errorf(entity.NotSupported,
					"machine %s runs the controller that bootstrap started, and cannot be removed", tag.ID),
					"If it is lost, juju enable-ha replaces it, and then it can be. To destroy all controllers: juju destroy-environment")
			}
			r.Info = &params.DestroyMachineInfo{MachineID: tag.ID}
			r.Info.DestroyedWith, err = with(how, func(s entity.StorageStatus) bool { return s.Machine == tag.ID })
			if err != nil || p.DryRun {
				return r, err
			}
			return r, m.Destroy(ctx, how)
		})}, nil
}

func machineManagerRetryProvisioning(
	ctx context.Context, c *Caller, p params.RetryProvisioningArgs,
) (params.RetryProvisioningResults, error) {
	tags := p.Machines
	if p.All {
		if len(tags) > 0 {
			return params.RetryProvisioningResults{}, entity.Errorf(entity.Invalid,
				"cannot combine all machines with named ones")
		}
		failed, err := c.Model.Provisioning().FailedMachines(ctx)
		if err != nil {
			return params.RetryProvisioningResults{}, err
		}
		for _, m := range failed {
			tags = append(tags, params.TagOf(entity.MachineTag(m.ID())))
		}
	}
	var w warnings // the same for each machine
	results := outcomes(c, "RetryProvisioning", tags, func(tag params.Tag) error {
		if err := isKind(tag, entity.KindMachine); err != nil {
			return err
		}
		m, err := c.Model.Machine(ctx, tag.ID)
		if err != nil {
			return err
		}
		if p.Constraints != nil {
			if w, err = checkRetry(ctx, c, m, *p.Constraints); err != nil {
				return fmt.Errorf("cannot retry provisioning of machine %s: %w", tag.ID, err)
			}
		}
		return m.RetryProvisioning(ctx, p.Constraints)
	})
	return params.RetryProvisioningResults{ErrorResults: results, Warnings: w.log(c)}, nil
}

// checkRetry checks whether the cloud can give a machine other constraints.
func checkRetry(ctx context.Context, c *Caller, m *state.Machine, constraints constraints.Value) (w warnings,
	err error) {
	info, err := m.Info(ctx)
	if err != nil {
		return nil, err
	}
	err = c.askCloud(ctx, func(ctx context.Context, cloud Cloud) error {
		// The machine keeps its series, which has already been checked.
		if err := c.precheckMachine(ctx, cloud, "", constraints, entity.Placement{Directive: info.Placement, Container: info.Container}); err != nil {
			return err
		}
		return w.ignored(ctx, c, cloud, constraints)
	})
	return w, err
}

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
		return "", entity.Errorf(entity.NotSupported, "machine agents are installed in %s, not in %s",
			entity.DataDir, p.DataDir)
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
