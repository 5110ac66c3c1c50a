package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"juju/agent/host/atomicfile"
	"juju/agent/host/process"
	"juju/provider"
	"juju/state/constraints"
	"juju/state/entity"
)

// environ is one model of a Cloud.
type environ struct {
	cloud  *Cloud
	config provider.Config
}

// StartInstance creates a directory, reserves an address, and starts the machine agent there. A
// repeated call with a different AgentConfig restarts the agent with it.
func (e *environ) StartInstance(ctx context.Context, params provider.StartParams) (provider.Instance, error) {
	inst, err := e.start(ctx, params)
	if err != nil {
		return provider.Instance{}, err
	}
	return inst.public(), nil
}

func (e *environ) start(ctx context.Context, params provider.StartParams) (inst instance, err error) {
	c := e.cloud
	if err := provider.CheckStart(e.config, &params); err != nil {
		return inst, err
	}
	// The series is not checked: the host may have been upgraded since the machine was added.
	if err := e.hostMeets(ctx,
		provider.PrecheckParams{Constraints: params.Constraints, Spaces: params.Spaces, Placement: params.Placement}); err != nil {
		return inst, err
	}
	if params.Parent != "" {
		return inst, noContainers()
	}
	if c.config.MachineAgent == "" {
		return inst, entity.Errorf(entity.NotSupported, "no machine agent binary is configured")
	}
	id := instanceID(params)
	unlock, err := c.busy.Lock(ctx, id)
	if err != nil {
		return inst, err
	}
	defer unlock()

	dir := c.agentDir(params.Model, id)
	if _, ended := process.Ended(dir); ended {
		// A stop was interrupted, or the agent's machine was Dead: finish removing the old
		// instance first.
		if err := c.stop(ctx, params.Model, []string{id}); err != nil {
			return inst, err
		}
	}
	if inst, err = c.reserve(ctx, params); err != nil {
		return inst, err
	}
	if err := c.startAgent(ctx, inst, params.AgentConfig); err != nil {
		// Clean up even if ctx is done: the caller does not know the instance's ID.
		if err2 := c.stop(context.WithoutCancel(ctx), params.Model, []string{id}); err2 != nil {
			logger.Errorf("cannot remove incomplete instance %s: %v", id, err2)
		}
		return inst, err
	}
	c.wakeSupervise()
	return inst, nil
}

func (c *Cloud) startAgent(ctx context.Context, inst instance, config []byte) error {
	dir := c.agentDir(inst.Model, inst.ID)
	path := inst.configPath(dir)
	if before, err := os.ReadFile(path); err != nil || !bytes.Equal(before, config) {
		if err := atomicfile.WriteFile(path, config, 0o600); err != nil {
			return err
		}
		if err := process.Stop(ctx, dir, c.config.Grace); err != nil {
			return err
		}
	}
	_, err := process.Start(ctx, c.agent(inst))
	switch {
	case err == nil || ctx.Err() != nil:
		return err
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission), errors.Is(err, exec.ErrNotFound):
		return err // the binary is missing: retrying would not help
	}
	return provider.Retryable(err)
}

// StopInstances terminates the machine agents, then their child processes, and removes their
// directories.
func (e *environ) StopInstances(ctx context.Context, ids ...string) error {
	var known []string
	for _, id := range ids {
		if isName(id) { // other IDs are not ours
			known = append(known, id)
		}
	}
	slices.Sort(known)
	known = slices.Compact(known)
	unlock, err := e.cloud.busy.LockAll(ctx, known)
	if err != nil {
		return err
	}
	defer unlock()
	if err := e.cloud.stop(ctx, e.config.Model, known); err != nil {
		return e.cloud.byHand(err, e.config.Model, known)
	}
	return nil
}

