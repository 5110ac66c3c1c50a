package state

import (
	"context"
	"slices"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
)

// takesMachines is the count of a service that is there once its units take machines
// along: it says so where the removal of a unit looks anyway.
const takesMachines = "machines"

// isEmptied reports whether the machine is one that goes with its units and has none
// any more, and asserts that nothing has come to be on it since. One that is going
// already counts too: of several units that took it along, the strongest destruction
// decides, whichever comes first.
func (m *Machine) isEmptied(o *ops) (bool, error) {
	if !m.doc.ForUnits {
		return false, nil
	}
	key := machineKey(m.doc.ID)
	holders, err := m.st.holders(key)
	if err != nil || holders["units"]+holders["containers"] > 0 {
		return false, err
	}
	o.expect(key, "units", 0)
	o.expect(key, "containers", 0)
	return true, nil
}

// MachineLeft returns the machine that will be left with nothing on it when this unit,
// which was destroyed like that, is gone; "" when there is none. Nothing rests on it:
// it is for a user to be told.
func (u *Unit) MachineLeft(ctx context.Context, how entity.Destruction) (string, error) {
	if u.doc.Machine == "" {
		return "", nil
	}
	m, err := u.st.Machine(ctx, u.doc.Machine)
	if isNotFound(err) || err == nil && !m.isLeft(how) {
		return "", nil
	} else if err != nil {
		return "", err
	}
	holders, err := u.st.holders(machineKey(m.doc.ID))
	if err != nil || holders["alive-units"]+holders["containers"] > 0 {
		return "", err
	}
	return m.doc.ID, nil
}

// isLeft reports whether an empty machine stays after such a destruction of its units.
func (m *Machine) isLeft(how entity.Destruction) bool {
	return m.doc.Life == entity.Alive && !(how.Machines && m.doc.ForUnits)
}

// leftAtMost is of how many units of a service the machines are looked at.
const leftAtMost = 100

// MachinesLeft is MachineLeft of all units of a service, sorted. It is asked before the
// service is destroyed, while its units are there. It returns none of a service with
// more than leftAtMost units; many tells.
func (s *Service) MachinesLeft(ctx context.Context, how entity.Destruction) (left []string, many bool, err error) {
	holders, err := s.st.holders(serviceKey(s.doc.Name))
	if err != nil || s.doc.Subordinate {
		return nil, false, err
	}
	if holders["units"] > leftAtMost {
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
		if isNotFound(err) || err == nil && !m.isLeft(how) {
			continue
		} else if err != nil {
			return nil, false, err
		}
		holders, err := s.st.holders(machineKey(id))
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
