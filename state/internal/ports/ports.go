package ports

import (
	"cmp"
	"slices"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
	"juju/state/limits"
	"juju/state/porttable"
)

// of reads the open ports of a machine.
func of(db *modeltxn.DB, machine string) (modeldb.Ports, error) {
	var doc modeldb.Ports
	err := db.Get(modeldb.PortsC, machine, &doc, "ports of machine "+machine)
	if entity.IsNotFound(err) {
		return modeldb.Ports{ID: machine, Missing: true}, nil
	}
	return doc, err
}

// Opened returns the open ports of all units on a unit's machine, by unit.
func Opened(db *modeltxn.DB, u modeldb.Unit) (map[string][]entity.PortRange, error) {
	open := map[string][]entity.PortRange{}
	id, err := db.MachineOf(u)
	if err != nil || id == "" {
		return open, err
	}
	doc, err := of(db, id)
	if err != nil {
		return nil, err
	}
	for _, p := range doc.Ports {
		open[p.Unit] = append(open[p.Unit], p.Range())
	}
	for _, ranges := range open {
		slices.SortFunc(ranges, entity.ComparePorts)
	}
	return open, nil
}

// Change opens and closes ports of a unit. It rejects a range that another unit has opened, or that overlaps
// another range of the unit.
func Change(db *modeltxn.DB, o *modeltxn.Ops, u modeldb.Unit, opened, closed []entity.PortRange) error {
	id, err := db.MachineOf(u)
	if err != nil {
		return err
	}
	if id == "" {
		return entity.Errorf(entity.NotProvisioned, "unit %q is not assigned to a machine", u.Name)
	}
	doc, err := of(db, id)
	if err != nil {
		return err
	}
	after, err := changedPorts(doc.Ports, u.Name, opened, closed)
	if err != nil {
		return err
	}
	if after != nil {
		set(o, doc, after)
	}
	return nil
}

// changedPorts returns the open ports of a machine after a unit has closed and opened some; nil if nothing
// changes.
func changedPorts(before []modeldb.OpenPort, unit string, opened, closed []entity.PortRange) ([]modeldb.OpenPort, error) {
	going := make(map[entity.PortRange]bool, len(closed))
	for _, r := range closed {
		going[r] = true
	}
	after := slices.DeleteFunc(slices.Clone(before),
		func(p modeldb.OpenPort) bool { return p.Unit == unit && going[p.Range()] })
	changed := len(after) < len(before)
	units := make(map[entity.PortRange]string, len(after)+len(opened)) // the unit that has opened each range
	there := make([]entity.PortRange, len(after))
	own := 0
	for i, p := range after {
		there[i] = p.Range()
		units[there[i]] = p.Unit
		if p.Unit == unit {
			own++
		}
	}
	// The open ports stay in one table; the new ones are added to another.
	tables := []*porttable.Table{porttable.New(there), porttable.New(nil)}
	for _, r := range opened {
		if err := r.Check(); err != nil {
			return nil, err
		}
		if units[r] == unit {
			continue
		}
		for _, table := range tables {
			if with, conflict := table.Conflict(r); conflict {
				return nil, entity.Errorf(entity.InUse, "port ranges %v (%q) and %v (%q) conflict", with, units[with], r, unit)
			}
		}
		tables[1].Add(r)
		units[r] = unit
		after = append(after, modeldb.OpenPort{unit, r.From, r.To, r.Protocol})
		own++
		changed = true
	}
	if !changed {
		return nil, nil
	}
	if len(after) > len(before) {
		// A document that exceeds the limit may still shrink.
		if err := cmp.Or(limits.UnitPorts.Check(own), limits.MachinePorts.Check(len(after))); err != nil {
			return nil, err
		}
	}
	return after, nil
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
func CloseAll(db *modeltxn.DB, o *modeltxn.Ops, u modeldb.Unit) error {
	id, err := db.MachineOf(u)
	if err != nil || id == "" {
		return err
	}
	doc, err := of(db, id)
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
func Lose(db *modeltxn.DB, o *modeltxn.Ops, machine string) error {
	doc, err := of(db, machine)
	if err == nil && len(doc.Ports) > 0 {
		set(o, doc, []modeldb.OpenPort{})
	}
	return err
}
