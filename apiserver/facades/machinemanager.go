package facades

import (
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
	place := p.Placement
	if p.ContainerType != "" || p.ParentID != "" {
		place = &params.Placement{Scope: orElse(p.ContainerType, "lxd"), Directive: p.ParentID}
	}
	if p.Placement != nil && p.Placement.Scope == params.MachineScope {
		return "", nil, entity.Errorf(entity.Invalid, "machine-id cannot be specified when adding machines")
	}
	for _, job := range p.Jobs {
		if job != params.JobHostUnits {
			return "", nil, entity.Errorf(entity.NotSupported, "cannot add a machine with job %q: not supported yet", job)
		}
	}
	args := state.AddMachineParams{Constraints: p.Constraints, Jobs: p.Jobs}
	if place != nil && entity.IsContainerType(place.Scope) {
		if place.Directive != "" && !entity.IsValidMachine(place.Directive) {
			return "", nil, entity.Errorf(entity.Invalid, "cannot add a machine: invalid value %q for %q scope: expected machine-id",
				place.Directive, place.Scope)
		}
		args.Container, args.Host = place.Scope, place.Directive
	} else {
		args.Placement = c.placementText(place)
	}
	if p.InstanceID != "" {
		err = manualMachine(c, p, &args)
	} else if p.Nonce != "" || len(p.Addresses) > 0 || p.Hardware != (params.HardwareCharacteristics{}) {
		err = entity.Errorf(entity.Invalid, "cannot add a machine: nonce, addresses and hardware need an instance id")
	} else {
		args.Series, w, err = checkMachine(ctx, c, p, Place{args.Placement, args.Container})
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

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func machineManagerDestroyMachines(
	ctx context.Context, c *Caller, p params.DestroyMachinesParams,
) (params.DestroyMachineResults, error) {
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
			r.Info = &params.DestroyMachineInfo{MachineID: tag.ID}
			r.Info.DestroyedWith, err = storageWith(ctx, c, how, func(s entity.StorageStatus) bool { return s.Machine == tag.ID })
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
		if err := cloud.Precheck(ctx, "", constraints, Place{info.Placement, info.Container}); err != nil {
			return err
		}
		return w.ignored(ctx, c, cloud, constraints)
	})
	return w, err
}
