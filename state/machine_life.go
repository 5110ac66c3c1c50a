package state

import (
	"context"
	"slices"
	"strings"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/lifecycle"
	"juju/state/mongo"
)

// Destroy sets the machine Dying, or removes it if it has no instance and nothing is on it. Unless forced, the error is
// entity.InUse while Alive units are assigned to the machine or it hosts containers. The last manager cannot be
// destroyed; one of several managers loses that job. If the machine is already Dying, a stronger destruction raises its
// strength.
func (m *Machine) Destroy(ctx context.Context, how entity.Destruction) error {
	return m.st.move(ctx, m, lifecycle.ToDestroy, lifecycle.User, m.st.begin(how).alone())
}

// EnsureDead sets a Dying machine Dead. It is called by the machine's agent, or by the provisioner if the machine has no
// instance. The error is entity.InUse while units are assigned to it. It does nothing if the machine is Dead or removed.
func (m *Machine) EnsureDead(ctx context.Context) error {
	return m.st.moveBy(ctx, m, lifecycle.ToDead, func() lifecycle.Actor {
		if m.doc.InstanceID == "" {
			return lifecycle.Provisioner
		}
		return lifecycle.MachineAgent
	}, destruction{now: m.st.db.Now()})
}

// Remove removes a Dead machine, once the provisioner has stopped its instance. It does nothing if the machine was
// removed.
func (m *Machine) Remove(ctx context.Context) error {
	return m.st.move(ctx, m, lifecycle.ToRemove, lifecycle.Provisioner, destruction{now: m.st.db.Now()})
}

// How machines differ from other living entities.

func (m *Machine) state() *State         { return m.st }
func (m *Machine) kind() lifecycle.Kind  { return lifecycle.Machine }
func (m *Machine) name() string          { return m.doc.ID }
func (m *Machine) docID() string         { return m.doc.ID }
func (m *Machine) tag() entity.Tag       { return entity.MachineTag(m.doc.ID) }
func (m *Machine) life() *modeldb.Living { return &m.doc.Living }

func (m *Machine) targets(ref lifecycle.Ref) []string { return m.doc.Targets(ref) }

func (m *Machine) refresh(ctx context.Context) error {
	now, err := m.st.Machine(ctx, m.doc.ID)
	if err == nil {
		m.doc = now.doc
	}
	return err
}

func (m *Machine) guards(ctx context.Context, by lifecycle.Actor,
	holders map[string]int) (all []lifecycle.Guard, err error) {
	switch {
	case m.IsManager():
		if m.successor, err = m.otherManager(ctx); err != nil {
			return nil, err
		}
		if m.successor != "" {
			all = append(all, lifecycle.NotLast)
		}
	case m.doc.InstanceID == "":
		all = append(all, lifecycle.NotLast, lifecycle.Unprovisioned)
	default:
		all = append(all, lifecycle.NotLast)
	}
	if by != lifecycle.Cleaner {
		return all, nil
	}
	if m.doc.ForUnits && holders["units"]+holders["containers"] == 0 {
		all = append(all, lifecycle.Emptied)
	}
	if model, err := m.st.db.Model(ctx); err != nil {
		return nil, err
	} else if model.Life != entity.Alive {
		all = append(all, lifecycle.ModelDying)
	}
	return all, nil
}

// The possible moves depend on the instance, and removal on Tasked.
func (m *Machine) asserts() bson.D {
	assert := bson.D{{"instance", bson.D{{"$exists", m.doc.InstanceID != ""}}}}
	if !m.doc.Tasked {
		assert = append(assert, bson.DocElem{Name: "tasked", Value: bson.D{{"$ne", true}}})
	}
	return assert
}

