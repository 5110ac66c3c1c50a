package state

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/entity"
	"juju/state/lifecycle"
	"juju/state/mongo"
)

// The jobs of machines. A machine with JobManageModel runs a controller.
const (
	JobHostUnits   = "JobHostUnits"
	JobManageModel = "JobManageModel"
)

type machineDoc struct {
	ID         string      `bson:"_id"`
	Life       entity.Life `bson:"life"`
	Series     string      `bson:"series"`
	Jobs       []string    `bson:"jobs"`
	Container  string      `bson:"container,omitempty"`
	Placement  string      `bson:"placement,omitempty"`
	InstanceID string      `bson:"instance,omitempty"`
	Nonce      string      `bson:"nonce,omitempty"`
	Addresses  []string    `bson:"addresses,omitempty"`
	// Clean machines have never had a unit; a new unit may be given one.
	Clean bool `bson:"clean"`
}

// A Machine is a machine as it was when it was read.
type Machine struct {
	st  *State
	doc machineDoc
}

// Machine reads a machine; entity.NotFound when there is none.
func (st *State) Machine(ctx context.Context, id string) (*Machine, error) {
	m := &Machine{st: st}
	if err := st.db.Get(machinesC, id, &m.doc, "machine "+id); err != nil {
		return nil, err
	}
	return m, nil
}

// Machines reads the named machines that exist, or all of them for no ids, in
// natural order.
func (st *State) Machines(ctx context.Context, ids ...string) ([]*Machine, error) {
	var query bson.D
	if len(ids) > 0 {
		query = bson.D{{"_id", bson.D{{"$in", ids}}}}
	}
	var docs []machineDoc
	if err := st.db.All(machinesC, query, &docs); err != nil {
		return nil, err
	}
	sortBy(docs, func(d machineDoc) string { return d.ID })
	all := make([]*Machine, len(docs))
	for i, doc := range docs {
		all[i] = &Machine{st, doc}
	}
	return all, nil
}

// ID returns the machine's id.
func (m *Machine) ID() string { return m.doc.ID }

// Life returns how far the machine had come when it was read.
func (m *Machine) Life() entity.Life { return m.doc.Life }

// Addresses returns what the provider or the machine's agent said last.
func (m *Machine) Addresses() []string { return slices.Clone(m.doc.Addresses) }

// IsManager reports whether the machine runs a controller.
func (m *Machine) IsManager() bool { return slices.Contains(m.doc.Jobs, JobManageModel) }

// InstanceID returns the provider's name of the machine, or "" before it has one.
func (m *Machine) InstanceID() string { return m.doc.InstanceID }

// Info returns what the machine's agent and the provisioner decide on.
func (m *Machine) Info(ctx context.Context) (entity.MachineInfo, error) {
	status, err := m.st.status(machineKey(m.doc.ID))
	if err != nil {
		return entity.MachineInfo{}, err
	}
	constraints, err := m.st.constraints(machineKey(m.doc.ID))
	return m.info(status.Status, constraints), err
}

// MachineInfos returns what a provisioner decides on, of the named machines that
// exist or of all, in a number of queries that does not grow with them.
func (st *State) MachineInfos(ctx context.Context, ids ...string) ([]entity.MachineInfo, error) {
	machines, err := st.Machines(ctx, ids...)
	if err != nil {
		return nil, err
	}
	keys := make([]string, len(machines))
	for i, m := range machines {
		keys[i] = machineKey(m.doc.ID)
	}
	query := bson.D{{"_id", bson.D{{"$in", keys}}}}
	var statuses []statusDoc
	if err := st.db.All(statusesC, query, &statuses); err != nil {
		return nil, err
	}
	var constraints []constraintsDoc
	if err := st.db.All(constraintsC, query, &constraints); err != nil {
		return nil, err
	}
	word, value := map[string]entity.StatusWord{}, map[string]string{}
	for _, s := range statuses {
		word[s.ID] = s.Status
	}
	for _, c := range constraints {
		value[c.Key] = c.Value
	}
	infos := make([]entity.MachineInfo, len(machines))
	for i, m := range machines {
		infos[i] = m.info(word[keys[i]], value[keys[i]])
	}
	return infos, nil
}

func (m *Machine) info(status entity.StatusWord, constraints string) entity.MachineInfo {
	return entity.MachineInfo{
		ID: m.doc.ID, Life: m.doc.Life, Series: m.doc.Series, Constraints: constraints,
		Placement: m.doc.Placement, Container: m.doc.Container, Manager: m.IsManager(),
		InstanceID: m.doc.InstanceID, Nonce: m.doc.Nonce, Status: status,
	}
}

