package dummytest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"juju/provider"
	"juju/state/constraints"
	"juju/state/entity"
)

// environ is one model of a Cloud.
type environ struct {
	cloud  *Cloud
	config provider.Config
}

// begin is called first by every method, which returns its error immediately.
func (e *environ) begin(ctx context.Context, op *Op) error {
	op.Model = e.config.Model
	return e.cloud.failure(ctx, *op)
}

// done logs the return of a method.
func (e *environ) done(op *Op, err *error) {
	op.Err = *err
	e.cloud.log.add(*op)
}

// StartInstance gives the instance what its constraints require, and calls the StartFunc.
func (e *environ) StartInstance(ctx context.Context, params provider.StartParams) (_ provider.Instance, err error) {
	op := Op{Method: "StartInstance", MachineID: params.MachineID, Constraints: params.Constraints.String()}
	defer e.done(&op, &err)
	if err := e.begin(ctx, &op); err != nil {
		return provider.Instance{}, err
	}
	if err := provider.CheckStart(e.config, &params); err != nil {
		return provider.Instance{}, err
	}
	zones, err := e.check(provider.PrecheckParams{Constraints: params.Constraints, Spaces: params.Spaces, Placement: params.Placement})
	switch {
	case err != nil:
	case params.Parent != "":
		params.Zone, err = e.cloud.zoneOf(e.config, params.Parent)
	case params.Zone != "" && !slices.Contains(zones, params.Zone):
		err = entity.Errorf(entity.Invalid, "zone %s is not one of %v", params.Zone, zones)
	case params.Zone == "" && len(zones) > 0:
		params.Zone = zones[0]
	}
	if err != nil {
		return provider.Instance{}, err
	}
	if err := provider.CheckSeries(params.Series, e.cloud.hasSeries(), "the cloud"); err != nil {
		return provider.Instance{}, err
	}
	if err := checkProfiles(params.Profiles); err != nil {
		return provider.Instance{}, err
	}
	inst, found := e.cloud.find(params)
	op.InstanceIDs = []string{inst.ID}
	if found {
		select {
		case <-inst.started:
		case <-ctx.Done():
			return provider.Instance{}, ctx.Err()
		}
	} else {
		inst.stop, inst.err = e.cloud.start(ctx, params)
		close(inst.started)
		if inst.err != nil {
			inst.end(e.cloud)
		}
	}
	if inst.err != nil {
		return provider.Instance{}, fmt.Errorf("cannot start the agent of machine %s: %w", params.MachineID, inst.err)
	}
	return inst.Instance, nil
}

// StopInstances stops the agents concurrently.
func (e *environ) StopInstances(ctx context.Context, ids ...string) (err error) {
	op := Op{Method: "StopInstances", InstanceIDs: ids}
	defer e.done(&op, &err)
	defer func() { err = byHand(err, ids) }()
	if err := e.begin(ctx, &op); err != nil {
		return err
	}
	if err := e.cloud.jam(ids); err != nil {
		return err
	}
	return e.cloud.stop(ctx, func(i *instance) bool {
		return i.Controller == e.config.Controller && i.Model == e.config.Model && slices.Contains(ids, i.ID)
	})
}

