package state

import (
	"context"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/ports"
	"juju/state/modelconfig"
	"juju/state/watcher"
)

// OpenedPorts returns the open ports of all units on the unit's machine, by unit.
func (u *Unit) OpenedPorts(ctx context.Context) (map[string][]entity.PortRange, error) {
	return ports.Opened(u.st.db, u.doc)
}

// WatchExposure fires when the result of Exposure may have changed.
func (p Provisioning) WatchExposure(ctx context.Context) (<-chan struct{}, error) {
	return watcher.Notify(ctx, p.st.hub, watcher.Collection(modeldb.PortsC), watcher.Collection(modeldb.ServicesC),
		watcher.Collection(modeldb.MachinesC)), nil
}

// Exposure returns which ports should be reachable from outside: see ports.Exposure.
func (p Provisioning) Exposure(ctx context.Context) (entity.Exposure, error) {
	return ports.Exposure(p.st.db)
}

// HostExposure fires when the result of Exposure of the machine may have changed.
func (w Watches) HostExposure(ctx context.Context, machine string) (<-chan struct{}, error) {
	model, err := w.st.db.Model()
	if err != nil {
		return nil, err
	}
	open := watcher.Doc(modeldb.PortsC, machine)
	if model.Settings()[modelconfig.FirewallMode].Value == modelconfig.FirewallGlobal {
		open = watcher.Collection(modeldb.PortsC)
	}
	return watcher.Notify(ctx, w.st.hub, open, watcher.Collection(modeldb.ServicesC), watcher.Collection(modeldb.MachinesC)), nil
}

// Exposure returns which of the open ports of the machine's units should be reachable from outside: see
// ports.HostExposure.
func (m *Machine) Exposure(ctx context.Context) (entity.HostExposure, error) {
	return ports.HostExposure(m.st.db, m.doc)
}
