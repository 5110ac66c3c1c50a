package ports

import (
	"context"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
	"juju/state/modelconfig"
)

// HostExposure returns which of the ports opened by units on a machine, including subordinates, must be
// reachable from outside, and which must not. The agent of a manual machine closes the latter itself.
func HostExposure(ctx context.Context, db *modeltxn.DB, m modeldb.Machine) (entity.HostExposure, error) {
	var x entity.HostExposure
	model, err := db.Model(ctx)
	if err != nil {
		return x, err
	}
	x.Mode = model.Settings()[modelconfig.FirewallMode].Value
	reach, err := reachOf(ctx, db)
	if err != nil {
		return x, err
	}
	query := bson.D{{"_id", m.ID}}
	if x.Mode == modelconfig.FirewallGlobal {
		query = nil // a port exposed on one machine is open on all
	}
	var docs []modeldb.Ports
	if err := db.All(ctx, modeldb.PortsC, query, &docs); err != nil {
		return x, err
	}
	x.Open = kept(m)
	for _, doc := range docs {
		for _, port := range doc.Ports {
			if port.Range().Check() != nil {
				continue
			}
			everyone, cidrs := reach.of(port)
			x.From = addFrom(x.From, cidrs, port.Range())
			switch {
			case everyone && x.Mode == modelconfig.FirewallGlobal:
				x.Open = append(x.Open, port.Range())
			case !everyone && doc.ID == m.ID:
				x.Closed = append(x.Closed, port.Range())
			}
		}
	}
	if len(x.Closed) == 0 {
		x.From = nil
		return x, nil
	}
	others, err := db.Machines(ctx, bson.D{{"_id", bson.D{{"$ne", m.ID}}}})
	for _, other := range others {
		x.Peers = append(x.Peers, peerAddresses(other)...)
	}
	return x, err
}

// kept returns the ports that must stay reachable for the host's owner: DHCP, and SSH at the default port and
// at the one with which the user added the host. A unit that is not exposed must not lock the owner out by
// opening one of them.
func kept(m modeldb.Machine) []entity.PortRange {
	ssh := entity.ManualPort(m.Placement)
	return []entity.PortRange{{From: 22, To: 22, Protocol: "tcp"}, {From: ssh, To: ssh, Protocol: "tcp"},
		{From: 68, To: 68, Protocol: "udp"}, {From: 546, To: 546, Protocol: "udp"}}
}