// AddMachineParams describes a new machine.
type AddMachineParams struct {
	Series      string // the model's when empty
	Constraints string // laid over the model's
	Placement   string
}

// AddMachine adds a machine, for the provisioner to find an instance for.
func (st *State) AddMachine(ctx context.Context, p AddMachineParams) (*Machine, error) {
	id := "" // taken once nothing bars the machine any more
	err := st.run(ctx, func(int) ([]txn.Op, error) {
		doc, err := st.aliveModel()
		if err != nil {
			return nil, err
		}
		constraints, err := doc.mergeConstraints(p.Constraints)
		if err != nil {
			return nil, err
		}
		if id == "" {
			if id, err = st.newMachineID(ctx); err != nil {
				return nil, err
			}
		}
		o := newOps()
		o.assertModelAs(doc)
		st.addMachineOps(o, machineDoc{ID: id, Series: orElse(p.Series, doc.Series), Jobs: []string{JobHostUnits},
			Placement: p.Placement, Clean: true}, constraints)
		return o.build()
	})
	if err != nil {
		return nil, fmt.Errorf("cannot add a machine: %w", err)
	}
	return st.Machine(ctx, id)
}

func (st *State) newMachineID(ctx context.Context) (string, error) {
	n, err := st.db.Next(ctx, "machine", 1)
	return strconv.Itoa(n), err
}

func (st *State) addMachineOps(o *ops, doc machineDoc, constraints string) {
	key := machineKey(doc.ID)
	o.insert(machinesC, doc.ID, doc)
	o.newCounts(key, lifecycle.Machine)
	o.insert(statusesC, key, newStatusDoc(key, entity.Status{Status: entity.StatusPending}, st.controller.now()))
	o.insert(credentialsC, entity.MachineTag(doc.ID).String(), credentialDoc{ID: entity.MachineTag(doc.ID).String()})
	o.insert(constraintsC, key, constraintsDoc{key, constraints})
	o.insert(portsC, doc.ID, portsDoc{ID: doc.ID, Ports: []openPort{}})
}

// ManagerNonce is the nonce, and the instance, of machine 0 of the controller's model, which
// bootstrap started and no provisioner ever touches; its agent is jujud itself.
const ManagerNonce = "controller"

// addManager adds machine 0 to the controller's model; nothing when it is there.
func (st *State) addManager(ctx context.Context, series string) error {
	if _, err := st.Machine(ctx, "0"); !isNotFound(err) {
		return err
	}
	if _, err := st.newMachineID(ctx); err != nil {
		return err
	}
	return st.run(ctx, func(int) ([]txn.Op, error) {
		if _, err := st.Machine(ctx, "0"); err == nil {
			return nil, mongo.ErrNothing
		}
		o := newOps()
		o.assertModelAlive()
		st.addMachineOps(o, machineDoc{ID: "0", Series: series, Jobs: []string{JobManageModel},
			InstanceID: ManagerNonce, Nonce: ManagerNonce}, "")
		return o.build()
	})
}

// Destroy sets the machine Dying, or removes it when it has no instance and no
// unit. It is refused while Alive units are assigned, while it hosts containers,
// and of the last manager; a machine that is not Alive is left as it is.
func (m *Machine) Destroy(ctx context.Context) error {
	return m.move(ctx, lifecycle.ToDestroy, func() lifecycle.Actor { return lifecycle.User })
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
	})
}

// Remove takes the Dead machine out of state, for the provisioner that has
// stopped its instance; nothing when it is gone.
func (m *Machine) Remove(ctx context.Context) error {
	return m.move(ctx, lifecycle.ToRemove, func() lifecycle.Actor { return lifecycle.Provisioner })
}

// move makes the farthest step toward a goal; nothing when the machine is gone.
func (m *Machine) move(ctx context.Context, goal lifecycle.Goal, by func() lifecycle.Actor) error {
	return m.st.run(ctx, func(int) ([]txn.Op, error) {
		if err := m.refresh(ctx); isNotFound(err) {
			return nil, mongo.ErrNothing
		} else if err != nil {
			return nil, err
		}
		facts, err := m.facts()
		if err != nil {
			return nil, err
		}
		step, err := lifecycle.Plan(lifecycle.Machine, goal, by(), facts)
		if err != nil {
			return nil, m.refusal(goal, err)
		}
		return m.moveOps(step)
	})
}

func (m *Machine) refresh(ctx context.Context) error {
	now, err := m.st.Machine(ctx, m.doc.ID)
	if err == nil {
		m.doc = now.doc
	}
	return err
}

