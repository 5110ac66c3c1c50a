package state

import (
	"context"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/ports"
	"juju/state/watcher"
)

// OpenedPorts returns the open ports of all units on the unit's machine, by unit.
func (u *Unit) OpenedPorts(ctx context.Context) (map[string][]entity.EndpointPorts, error) {
	return ports.Opened(ctx, u.st.db, u.doc)
}

// ExposedEndpoints returns who can reach the open ports of the service's units, in normal form; nil if it is not exposed.
func (s *Service) ExposedEndpoints() entity.ExposedEndpoints { return s.doc.ExposedEndpoints() }

// Expose exposes endpoints: see ports.Expose.
func (s *Service) Expose(ctx context.Context, endpoints entity.ExposedEndpoints) error {
	return s.changeExposed(ctx, func(o *ops) error { return ports.Expose(ctx, s.st.db, o.Ops, s.doc, endpoints) })
}

// Unexpose reverts Expose for some endpoints, or for all if there are none.
func (s *Service) Unexpose(ctx context.Context, endpoints ...string) error {
	return s.changeExposed(ctx, func(o *ops) error { return ports.Unexpose(o.Ops, s.doc, endpoints) })
}

func (s *Service) changeExposed(ctx context.Context, change func(*ops) error) error {
	return s.st.change(ctx, func(o *ops) error {
		if err := s.refresh(ctx); err != nil {
			return err
		}
		if s.doc.Life != entity.Alive {
			return entity.Errorf(entity.NotAlive, "service %q is not alive", s.doc.Name)
		}
		return change(o)
	})
}

// WatchExposure fires when the result of Exposure may have changed.
func (p Provisioning) WatchExposure(ctx context.Context) (<-chan struct{}, error) {
	return watcher.Notify(ctx, p.st.hub, watcher.Collection(modeldb.PortsC), watcher.Collection(modeldb.ServicesC),
			watcher.Collection(modeldb.MachinesC), watcher.Collection(modeldb.NetworksC), watcher.Collection(modeldb.RelationsC)),
		nil
}

// Exposure returns which ports should be reachable from outside: see ports.Exposure.
func (p Provisioning) Exposure(ctx context.Context) (entity.Exposure, error) {
	return ports.Exposure(ctx, p.st.db)
}

// Exposure returns which of the open ports of the machine's units should be reachable from outside: see
// ports.HostExposure.
func (m *Machine) Exposure(ctx context.Context) (entity.HostExposure, error) {
	return ports.HostExposure(ctx, m.st.db, m.doc)
}
