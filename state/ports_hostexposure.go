package state

import (
	"context"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/modelconfig"
	"juju/state/watcher"
)

// HostExposure fires when the result of Exposure of the machine may have changed.
func (w Watches) HostExposure(ctx context.Context, machine string) (<-chan struct{}, error) {
	model, err := w.st.db.Model()
	if err != nil {
		return nil, err
	}
	ports := watcher.Doc(modeldb.PortsC, machine)
	if model.Settings()[modelconfig.FirewallMode].Value == modelconfig.FirewallGlobal {
		ports = watcher.Collection(modeldb.PortsC)
	}
	return watcher.Notify(ctx, w.st.hub, ports, watcher.Collection(modeldb.ServicesC), watcher.Collection(modeldb.MachinesC)), nil
}

// Exposure returns which of the ports that units on the machine have open, subordinates included, are to be
// reached from outside. It is for the agent of a manual machine, which closes the others by itself.
func (m *Machine) Exposure(ctx context.Context) (entity.HostExposure, error) {
	var x entity.HostExposure
	model, err := m.st.db.Model()
	if err != nil {
		return x, err
	}
	x.Mode = model.Settings()[modelconfig.FirewallMode].Value
	exposed, err := m.st.exposed()
	if err != nil {
		return x, err
	}
	query := bson.D{{"_id", m.doc.ID}}
	if x.Mode == modelconfig.FirewallGlobal {
		query = nil // a port that is exposed on one machine is open on all
	}
	var docs []modeldb.Ports
	if err := m.st.db.All(modeldb.PortsC, query, &docs); err != nil {
		return x, err
	}
	x.Open = m.kept()
	for _, doc := range docs {
		for _, port := range doc.Ports {
			switch isExposed := exposed[entity.UnitService(port.Unit)]; {
			case port.Range().Check() != nil:
			case isExposed && x.Mode == modelconfig.FirewallGlobal:
				x.Open = append(x.Open, port.Range())
			case !isExposed && doc.ID == m.doc.ID:
				x.Closed = append(x.Closed, port.Range())
			}
		}
	}
	if len(x.Closed) == 0 {
		return x, nil
	}
	others, err := m.st.machines(bson.D{{"_id", bson.D{{"$ne", m.doc.ID}}}})
	for _, other := range others {
		x.Peers = append(x.Peers, peerAddresses(other.doc)...)
	}
	return x, err
}

// kept returns the ports that keep the host's owner in: those of SSH, at the usual port and at the one by
// which the user has added the host, and those at which the host is told its addresses (DHCP). A unit
// that opens one of them must not lock the owner out.
func (m *Machine) kept() []entity.PortRange {
	ssh := entity.ManualPort(m.doc.Placement)
	return []entity.PortRange{{From: 22, To: 22, Protocol: "tcp"}, {From: ssh, To: ssh, Protocol: "tcp"},
		{From: 68, To: 68, Protocol: "udp"}, {From: 546, To: 546, Protocol: "udp"}}
}