func (m *Machine) facts() (lifecycle.Facts, error) {
	holders, err := m.st.holders(machineKey(m.doc.ID))
	facts := lifecycle.Facts{Life: m.doc.Life, Holders: holders}
	if !m.IsManager() {
		// There is one manager until machines can be added to the controller.
		facts.Guards = append(facts.Guards, lifecycle.NotLast)
		if m.doc.InstanceID == "" {
			facts.Guards = append(facts.Guards, lifecycle.Unprovisioned)
		}
	}
	return facts, err
}

// moveOps makes the operations of a planned step.
func (m *Machine) moveOps(step lifecycle.Step) ([]txn.Op, error) {
	if step.Nothing() {
		return nil, mongo.ErrNothing
	}
	o := newOps()
	key := machineKey(m.doc.ID)
	o.expectStep(key, step, nil)
	// The instance says which moves were open.
	assert := bson.D{{"life", step.Move.From}, {"instance", bson.D{{"$exists", m.doc.InstanceID != ""}}}}
	if step.Move.To != entity.Gone {
		o.update(machinesC, m.doc.ID, assert, bson.D{{"$set", bson.D{{"life", step.Move.To}}}})
		return o.build()
	}
	o.remove(machinesC, m.doc.ID, assert)
	o.dropCounts(key)
	o.remove(statusesC, key, exists)
	o.remove(credentialsC, entity.MachineTag(m.doc.ID).String(), exists)
	o.remove(constraintsC, key, exists)
	o.remove(portsC, m.doc.ID, exists)
	return o.build()
}

// refusal turns what bars a move into what users read.
func (m *Machine) refusal(goal lifecycle.Goal, err error) error {
	var barred *lifecycle.Barred
	if !errors.As(err, &barred) {
		return err
	}
	if goal == lifecycle.ToRemove && barred.Ref.Name == "" {
		return entity.Errorf(entity.Invalid, "machine is not dead")
	}
	switch barred.Ref.Name {
	case "alive-units", "units":
		query := bson.D{{"machine", m.doc.ID}}
		if barred.Ref.Name == "alive-units" {
			query = append(query, bson.DocElem{Name: "life", Value: entity.Alive})
		}
		var units []unitDoc
		if err := m.st.db.All(unitsC, query, &units); err != nil {
			return err
		}
		if len(units) == 0 {
			return entity.Errorf(entity.Contention, "state changing too quickly; try again soon")
		}
		sortBy(units, func(u unitDoc) string { return u.Name })
		return entity.WithHint(entity.Errorf(entity.InUse, barred.Ref.Why, m.doc.ID, units[0].Name),
			"Destroy the unit first: juju destroy-unit %s", units[0].Name)
	case "":
		if barred.Guard == lifecycle.NotLast {
			return entity.Errorf(entity.InUse, "machine %s is required by the model", m.doc.ID)
		}
	}
	return err
}

// SetProvisioned records the instance of an Alive machine that has none.
func (m *Machine) SetProvisioned(ctx context.Context, in entity.Instance) error {
	err := m.st.run(ctx, func(int) ([]txn.Op, error) {
		if err := m.refresh(ctx); err != nil {
			return nil, err
		}
		switch {
		case in.ID == "" || in.Nonce == "":
			return nil, entity.Errorf(entity.Invalid, "instance id and nonce cannot be empty")
		case m.doc.InstanceID == in.ID && m.doc.Nonce == in.Nonce:
			return nil, mongo.ErrNothing
		case m.doc.InstanceID != "":
			return nil, entity.Errorf(entity.Invalid, "already set")
		case m.doc.Life != entity.Alive:
			return nil, entity.Errorf(entity.NotAlive, "machine is not alive")
		}
		o := newOps()
		o.update(machinesC, m.doc.ID, bson.D{{"life", entity.Alive}, {"instance", bson.D{{"$exists", false}}}},
			bson.D{{"$set", bson.D{{"instance", in.ID}, {"nonce", in.Nonce}, {"addresses", in.Addresses}}}})
		return o.build()
	})
	if err != nil {
		return fmt.Errorf("cannot set instance data for machine %s: %w", m.doc.ID, err)
	}
	return nil
}

// SetAddresses records the machine's addresses, the first being the one to use.
func (m *Machine) SetAddresses(ctx context.Context, addresses []string) error {
	return m.st.run(ctx, func(int) ([]txn.Op, error) {
		if err := m.refresh(ctx); err != nil {
			return nil, err
		}
		if slices.Equal(m.doc.Addresses, addresses) {
			return nil, mongo.ErrNothing
		}
		o := newOps()
		o.update(machinesC, m.doc.ID, exists, bson.D{{"$set", bson.D{{"addresses", addresses}}}})
		return o.build()
	})
}

// SetStatus replaces the machine's status.
func (m *Machine) SetStatus(ctx context.Context, s entity.Status) error {
	return m.st.setStatus(ctx, machineKey(m.doc.ID), s)
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
