package ports

import (
	"context"
	"net/netip"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
	"juju/state/modelconfig"
)

// Exposure returns the ports that must be reachable from outside: the open ports of units of exposed services,
// including subordinates, and who can reach them. It omits machines that run a controller, both as instances and as hosts.
func Exposure(ctx context.Context, db *modeltxn.DB) (entity.Exposure, error) {
	x := entity.Exposure{Instances: map[string][]entity.PortRange{}, Addresses: map[string][]string{}}
	model, err := db.Model(ctx)
	if err != nil {
		return x, err
	}
	x.Mode = model.Settings()[modelconfig.FirewallMode].Value
	reach, err := reachOf(ctx, db)
	if err != nil {
		return x, err
	}
	var docs []modeldb.Ports
	if err := db.All(ctx, modeldb.PortsC, nil, &docs); err != nil {
		return x, err
	}
	open, from := map[string][]entity.PortRange{}, map[string][]entity.PortsFrom{} // by machine
	for _, doc := range docs {
		for _, port := range doc.Ports {
			if port.Range().Check() != nil {
				continue
			}
			everyone, cidrs := reach.of(port)
			if everyone {
				open[doc.ID] = append(open[doc.ID], port.Range())
			}
			from[doc.ID] = addFrom(from[doc.ID], cidrs, port.Range())
		}
	}
	machines, err := db.Machines(ctx, nil)
	for _, m := range machines {
		switch {
		case m.InstanceID == "" || m.IsManager():
		case entity.IsManualInstance(m.InstanceID):
			x.Hosts = append(x.Hosts, peerAddresses(m)...)
		default:
			x.Instances[m.InstanceID] = open[m.ID]
			if len(from[m.ID]) > 0 {
				if x.From == nil {
					x.From = map[string][]entity.PortsFrom{}
				}
				x.From[m.InstanceID] = from[m.ID]
			}
			if len(m.CloudAddresses) > 0 {
				x.Addresses[m.InstanceID] = m.CloudAddresses
			}
		}
	}
	return x, err
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
