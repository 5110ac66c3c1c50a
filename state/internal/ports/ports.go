package ports

import (
	"cmp"
	"context"
	"slices"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
	"juju/state/limits"
	"juju/state/porttable"
)

// of reads the open ports of a machine.
func of(ctx context.Context, db *modeltxn.DB, machine string) (modeldb.Ports, error) {
	var doc modeldb.Ports
	err := db.Get(ctx, modeldb.PortsC, machine, &doc, "ports of machine "+machine)
	if entity.IsNotFound(err) {
		return modeldb.Ports{ID: machine, Missing: true}, nil
	}
	return doc, err
}

// Opened returns the open ports of all units on a unit's machine, by unit.
func Opened(ctx context.Context, db *modeltxn.DB, u modeldb.Unit) (map[string][]entity.EndpointPorts, error) {
	open := map[string][]entity.EndpointPorts{}
	id, err := db.MachineOf(ctx, u)
	if err != nil || id == "" {
		return open, err
	}
	doc, err := of(ctx, db, id)
	if err != nil {
		return nil, err
	}
	for _, p := range doc.Ports {
		open[p.Unit] = append(open[p.Unit], entity.EndpointPorts{PortRange: p.Range(), Endpoints: p.Endpoints})
	}
	for _, ranges := range open {
		slices.SortFunc(ranges, func(a, b entity.EndpointPorts) int { return entity.ComparePorts(a.PortRange, b.PortRange) })
	}
	return open, nil
}

// Change opens and closes the ports of a unit that a hook has. It rejects a range that another unit has opened, or that
// overlaps another range of the unit.
func Change(ctx context.Context, db *modeltxn.DB, o *modeltxn.Ops, u modeldb.Unit, hook entity.HookChanges) error {
	id, err := db.MachineOf(ctx, u)
	if err != nil {
		return err
	}
	if id == "" {
		return entity.Errorf(entity.NotProvisioned, "unit %q is not assigned to a machine", u.Name)
	}
	doc, err := of(ctx, db, id)
	if err != nil {
		return err
	}
	opened := slices.Clone(hook.EndpointPorts)
	for _, r := range hook.OpenPorts {
		opened = append(opened, entity.EndpointPorts{PortRange: r})
	}
	after, err := changedPorts(doc.Ports, u.Name, opened, hook.ClosePorts)
	if err != nil {
		return err
	}
	if after != nil {
		set(o, doc, after)
	}
	return nil
}

// changedPorts returns the open ports of a machine after a unit has closed and opened some; nil if nothing
// changes. A range that the unit has open already gets the endpoints for which it is opened now.
func changedPorts(before []modeldb.OpenPort, unit string, opened []entity.EndpointPorts, closed []entity.PortRange,
) ([]modeldb.OpenPort, error) {
	going := make(map[entity.PortRange]bool, len(closed))
	for _, r := range closed {
		going[r] = true
	}
	after := slices.DeleteFunc(slices.Clone(before),
		func(p modeldb.OpenPort) bool { return p.Unit == unit && going[p.Range()] })
	changed := len(after) < len(before)
	units := make(map[entity.PortRange]string, len(after)+len(opened)) // the unit that has opened each range
	at := make(map[entity.PortRange]int, len(after))                   // its index
	there := make([]entity.PortRange, len(after))
	for i, p := range after {
		there[i] = p.Range()
		units[there[i]], at[there[i]] = p.Unit, i
	}
	// The open ports stay in one table; the new ones are added to another.
	tables := []*porttable.Table{porttable.New(there), porttable.New(nil)}
	for _, open := range opened {
		r, endpoints := open.PortRange, slices.Compact(slices.Sorted(slices.Values(open.Endpoints)))
		if err := r.Check(); err != nil {
			return nil, err
		}
		if units[r] == unit {
			if i := at[r]; !slices.Equal(after[i].Endpoints, endpoints) {
				after[i].Endpoints, changed = endpoints, true
			}
			continue
		}
		for _, table := range tables {
			if with, conflict := table.Conflict(r); conflict {
				return nil, entity.Errorf(entity.InUse, "port ranges %v (%q) and %v (%q) conflict", with, units[with], r, unit)
			}
		}
		tables[1].Add(r)
		units[r], at[r] = unit, len(after)
		after = append(after, modeldb.OpenPort{unit, r.From, r.To, r.Protocol, endpoints})
		changed = true
	}
	if !changed {
		return nil, nil
	}
	_, most := sizes(before, unit)
	if own, all := sizes(after, unit); all > most {
		// A document that exceeds the limit may still shrink.
		if err := cmp.Or(limits.UnitPorts.Check(own), limits.MachinePorts.Check(all)); err != nil {
			return nil, err
		}
	}
	return after, nil
}

// sizes returns how many ranges a unit has open, and all units of the machine. One that is open for some endpoints counts
// once for each.
func sizes(ports []modeldb.OpenPort, unit string) (own, all int) {
	for _, p := range ports {
		n := max(1, len(p.Endpoints))
		if all += n; p.Unit == unit {
			own += n
		}
	}
	return own, all
}

func set(o *modeltxn.Ops, doc modeldb.Ports, ports []modeldb.OpenPort) {
	if doc.Missing {
		o.Insert(modeldb.PortsC, doc.ID, modeldb.Ports{ID: doc.ID, Ports: ports, Version: 1})
		return
	}
	o.Update(modeldb.PortsC, doc.ID, doc.AsRead(),
		bson.D{{"$set", bson.D{{"ports", ports}}}, {"$inc", bson.D{{"version", 1}}}})
}

// CloseAll closes the ports of a unit that is being removed.
func CloseAll(ctx context.Context, db *modeltxn.DB, o *modeltxn.Ops, u modeldb.Unit) error {
	id, err := db.MachineOf(ctx, u)
	if err != nil || id == "" {
		return err
	}
	doc, err := of(ctx, db, id)
	if err != nil {
		return err
	}
	after := slices.DeleteFunc(slices.Clone(doc.Ports), func(p modeldb.OpenPort) bool { return p.Unit == u.Name })
	switch {
	case len(after) < len(doc.Ports):
		set(o, doc, after)
	case u.Life != entity.Dead:
		// A unit that is not Dead may open another one concurrently.
		o.Assert(modeldb.PortsC, doc.ID, doc.AsRead())
	}
	return nil
}

// Lose closes the ports of all units on a machine.
func Lose(ctx context.Context, db *modeltxn.DB, o *modeltxn.Ops, machine string) error {
	doc, err := of(ctx, db, machine)
	if err == nil && len(doc.Ports) > 0 {
		set(o, doc, []modeldb.OpenPort{})
	}
	return err
}