// byHand adds a hint to a stop's error that lists, for each remaining instance, the processes to
// terminate and the directory to remove.
func (c *Cloud) byHand(err error, model string, ids []string) error {
	var steps []string
	for _, id := range ids {
		dir := c.dir(model, id)
		if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		first := fmt.Sprintf("end the processes that have %s=%s in their environment", InstanceVariable, c.mark(model, id))
		if agent, err := process.Holder(c.agentDir(model, id)); err == nil {
			first = fmt.Sprintf("end process %d, then %s", agent.PID, strings.TrimPrefix(first, "end "))
		}
		steps = append(steps, fmt.Sprintf("%s, and remove %s", first, dir))
	}
	if len(steps) == 0 {
		return err
	}
	return entity.WithHint(err, "By hand: %s", strings.Join(steps, "; "))
}

// stop is StopInstances for callers that hold the instances' locks.
func (c *Cloud) stop(ctx context.Context, model string, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	// Stop machine agents first, since they restart unit agents.
	var g errgroup.Group
	g.SetLimit(16)
	for _, id := range ids {
		g.Go(func() error {
			return process.End(ctx, c.agentDir(model, id), "its instance was stopped", c.config.Grace)
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	marks := map[string]bool{}
	for _, id := range ids {
		marks[c.mark(model, id)] = true
	}
	if err := process.EndMarked(ctx, InstanceVariable, func(value, _ string) bool { return marks[value] },
		c.config.Grace); err != nil {
		return err
	}
	for _, id := range ids {
		if err := c.remove(model, id); err != nil {
			return err
		}
	}
	return nil
}

// Instances returns every instance with a directory in this model.
func (e *environ) Instances(context.Context) ([]provider.Instance, error) {
	found, err := e.cloud.list(e.config.Model)
	if err != nil {
		return nil, fmt.Errorf("cannot list instances: %w", err)
	}
	result := make([]provider.Instance, len(found))
	for i, inst := range found {
		result[i] = inst.public()
	}
	return result, nil
}

// Series returns the host's series: hooks run on the host itself.
func (e *environ) Series(context.Context) ([]string, error) {
	return []string{e.cloud.config.Series}, nil
}

// ConstraintRules implements provider.Environ. PrecheckInstance compares architecture, cores, memory
// and disk with the host's, and limits none of them; other constraints are ignored.
func (e *environ) ConstraintRules(context.Context) (constraints.Rules, error) {
	rules := constraints.DefaultRules()
	rules.Values = map[string][]string{constraints.Arch: {provider.HostArch()}}
	rules.Unsupported = []string{
		constraints.AllocatePublicIP, constraints.Container, constraints.CPUPower,
		constraints.ImageID, constraints.InstanceRole, constraints.InstanceType,
		constraints.RootDiskSource, constraints.Tags,
		constraints.VirtType, constraints.Zones,
	}
	rules.Needs = provider.AgentNeeds
	return rules, nil
}

// noContainers returns the error for containers.
func noContainers() error {
	return entity.WithHint(entity.Errorf(entity.Invalid,
		"the local cloud has no containers: its machines are processes of this host"),
		"The cloud lxd has them: juju bootstrap lxd")
}

// Profiler returns nil: the machines are no containers.
func (e *environ) Profiler() provider.Profiler { return nil }

// Subnets returns the range of the loopback addresses, from which each instance has one.
func (e *environ) Subnets(context.Context) ([]entity.Subnet, error) { return subnets(), nil }

func subnets() []entity.Subnet {
	return []entity.Subnet{{CIDR: "127.0.0.0/8", ProviderID: "subnet-lo-127.0.0.0/8", Network: "lo"}}
}

// Zones returns none: the host is one zone. It does not check the series, for the reason that start has.
func (e *environ) Zones(ctx context.Context, params provider.PrecheckParams) ([]string, error) {
	return nil, e.hostMeets(ctx, params)
}

// PrecheckInstance rejects containers, placements, series other than the host's, conflicting
// constraints, and constraints and spaces that the host does not meet.
func (e *environ) PrecheckInstance(ctx context.Context, params provider.PrecheckParams) error {
	if err := e.hostMeets(ctx, params); err != nil {
		return err
	}
	return provider.CheckSeries(params.Series, []string{e.cloud.config.Series}, "this host")
}

// hostMeets rejects what PrecheckInstance does, but for the series, which a machine keeps when the host is upgraded.
func (e *environ) hostMeets(ctx context.Context, params provider.PrecheckParams) error {
	if params.Container != "" {
		return noContainers()
	}
	if params.Placement != "" {
		return entity.Errorf(entity.Invalid, "unknown placement directive: %s", params.Placement)
	}
	if err := provider.CheckSpaces(params.Spaces, subnets(), "this host"); err != nil {
		return err
	}
	rules, err := e.ConstraintRules(ctx)
	if err != nil {
		return err
	}
	if _, err = rules.Check(params.Constraints); err != nil {
		return err
	}
	return entity.WithHint(provider.CheckHardware(params.Constraints,
		provider.HostHardware(e.cloud.config.Dir), "this host"),
		"A machine of the local cloud is this host: demand no more than it has, or leave the constraint out.")
}

// Destroy stops all instances of the model, releases its remaining storage, and removes its directory.
func (e *environ) Destroy(ctx context.Context) error {
	if err := e.cloud.destroy(ctx, e.config.Model, false); err != nil {
		return fmt.Errorf("cannot destroy the resources of model %s: %w", e.config.Model, err)
	}
	return nil
}

func (c *Cloud) destroy(ctx context.Context, model string, destroyStorage bool) error {
	found, err := c.list(model)
	if err != nil {
		return err
	}
	e := &environ{cloud: c, config: provider.Config{Controller: c.config.Controller, Model: model}}
	ids := make([]string, len(found))
	for i, inst := range found {
		ids[i] = inst.ID
	}
	if err := e.StopInstances(ctx, ids...); err != nil {
		return err
	}
	// Terminate processes of instances whose directories are already removed.
	if err := c.sweep(ctx, c.mark(model, "")); err != nil {
		return err
	}
	if err := e.endStorage(ctx, destroyStorage); err != nil {
		return err
	}
	return removeAll(c.machines(model))
}

// sweep terminates all processes whose mark begins with prefix.
func (c *Cloud) sweep(ctx context.Context, prefix string) error {
	return process.EndMarked(ctx, InstanceVariable, func(value, _ string) bool { return strings.HasPrefix(value, prefix) },
		c.config.Grace)
}

// DestroyController stops the keeper, the controller and the instances of all models, and removes the
// controller's directory except for released storage.
func (e *environ) DestroyController(ctx context.Context, destroyStorage bool) error {
	c := e.cloud
	err := EndKeeper(ctx, c.config.Dir, c.config.Grace)
	if err == nil {
		var models []string
		models, err = names(c.machines(""))
		stored, err2 := names(c.storage(""))
		models, err = append(models, stored...), errors.Join(err, err2)
		for _, model := range models {
			err = errors.Join(err, c.destroy(ctx, model, destroyStorage))
		}
	}
	if err == nil {
		err = c.sweep(ctx, c.config.Controller+"/")
	}
	if err == nil {
		err = c.removeDir()
	}
	if err != nil {
		return fmt.Errorf("cannot destroy the resources of controller %s: %w", c.config.Controller, err)
	}
	return nil
}

// removeDir removes the controller's directory, except for released storage.
func (c *Cloud) removeDir() error {
	if kept, err := names(c.released("")); err != nil || len(kept) == 0 {
		return errors.Join(err, removeAll(c.config.Dir))
	}
	entries, err := os.ReadDir(c.config.Dir)
	for _, e := range entries {
		if e.Name() != releasedName {
			err = errors.Join(err, removeAll(filepath.Join(c.config.Dir, e.Name())))
		}
	}
	return err
}
