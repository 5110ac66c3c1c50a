package provisioner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"juju/provider"
	"juju/state/entity"
)

// errNoHost means that a container's host machine has no instance yet.
var errNoHost = errors.New("its machine has no instance yet")

// parent returns the instance that hosts a container, or "" for a machine that is not a container. It
// returns errNoHost if that instance does not exist yet.
func (p *provisioner) parent(ctx context.Context, m entity.MachineInfo) (instance string, err error) {
	if m.Container == "" {
		return "", nil
	}
	id := entity.MachineHost(m.ID)
	host, err := p.machine(ctx, id)
	switch {
	case err != nil:
		return "", ofCloud(fmt.Errorf("cannot read its machine: %w", err))
	case host.InstanceID == "":
		return "", errNoHost
	}
	return host.InstanceID, nil
}

// isLost reports whether the cloud no longer lists an instance.
func (p *provisioner) isLost(ctx context.Context, id string) bool {
	all, err := p.Environ.Instances(ctx)
	return err == nil && !slices.ContainsFunc(all, func(in provider.Instance) bool { return in.ID == id })
}

// wakeContainers wakes the handlers of a machine's containers, which may be waiting for its instance.
func (p *provisioner) wakeContainers(machine string) {
	for id, t := range p.busy {
		if strings.HasPrefix(id, machine+"/") {
			t.wakeUp()
		}
	}
}
