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

// errNoHost means that a container waits for the instance of its machine.
var errNoHost = errors.New("its machine has no instance yet")

// parent returns the instance that hosts a container; "" for a machine that is none. It returns
// errNoHost when there is no such instance yet.
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

// isLost reports whether the cloud no longer has an instance.
func (p *provisioner) isLost(ctx context.Context, id string) bool {
	all, err := p.Environ.Instances(ctx)
	return err == nil && !slices.ContainsFunc(all, func(in provider.Instance) bool { return in.ID == id })
}

// wakeContainers has the containers that wait for a machine look at it again.
func (p *provisioner) wakeContainers(machine string) {
	for id, t := range p.busy {
		if strings.HasPrefix(id, machine+"/") {
			t.wakeUp()
		}
	}
}