// turning moves the job of a destroyed manager to another one, and ends the tasks of a removed machine.
func (m *Machine) turning(_ context.Context, o *ops, t turn) (update bson.D, err error) {
	if t.from == entity.Alive && m.IsManager() {
		// Without this, two managers that are destroyed at once would each count on the other, and no controller would be left.
		o.Assert(modeldb.MachinesC, m.successor, bson.D{{"life", entity.Alive}, {"jobs", modeldb.JobManageModel}})
		update = bson.D{{"$pull", bson.D{{"jobs", modeldb.JobManageModel}}}}
	}
	if t.to == entity.Gone {
		o.taskedOps(m.doc.ID, m.doc.Tasked)
	}
	return update, nil
}

// otherManager returns the id of another manager, if this machine is one; else "".
func (m *Machine) otherManager(ctx context.Context) (string, error) {
	if !m.IsManager() {
		return "", nil
	}
	var docs []modeldb.Machine
	err := m.st.db.All(ctx, modeldb.MachinesC, bson.D{{"jobs", modeldb.JobManageModel}, {"life", entity.Alive},
		{"_id", bson.D{{"$ne", m.doc.ID}}}}, &docs)
	if err != nil || len(docs) == 0 {
		return "", err
	}
	return docs[0].ID, nil
}

func (m *Machine) refusal(ctx context.Context, goal lifecycle.Goal, barred *lifecycle.Barred) error {
	switch {
	case barred.Ref.Name == "alive-units":
		return m.hostsUnit(ctx, barred.Ref, bson.DocElem{Name: "life", Value: entity.Alive})
	case barred.Ref.Name == "units":
		return m.hostsUnit(ctx, barred.Ref)
	case barred.Ref.Name == "storage":
		return entity.Errorf(entity.InUse, "machine has attached storage")
	case barred.Ref.Name == "containers":
		return m.hostsContainers(ctx, barred.Ref)
	case goal == lifecycle.ToRemove:
		return entity.Errorf(entity.Invalid, "machine is not dead")
	case goal == lifecycle.ToDead:
		return entity.Errorf(entity.Invalid, "machine %s is not dying", m.doc.ID)
	case barred.Guard == lifecycle.NotLast:
		return entity.Errorf(entity.InUse, "machine %s is required by the model", m.doc.ID)
	}
	return barred
}

// hostsUnit returns the error that names a unit on the machine.
func (m *Machine) hostsUnit(ctx context.Context, ref lifecycle.Ref, which ...bson.DocElem) error {
	var units []modeldb.Unit
	if err := m.st.db.All(ctx, modeldb.UnitsC, append(bson.D{{"machine", m.doc.ID}}, which...), &units); err != nil {
		return err
	}
	if len(units) == 0 {
		return tooQuick()
	}
	slices.SortFunc(units, func(a, b modeldb.Unit) int { return entity.CompareNatural(a.Name, b.Name) })
	refusal := entity.Errorf(entity.InUse, ref.Why, m.doc.ID, units[0].Name)
	if len(units) == 1 {
		return entity.WithHint(refusal, "Destroy the unit first: juju destroy-unit %s", units[0].Name)
	}
	var names []string
	for _, u := range units {
		names = append(names, u.Name)
	}
	return entity.WithHint(refusal, "Destroy its %d units first: juju destroy-unit %s", len(names),
		strings.Join(names, " "))
}

// hostsContainers returns the error that names the containers on the machine.
func (m *Machine) hostsContainers(ctx context.Context, ref lifecycle.Ref) error {
	containers, err := m.containers(ctx)
	if err != nil {
		return err
	}
	if len(containers) == 0 {
		return tooQuick()
	}
	var ids []string
	for _, c := range containers {
		ids = append(ids, c.doc.ID)
	}
	return entity.WithHint(entity.Errorf(entity.InUse, ref.Why, m.doc.ID, strings.Join(ids, ",")),
		"Destroy them first: juju destroy-machine %s", ids[0])
}

// tooQuick is the error if transactions keep conflicting with others, or if what blocked a move was removed before it
// could be named.
func tooQuick() error { return mongo.Contention("") }

// containers reads the machine's containers.
func (m *Machine) containers(ctx context.Context) ([]*Machine, error) {
	return m.st.machines(ctx, bson.D{{"host", m.doc.ID}})
}

