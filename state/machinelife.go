package state

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/entity"
	"juju/state/lifecycle"
	"juju/state/mongo"
)

// Destroy sets the machine Dying, or removes it when it has no instance and
// nothing on it. It is refused while Alive units are assigned and while it hosts
// containers, unless it is forced, and always of the last manager; one of several
// managers loses that job by it. A machine that is Dying already only takes on
// the strength.
func (m *Machine) Destroy(ctx context.Context, how entity.Destruction) error {
	return m.move(ctx, lifecycle.ToDestroy, byUser, m.st.begin(how))
}

// EnsureDead sets the Dying machine Dead. It is for the machine's agent, and for
// the provisioner when the machine has no instance. entity.InUse while units are
// still assigned; nothing when it is Dead or gone.
func (m *Machine) EnsureDead(ctx context.Context) error {
	return m.move(ctx, lifecycle.ToDead, func() lifecycle.Actor {
		if m.doc.InstanceID == "" {
			return lifecycle.Provisioner
		}
		return lifecycle.MachineAgent
	}, destruction{now: m.st.now()})
}

// Remove takes the Dead machine out of state, for the provisioner that has
// stopped its instance; nothing when it is gone.
func (m *Machine) Remove(ctx context.Context) error {
	return m.move(ctx, lifecycle.ToRemove, func() lifecycle.Actor { return lifecycle.Provisioner }, destruction{now: m.st.now()})
}

func byUser() lifecycle.Actor    { return lifecycle.User }
func byCleaner() lifecycle.Actor { return lifecycle.Cleaner }

// move makes the farthest step toward a goal; nothing when the machine is gone, or a
// ground does not hold.
func (m *Machine) move(ctx context.Context, goal lifecycle.Goal, by func() lifecycle.Actor, d destruction, grounds ...ground) error {
	return m.st.run(ctx, func(int) ([]txn.Op, error) {
		if err := m.refresh(ctx); isNotFound(err) {
			return nil, mongo.ErrNothing
		} else if err != nil {
			return nil, err
		}
		o := newOps()
		for _, holds := range grounds {
			if still, err := holds(o); err != nil {
				return nil, err
			} else if !still {
				return nil, mongo.ErrNothing
			}
		}
		if goal == lifecycle.ToDestroy && m.doc.Life != entity.Alive {
			o.raiseOps(machinesC, m.doc.ID, machineKey(m.doc.ID), m.doc.lifeDoc, d, func() { m.cascadeOps(o, d) })
			return o.build()
		}
		other, err := m.otherManager()
		if err != nil {
			return nil, err
		}
		facts, err := m.facts(other, goal == lifecycle.ToDestroy && d.strength == entity.Force)
		if err != nil {
			return nil, err
		}
		step, err := lifecycle.Plan(lifecycle.Machine, goal, by(), facts)
		if err != nil {
			return nil, m.refusal(goal, err)
		}
		if step.Nothing() {
			return nil, mongo.ErrNothing
		}
		if err := m.moveOps(o, step, d, other); err != nil {
			return nil, err
		}
		return o.build()
	})
}

func (m *Machine) refresh(ctx context.Context) error {
	now, err := m.st.Machine(ctx, m.doc.ID)
	if err == nil {
		m.doc = now.doc
	}
	return err
}

// otherManager returns a machine that manages the model besides this one, which
// is a manager too; or "".
func (m *Machine) otherManager() (string, error) {
	if !m.IsManager() {
		return "", nil
	}
	var docs []machineDoc
	err := m.st.db.All(machinesC, bson.D{{"jobs", JobManageModel}, {"life", entity.Alive}, {"_id", bson.D{{"$ne", m.doc.ID}}}}, &docs)
	if err != nil || len(docs) == 0 {
		return "", err
	}
	return docs[0].ID, nil
}

func (m *Machine) facts(otherManager string, force bool) (lifecycle.Facts, error) {
	holders, err := m.st.holders(machineKey(m.doc.ID))
	facts := lifecycle.Facts{Life: m.doc.Life, Holders: holders}
	if !m.IsManager() || otherManager != "" {
		facts.Guards = append(facts.Guards, lifecycle.NotLast)
	}
	if m.doc.InstanceID == "" && !m.IsManager() {
		facts.Guards = append(facts.Guards, lifecycle.Unprovisioned)
	}
	if force || m.doc.forced() {
		facts.Guards = append(facts.Guards, lifecycle.Forced)
	}
	if m.doc.ForUnits && holders["units"]+holders["containers"] == 0 {
		facts.Guards = append(facts.Guards, lifecycle.Emptied)
	}
	return facts, err
}