// stop stops all instances that match.
func (c *Cloud) stop(ctx context.Context, match func(*instance) bool) error {
	ended := make(chan struct{})
	go func() { // ends when the slowest agent has ended
		defer close(ended)
		var g errgroup.Group
		g.SetLimit(32)
		for _, inst := range c.all(match) {
			g.Go(func() error {
				<-inst.started
				inst.end(c)
				return nil
			})
		}
		g.Wait()
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Instances returns the model's instances.
func (e *environ) Instances(ctx context.Context) (result []provider.Instance, err error) {
	op := Op{Method: "Instances"}
	defer e.done(&op, &err)
	if err := e.begin(ctx, &op); err != nil {
		return nil, err
	}
	for _, inst := range e.cloud.all(func(i *instance) bool {
		return i.Controller == e.config.Controller && i.Model == e.config.Model
	}) {
		result = append(result, inst.Instance)
	}
	return result, nil
}

// Series returns the series that SetSeries has set; none by default.
func (e *environ) Series(ctx context.Context) (_ []string, err error) {
	op := Op{Method: "Series"}
	defer e.done(&op, &err)
	if err := e.begin(ctx, &op); err != nil {
		return nil, err
	}
	return e.cloud.hasSeries(), nil
}

// rules returns the dummy's rules: one of each kind of rule that real clouds have.
func rules() constraints.Rules {
	return constraints.Rules{
		Conflicts:   [][2]string{{constraints.InstanceType, constraints.Mem}},
		Unsupported: []string{constraints.CPUPower, constraints.VirtType},
		Values:      map[string][]string{constraints.Arch: {"amd64", "arm64"}},
	}
}

// ConstraintRules implements provider.Environ: an instance type determines the memory, cpu-power and
// virt-type are ignored, and there are two architectures.
func (e *environ) ConstraintRules(ctx context.Context) (_ constraints.Rules, err error) {
	op := Op{Method: "ConstraintRules"}
	defer e.done(&op, &err)
	if err := e.begin(ctx, &op); err != nil {
		return constraints.Rules{}, err
	}
	return rules(), nil
}

// PrecheckInstance accepts the placements "valid" and those that name a zone, the cloud's series, and
// containers of LXD.
func (e *environ) PrecheckInstance(ctx context.Context, params provider.PrecheckParams) (err error) {
	op := Op{Method: "PrecheckInstance"}
	defer e.done(&op, &err)
	if err := e.begin(ctx, &op); err != nil {
		return err
	}
	if err := provider.CheckSeries(params.Series, e.cloud.hasSeries(), "the cloud"); err != nil {
		return err
	}
	_, err = e.check(params)
	return err
}

// Subnets returns the subnets that SetSubnets has set, or one with the addresses of all instances.
func (e *environ) Subnets(ctx context.Context) (_ []entity.Subnet, err error) {
	op := Op{Method: "Subnets"}
	defer e.done(&op, &err)
	if err := e.begin(ctx, &op); err != nil {
		return nil, err
	}
	e.cloud.mu.Lock()
	defer e.cloud.mu.Unlock()
	return slices.Clone(e.cloud.subnets), nil
}

// Zones returns the zones that SetZones has set, or the one that the placement names.
func (e *environ) Zones(ctx context.Context, params provider.PrecheckParams) (_ []string, err error) {
	op := Op{Method: "Zones"}
	defer e.done(&op, &err)
	if err := e.begin(ctx, &op); err != nil {
		return nil, err
	}
	return e.check(params)
}

// check returns the zones that can host an instance. The error is Invalid if none can.
func (e *environ) check(params provider.PrecheckParams) ([]string, error) {
	zones := e.cloud.hasZones()
	if name, ok := strings.CutPrefix(params.Placement, "zone="); ok && slices.Contains(zones, name) {
		zones = []string{name}
	} else if params.Placement != "" && params.Placement != "valid" {
		return nil, entity.Errorf(entity.Invalid, "%s placement is invalid", params.Placement)
	}
	if params.Container != "" && params.Container != "lxd" {
		return nil, entity.Errorf(entity.Invalid, "the cloud has no %s containers", params.Container)
	}
	if _, err := rules().Check(params.Constraints); err != nil {
		return nil, err
	}
	return zones, e.cloud.checkSpaces(params.Spaces)
}

// Destroy stops the model's instances.
func (e *environ) Destroy(ctx context.Context) (err error) {
	op := Op{Method: "Destroy"}
	defer e.done(&op, &err)
	ours := func(i *instance) bool { return i.Controller == e.config.Controller && i.Model == e.config.Model }
	var ids []string
	for _, inst := range e.cloud.all(ours) {
		ids = append(ids, inst.ID)
	}
	defer func() { err = byHand(err, ids) }()
	if err := e.begin(ctx, &op); err != nil {
		return err
	}
	if err := e.cloud.jam(ids); err != nil {
		return err
	}
	return e.cloud.stop(ctx, ours)
}

// DestroyController stops the controller's instances.
func (e *environ) DestroyController(ctx context.Context, _ bool) (err error) {
	op := Op{Method: "DestroyController"}
	defer e.done(&op, &err)
	if err := e.begin(ctx, &op); err != nil {
		return err
	}
	return e.cloud.stop(ctx, func(i *instance) bool { return i.Controller == e.config.Controller })
}

// hardware returns what the constraints require; for the rest, a small machine.
func hardware(cons constraints.Value) provider.Hardware {
	h := provider.Hardware{Arch: "amd64", Cores: 1, Mem: 1024, RootDisk: 8192}
	if arch, _ := cons.Get(constraints.Arch); arch != "" {
		h.Arch = arch
	}
	h.Cores = max(h.Cores, cons.Number(constraints.Cores))
	h.Mem = max(h.Mem, cons.Number(constraints.Mem))
	h.RootDisk = max(h.RootDisk, cons.Number(constraints.RootDisk))
	return h
}
