package state

import (
	"context"
	"net/netip"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/modelconfig"
	"juju/state/watcher"
)

// WatchExposure fires when the result of Exposure may have changed.
func (p Provisioning) WatchExposure(ctx context.Context) (<-chan struct{}, error) {
	return watcher.Notify(ctx, p.st.hub, watcher.Collection(modeldb.PortsC), watcher.Collection(modeldb.ServicesC),
		watcher.Collection(modeldb.MachinesC)), nil
}

// Exposure returns which ports are to be reached from outside: those that units of exposed services
// have open, subordinates included. A manager's machine is in it neither as an instance nor as a host.
func (p Provisioning) Exposure(ctx context.Context) (entity.Exposure, error) {
	x := entity.Exposure{Instances: map[string][]entity.PortRange{}, Addresses: map[string][]string{}}
	model, err := p.st.db.Model()
	if err != nil {
		return x, err
	}
	x.Mode = model.Settings()[modelconfig.FirewallMode].Value
	exposed, err := p.st.exposed()
	if err != nil {
		return x, err
	}
	var docs []modeldb.Ports
	if err := p.st.db.All(modeldb.PortsC, nil, &docs); err != nil {
		return x, err
	}
	open := map[string][]entity.PortRange{} // by machine
	for _, doc := range docs {
		for _, port := range doc.Ports {
			if exposed[entity.UnitService(port.Unit)] && port.Range().Check() == nil {
				open[doc.ID] = append(open[doc.ID], port.Range())
			}
		}
	}
	machines, err := p.st.machines(nil)
	for _, m := range machines {
		switch {
		case m.doc.InstanceID == "" || m.IsManager():
		case entity.IsManualInstance(m.doc.InstanceID):
			x.Hosts = append(x.Hosts, peerAddresses(m.doc)...)
		default:
			x.Instances[m.doc.InstanceID] = open[m.doc.ID]
			if len(m.doc.CloudAddresses) > 0 {
				x.Addresses[m.doc.InstanceID] = m.doc.CloudAddresses
			}
		}
	}
	return x, err
}

// exposed returns the services that are exposed.
func (st *State) exposed() (map[string]bool, error) {
	var services []struct {
		Name string `bson:"_id"`
	}
	err := st.db.All(modeldb.ServicesC, bson.D{{"exposed", true}}, &services)
	exposed := map[string]bool{}
	for _, s := range services {
		exposed[s.Name] = true
	}
	return exposed, err
}

// maxPeerAddresses is how many addresses of one machine the rules of others let in.
const maxPeerAddresses = 16

// peerAddresses returns the addresses from which others let the machine in. A machine's agent may report
// what it likes, so it gets no more than a few hosts in, and none that is not one host.
func peerAddresses(d modeldb.Machine) (result []string) {
	for _, text := range d.Addresses {
		a, err := netip.ParseAddr(text)
		if a = a.Unmap(); err == nil && a.Zone() == "" && a.IsGlobalUnicast() && len(result) < maxPeerAddresses {
			result = append(result, a.String())
		}
	}
	return result
}