// isEmptied reports whether the machine was created for units and has none left, and asserts that nothing is placed on
// it meanwhile. That includes Dying machines: if several units' destructions include it, the strongest applies, in any
// order.
func (m *Machine) isEmptied(ctx context.Context, o *ops) (bool, error) {
	if !m.doc.ForUnits {
		return false, nil
	}
	key := modeldb.MachineKey(m.doc.ID)
	holders, err := m.st.db.CountsOf(ctx, key)
	if err != nil || holders["units"]+holders["containers"] > 0 {
		return false, err
	}
	o.Expect(key, "units", 0)
	o.Expect(key, "containers", 0)
	return true, nil
}

// emptiedOps has the cleaner destroy a removed unit's machine, with the unit's strength, if the unit's or service's
// destruction includes machines and nothing else is on it by then. The cleaner does it because other units may be
// removed at the same time: the last cleanup finds the machine empty.
func (u *Unit) emptiedOps(ctx context.Context, o *ops, d destruction) error {
	svc, err := u.st.Service(ctx, u.doc.Service)
	if err != nil {
		return err
	}
	if !u.doc.Machines && !d.machines && !svc.doc.Machines {
		// Otherwise a destruction of the service with its machines, begun meanwhile, would leave this one.
		o.Expect(modeldb.ServiceKey(u.doc.Service), modeldb.TakesMachines, bson.D{{"$exists", false}})
		return nil
	}
	if u.doc.Machine == "" {
		return nil
	}
	if d.strength <= u.doc.Strength {
		d.strength, d.deadline = u.doc.Strength, u.doc.Deadline
	}
	id := modeldb.CleanupEmptied + "-" + u.doc.Name // unit names are never reused
	o.Insert(modeldb.CleanupsC, id, modeldb.Cleanup{ID: id, Kind: modeldb.CleanupEmptied, Arg: u.doc.Machine, Strength: d.strength,
		Deadline: d.deadline})
	return nil
}

// cleanupEmptied destroys a machine with its units, unless something else is on it or a user added it.
func (st *State) cleanupEmptied(ctx context.Context, machine string, d destruction) error {
	m, err := st.Machine(ctx, machine)
	if entity.IsNotFound(err) {
		return nil
	} else if err != nil {
		return err
	}
	return st.move(ctx, m, lifecycle.ToDestroy, lifecycle.Cleaner, d, func(o *ops) (bool, error) {
		return m.isEmptied(ctx, o)
	})
}

// MachineLeft returns the id of the machine that will be left empty once this unit, destroyed this way, is removed; ""
// if there is none. It is only for messages to users: nothing is asserted.
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
	holders, err := u.st.db.CountsOf(ctx, modeldb.MachineKey(m.doc.ID))
	if err != nil || holders["alive-units"]+holders["containers"] > 0 {
		return "", err
	}
	return m.doc.ID, nil
}

// isLeft reports whether the machine, once empty, outlives a destruction of its units.
func (m *Machine) isLeft(how entity.Destruction) bool {
	return m.doc.Life == entity.Alive && !(how.Machines && m.doc.ForUnits)
}

// maxLeft is the maximum number of a service's units for which MachinesLeft returns machines.
const maxLeft = 100

// MachinesLeft is MachineLeft for all units of a service, sorted. Call it before the service is destroyed, while its
// units exist. For a service with more than maxLeft units it returns no ids, and many is true.
func (s *Service) MachinesLeft(ctx context.Context, how entity.Destruction) (left []string, many bool, err error) {
	holders, err := s.st.db.CountsOf(ctx, modeldb.ServiceKey(s.doc.Name))
	if err != nil || s.doc.Subordinate {
		return nil, false, err
	}
	if holders["units"] > maxLeft {
		return nil, true, nil
	}
	units, err := s.st.units(ctx, bson.D{{"service", s.doc.Name}})
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
		holders, err := s.st.db.CountsOf(ctx, modeldb.MachineKey(id))
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
