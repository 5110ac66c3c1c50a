package ports

import (
	"net/netip"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
	"juju/state/modelconfig"
)

// Exposure returns the ports that must be reachable from outside: the open ports of units of exposed services,
// including subordinates. It omits machines that run a controller, both as instances and as hosts.
func Exposure(db *modeltxn.DB) (entity.Exposure, error) {
	x := entity.Exposure{Instances: map[string][]entity.PortRange{}, Addresses: map[string][]string{}}
	model, err := db.Model()
	if err != nil {
		return x, err
	}
	x.Mode = model.Settings()[modelconfig.FirewallMode].Value
	exposed, err := exposedServices(db)
	if err != nil {
		return x, err
	}
	var docs []modeldb.Ports
	if err := db.All(modeldb.PortsC, nil, &docs); err != nil {
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
	machines, err := db.Machines(nil)
	for _, m := range machines {
		switch {
		case m.InstanceID == "" || m.IsManager():
		case entity.IsManualInstance(m.InstanceID):
			x.Hosts = append(x.Hosts, peerAddresses(m)...)
		default:
			x.Instances[m.InstanceID] = open[m.ID]
			if len(m.CloudAddresses) > 0 {
				x.Addresses[m.InstanceID] = m.CloudAddresses
			}
		}
	}
	return x, err
}

// exposedServices returns the services that are exposed.
func exposedServices(db *modeltxn.DB) (map[string]bool, error) {
	var services []struct {
		Name string `bson:"_id"`
	}
	err := db.All(modeldb.ServicesC, bson.D{{"exposed", true}}, &services)
	exposed := map[string]bool{}
	for _, s := range services {
		exposed[s.Name] = true
	}
	return exposed, err
}

// maxPeerAddresses is the maximum number of a machine's addresses that the rules of other machines allow.
const maxPeerAddresses = 16

// peerAddresses returns the machine's addresses that other machines allow. Agents are not trusted, so it
// returns only a few addresses, and only those of single hosts.
func peerAddresses(d modeldb.Machine) (result []string) {
	for _, text := range d.Addresses {
		a, err := netip.ParseAddr(text)
		if a = a.Unmap(); err == nil && a.Zone() == "" && a.IsGlobalUnicast() && len(result) < maxPeerAddresses {
			result = append(result, a.String())
		}
	}
	return result
}