// moveOps makes the operations of a planned step. A manager leaves its job to
// another by it.
func (m *Machine) moveOps(o *ops, step lifecycle.Step, d destruction, otherManager string) error {
	key := machineKey(m.doc.ID)
	o.expectStep(key, step, nil)
	// The instance says which moves were open.
	assert := append(unraised(m.doc.lifeDoc), bson.DocElem{Name: "instance", Value: bson.D{{"$exists", m.doc.InstanceID != ""}}})
	if step.Move.To != entity.Gone {
		set := d.turn(step.Move.To)
		if step.Move.From == entity.Alive {
			set = append(set, d.raise(m.doc.lifeDoc)...)
			if d.strength > entity.Plain {
				m.cascadeOps(o, d)
			}
			o.dismantleOps(key, m.doc.lifeDoc, d)
		}
		update := bson.D{{"$set", set}}
		if m.IsManager() && step.Move.From == entity.Alive {
			o.assert(machinesC, otherManager, bson.D{{"life", entity.Alive}, {"jobs", JobManageModel}})
			update = append(update, bson.DocElem{Name: "$pull", Value: bson.D{{"jobs", JobManageModel}}})
		}
		o.update(machinesC, m.doc.ID, assert, update)
		return nil
	}
	o.remove(machinesC, m.doc.ID, assert)
	o.undismantleOps(key, m.doc.lifeDoc)
	o.dropCounts(key)
	o.remove(statusesC, key, nil)                                     // there since it was set
	o.remove(statusesC, instanceKey(m.doc.ID), nil)                   // there once the cloud has said something
	o.remove(credentialsC, entity.MachineTag(m.doc.ID).String(), nil) // there since its first password
	o.remove(constraintsC, key, nil)                                  // there if it has any
	o.remove(portsC, m.doc.ID, nil)                                   // there since a unit has opened one
	if host := hostOf(m.doc.ID); host != "" {
		o.inc(machineKey(host), "containers", -1)
	}
	return m.st.dropAnnotationsOps(o, key)
}

// cascadeOps has what is on the machine destroyed as strongly.
func (m *Machine) cascadeOps(o *ops, d destruction) { o.cascadeOps(cleanupGuests, m.doc.ID, d) }

// refusal turns what bars a move into what users read.
func (m *Machine) refusal(goal lifecycle.Goal, err error) error {
	var barred *lifecycle.Barred
	if !errors.As(err, &barred) {
		return err
	}
	switch {
	case barred.Ref.Name == "alive-units":
		return m.hostsUnit(barred.Ref, bson.DocElem{Name: "life", Value: entity.Alive})
	case barred.Ref.Name == "units":
		return m.hostsUnit(barred.Ref)
	case barred.Ref.Name == "containers":
		return m.hostsContainers(barred.Ref)
	case goal == lifecycle.ToRemove:
		return entity.Errorf(entity.Invalid, "machine is not dead")
	case goal == lifecycle.ToDead:
		return entity.Errorf(entity.Invalid, "machine %s is not dying", m.doc.ID)
	case barred.Guard == lifecycle.NotLast:
		return entity.Errorf(entity.InUse, "machine %s is required by the model", m.doc.ID)
	}
	return err
}

// hostsUnit names a unit on the machine that bars its end.
func (m *Machine) hostsUnit(ref lifecycle.Ref, which ...bson.DocElem) error {
	var units []unitDoc
	if err := m.st.db.All(unitsC, append(bson.D{{"machine", m.doc.ID}}, which...), &units); err != nil {
		return err
	}
	if len(units) == 0 {
		return tooQuick()
	}
	sortBy(units, func(u unitDoc) string { return u.Name })
	return entity.WithHint(entity.Errorf(entity.InUse, ref.Why, m.doc.ID, units[0].Name),
		"Destroy the unit first: juju destroy-unit %s", units[0].Name)
}

// hostsContainers names the containers on the machine, which bar its end.
func (m *Machine) hostsContainers(ref lifecycle.Ref) error {
	containers, err := m.containers()
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

// tooQuick is said when others keep getting in between, or what barred a move has gone
// before it could be named.
func tooQuick() error {
	return entity.WithHint(entity.Errorf(entity.Contention, "state changing too quickly; try again soon"),
		"Others are changing the same things just now; run the command again.")
}

// containers reads the machines on this one.
func (m *Machine) containers() ([]*Machine, error) {
	var docs []machineDoc
	if err := m.st.db.All(machinesC, bson.D{{"host", m.doc.ID}}, &docs); err != nil {
		return nil, fmt.Errorf("cannot list the containers of machine %s: %w", m.doc.ID, err)
	}
	sortBy(docs, func(d machineDoc) string { return d.ID })
	all := make([]*Machine, len(docs))
	for i, doc := range docs {
		all[i] = &Machine{m.st, doc}
	}
	return slices.Clip(all), nil
}
