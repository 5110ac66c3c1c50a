package state

import (
	"context"
	"slices"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/lifecycle"
)

// isEmptied reports whether the machine was made for units and has none left, and asserts
// that nothing has been placed on it since. A Dying machine counts too: if several units
// take it along, the strongest destruction applies, whichever comes first.
func (m *Machine) isEmptied(o *ops) (bool, error) {
	if !m.doc.ForUnits {
		return false, nil
	}
	key := modeldb.MachineKey(m.doc.ID)
	holders, err := m.st.db.CountsOf(key)
	if err != nil || holders["units"]+holders["containers"] > 0 {
		return false, err
	}
	o.Expect(key, "units", 0)
	o.Expect(key, "containers", 0)
	return true, nil
}

// emptiedOps leaves to the cleaner to destroy a removed unit's machine, as strongly as
// the unit, if the unit or its service takes machines along and nothing else is on it by
// then. The cleaner does it because other units may be removed at the same time: the last
// cleanup finds the machine empty.
func (u *Unit) emptiedOps(ctx context.Context, o *ops, d destruction) error {
	svc, err := u.st.Service(ctx, u.doc.Service)
	if err != nil {
		return err
	}
	if !u.doc.Machines && !d.machines && !svc.doc.Machines {
		o.Expect(modeldb.ServiceKey(u.doc.Service), modeldb.TakesMachines, bson.D{{"$exists", false}})
		return nil
	}
	if u.doc.Machine == "" {
		return nil
	}
	if d.strength <= u.doc.Strength {
		d.strength, d.deadline = u.doc.Strength, u.doc.Deadline
	}
	id := modeldb.CleanupEmptied + "-" + u.doc.Name // unit names are never used twice
	o.Insert(modeldb.CleanupsC, id, modeldb.Cleanup{ID: id, Kind: modeldb.CleanupEmptied, Arg: u.doc.Machine, Strength: d.strength,
		Deadline: d.deadline})
	return nil
}

// cleanupEmptied destroys a machine that goes with its units, unless something else is on
// it or a user added it.
func (st *State) cleanupEmptied(ctx context.Context, machine string, d destruction) error {
	m, err := st.Machine(ctx, machine)
	if entity.IsNotFound(err) {
		return nil
	} else if err != nil {
		return err
	}
	return st.move(ctx, m, lifecycle.ToDestroy, lifecycle.Cleaner, d, m.isEmptied)
}

// MachineLeft returns the name of the machine that will be left empty when this unit,
// destroyed this way, is gone; "" if there is none. It is only for messages to users:
// nothing is asserted.
func (u *Unit) MachineLeft(ctx context.Context, how entity.Destruction) (string, error) {
	if u.doc.Machine == "" {
		return "", nil
	}
	m, err := u.st.Machine(ctx, u.doc.Machine)
	if entity.IsNotFound(err) || err == nil && !m.isLeft(how) {
		return "", nil
	} else if err != nil {
		return "", err
	}
	holders, err := u.st.db.CountsOf(modeldb.MachineKey(m.doc.ID))
	if err != nil || holders["alive-units"]+holders["containers"] > 0 {
		return "", err
	}
	return m.doc.ID, nil
}

// isLeft reports whether the machine, once empty, outlives a destruction of its units.
func (m *Machine) isLeft(how entity.Destruction) bool {
	return m.doc.Life == entity.Alive && !(how.Machines && m.doc.ForUnits)
}

// maxLeft is the maximum number of units of a service whose machines MachinesLeft looks
// at.
const maxLeft = 100

// MachinesLeft is MachineLeft for all units of a service, sorted. Call it before the
// service is destroyed, while its units are there. For a service with more than maxLeft
// units it returns no names and many is true.
func (s *Service) MachinesLeft(ctx context.Context, how entity.Destruction) (left []string, many bool, err error) {
	holders, err := s.st.db.CountsOf(modeldb.ServiceKey(s.doc.Name))
	if err != nil || s.doc.Subordinate {
		return nil, false, err
	}
	if holders["units"] > maxLeft {
		return nil, true, nil
	}
	units, err := s.st.units(bson.D{{"service", s.doc.Name}})
	if err != nil {
		return nil, false, err
	}
	own := map[string]int{}
	for _, u := range units {
		if u.doc.Machine != "" {
			own[u.doc.Machine]++
		}
	}
	for id, n := range own {
		m, err := s.st.Machine(ctx, id)
		if entity.IsNotFound(err) || err == nil && !m.isLeft(how) {
			continue
		} else if err != nil {
			return nil, false, err
		}
		holders, err := s.st.db.CountsOf(modeldb.MachineKey(id))
		if err != nil {
			return nil, false, err
		}
		if holders["units"] == n && holders["containers"] == 0 {
			left = append(left, id)
		}
	}
	slices.SortFunc(left, entity.CompareNatural)
	return left, false, nil
}
