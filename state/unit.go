package state

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/entity"
	"juju/state/lifecycle"
	"juju/state/mongo"
)

type unitDoc struct {
	Name      string          `bson:"_id"`
	Service   string          `bson:"service"`
	Series    string          `bson:"series"`
	Life      entity.Life     `bson:"life"`
	Machine   string          `bson:"machine,omitempty"`   // of a principal that is assigned
	Principal string          `bson:"principal,omitempty"` // of a subordinate
	CharmURL  string          `bson:"charm,omitempty"`     // what it has; the service says what it should have
	Resolved  entity.Resolved `bson:"resolved,omitempty"`
	// Started is set with the first status that the unit's agent reports, and
	// never taken back: from then on only the agent can end the unit in order.
	Started bool `bson:"started"`
}

// kind is the unit's place in the tables of lifecycles.
func (d unitDoc) kind() lifecycle.Kind {
	if d.Principal != "" {
		return lifecycle.Subordinate
	}
	return lifecycle.Principal
}

// A Unit is a unit as it was when it was read.
type Unit struct {
	st  *State
	doc unitDoc
}

// Unit reads a unit; entity.NotFound when there is none.
func (st *State) Unit(ctx context.Context, name string) (*Unit, error) {
	u := &Unit{st: st}
	if err := st.db.Get(unitsC, name, &u.doc, fmt.Sprintf("unit %q", name)); err != nil {
		return nil, err
	}
	return u, nil
}

// units reads the units that match, in natural order.
func (st *State) units(query bson.D) ([]*Unit, error) {
	var docs []unitDoc
	if err := st.db.All(unitsC, query, &docs); err != nil {
		return nil, err
	}
	sortBy(docs, func(d unitDoc) string { return d.Name })
	all := make([]*Unit, len(docs))
	for i, doc := range docs {
		all[i] = &Unit{st, doc}
	}
	return all, nil
}

// Name returns the unit's name.
func (u *Unit) Name() string { return u.doc.Name }

// Service returns the name of the unit's service.
func (u *Unit) Service() string { return u.doc.Service }

// Life returns how far the unit had come when it was read.
func (u *Unit) Life() entity.Life { return u.doc.Life }

// Principal returns the name of the unit's principal, or "" of a principal.
func (u *Unit) Principal() string { return u.doc.Principal }

// Machine returns the machine that the unit is assigned to, or "".
func (u *Unit) Machine() string { return u.doc.Machine }

// Deployer returns who deploys and removes the unit: its machine or principal,
// or the zero Tag while it is not assigned.
func (u *Unit) Deployer() entity.Tag { return u.doc.deployer() }

func (d unitDoc) deployer() entity.Tag {
	switch {
	case d.Principal != "":
		return entity.UnitTag(d.Principal)
	case d.Machine != "":
		return entity.MachineTag(d.Machine)
	}
	return entity.Tag{}
}

func (u *Unit) refresh(ctx context.Context) error {
	now, err := u.st.Unit(ctx, u.doc.Name)
	if err == nil {
		u.doc = now.doc
	}
	return err
}

// addUnitOps adds a new unit of a service. The caller counts it at the service,
// and asserts that the service is Alive.
func (st *State) addUnitOps(o *ops, doc unitDoc, constraints string) {
	key, now := unitKey(doc.Name), st.controller.now()
	o.insert(unitsC, doc.Name, doc)
	o.newCounts(key, doc.kind())
	o.insert(statusesC, key, newStatusDoc(key, entity.Status{Status: entity.StatusAllocating}, now))
	o.insert(statusesC, workloadKey(doc.Name), newStatusDoc(workloadKey(doc.Name),
		entity.Status{Status: entity.StatusWaiting, Message: "waiting for machine"}, now))
	o.insert(credentialsC, entity.UnitTag(doc.Name).String(), credentialDoc{ID: entity.UnitTag(doc.Name).String()})
	o.insert(constraintsC, key, constraintsDoc{key, constraints})
	if parent := doc.deployer(); !parent.IsZero() {
		st.addDeploymentOps(o, parent, doc.Name)
	}
}

// addDeploymentOps puts a unit in the charge of a machine or a principal.
func (st *State) addDeploymentOps(o *ops, parent entity.Tag, unit string) {
	o.insert(deploymentsC, deploymentID(parent, unit), deploymentDoc{Parent: parent.String(), Unit: unit})
	if parent.Kind == entity.KindMachine {
		o.inc(machineKey(parent.ID), "units", 1)
		o.inc(machineKey(parent.ID), "alive-units", 1)
	} else {
		o.inc(unitKey(parent.ID), "subordinates", 1)
	}
}

type deploymentDoc struct {
	Parent string `bson:"parent"` // a tag
	Unit   string `bson:"unit"`
}

// Destroy is what the user does to a principal: it becomes Dying, or is removed
// when its agent never came up. A unit that is not Alive is left as it is; a
// subordinate is refused.
func (u *Unit) Destroy(ctx context.Context) error {
	return u.move(ctx, lifecycle.ToDestroy, lifecycle.User)
}

// DestroySelf is what the unit's own agent does when its service is Dying or,
// of a subordinate, when its last container relation or its principal is.
func (u *Unit) DestroySelf(ctx context.Context) error {
	return u.move(ctx, lifecycle.ToDestroy, lifecycle.UnitAgent)
}

// DestroySubordinates sets the unit's subordinates Dying.
func (u *Unit) DestroySubordinates(ctx context.Context) error {
	return u.destroySubordinates(ctx, lifecycle.UnitAgent)
}

func (u *Unit) destroySubordinates(ctx context.Context, by lifecycle.Actor) error {
	subordinates, err := u.st.units(bson.D{{"principal", u.doc.Name}})
	if err != nil {
		return err
	}
	for _, s := range subordinates {
		if err := s.move(ctx, lifecycle.ToDestroy, by); err != nil {
			return err
		}
	}
	return nil
}

// EnsureDead sets the Dying unit Dead. entity.InUse while it is in a relation's
// scope, entity.HasSubordinates while it has subordinates; nothing when it is
// Dead or gone.
func (u *Unit) EnsureDead(ctx context.Context) error {
	return u.move(ctx, lifecycle.ToDead, lifecycle.UnitAgent)
}

// Remove takes a Dead unit out of state, and a Dying one whose agent never came
// up. With the last unit of a Dying service without relations goes the service.
func (u *Unit) Remove(ctx context.Context) error {
	return u.move(ctx, lifecycle.ToRemove, lifecycle.Deployer)
}

// move makes the farthest step toward a goal; nothing when the unit is gone.
func (u *Unit) move(ctx context.Context, goal lifecycle.Goal, by lifecycle.Actor) error {
	id := newID()
	return u.st.run(ctx, func(int) ([]txn.Op, error) {
		if err := u.refresh(ctx); isNotFound(err) {
			return nil, mongo.ErrNothing
		} else if err != nil {
			return nil, err
		}
		holders, err := u.st.holders(unitKey(u.doc.Name))
		if err != nil {
			return nil, err
		}
		facts := lifecycle.Facts{Life: u.doc.Life, Holders: holders}
		if !u.doc.Started {
			facts.Guards = append(facts.Guards, lifecycle.Unstarted)
		}
		step, err := lifecycle.Plan(u.doc.kind(), goal, by, facts)
		if err != nil {
			return nil, u.refusal(goal, err)
		}
		if step.Nothing() {
			return nil, mongo.ErrNothing
		}
		o := newOps()
		o.expectStep(unitKey(u.doc.Name), step, nil)
		// Whether the agent has come up says which moves were open.
		assert := bson.D{{"life", u.doc.Life}, {"started", u.doc.Started}}
		if step.Move.To == entity.Gone {
			if err := u.removeOps(ctx, o, assert); err != nil {
				return nil, err
			}
			return o.build()
		}
		o.update(unitsC, u.doc.Name, assert, bson.D{{"$set", bson.D{{"life", step.Move.To}}}})
		if step.Move.From == entity.Alive {
			if u.doc.Machine != "" {
				o.inc(machineKey(u.doc.Machine), "alive-units", -1)
			}
			if holders["subordinates"] > 0 {
				// Its agent does this; the cleanup is for one that is away.
				o.cleanup(id, cleanupSubordinates, u.doc.Name)
			} else if u.doc.kind() == lifecycle.Principal {
				// One that came meanwhile would want that too.
				o.expect(unitKey(u.doc.Name), "subordinates", 0)
			}
		}
		return o.build()
	})
}

// refusal turns what bars a move into what users and agents read.
func (u *Unit) refusal(goal lifecycle.Goal, err error) error {
	var barred *lifecycle.Barred
	if !errors.As(err, &barred) {
		return err
	}
	switch {
	case barred.Ref.Name == "subordinates":
		return entity.Errorf(entity.HasSubordinates, "unit has subordinates")
	case barred.Ref.Name == "scopes":
		return entity.Errorf(entity.InUse, "unit %q is in the scope of a relation", u.doc.Name)
	case goal == lifecycle.ToRemove:
		return entity.Errorf(entity.InUse, "unit is not dead")
	case u.doc.Principal != "":
		return entity.WithHint(entity.Errorf(entity.Invalid, "unit %q is a subordinate", u.doc.Name),
			"It goes with its principal, %s, or with the relation to it.", u.doc.Principal)
	}
	return err
}

// removeOps takes the unit out of state with all that was its own, and with it
// its service when it was the last thing that referred to it.
func (u *Unit) removeOps(ctx context.Context, o *ops, assert bson.D) error {
	name, key := u.doc.Name, unitKey(u.doc.Name)
	o.remove(unitsC, name, assert)
	o.dropCounts(key)
	o.remove(statusesC, key, exists)
	o.remove(statusesC, workloadKey(name), exists)
	o.remove(constraintsC, key, exists)
	o.remove(credentialsC, entity.UnitTag(name).String(), exists)
	if parent := u.doc.deployer(); !parent.IsZero() {
		o.remove(deploymentsC, deploymentID(parent, name), exists)
		if parent.Kind == entity.KindMachine {
			o.inc(machineKey(parent.ID), "units", -1)
			if u.doc.Life == entity.Alive {
				o.inc(machineKey(parent.ID), "alive-units", -1)
			}
		} else {
			o.inc(unitKey(parent.ID), "subordinates", -1)
		}
	}
	if err := u.closeAllPortsOps(ctx, o); err != nil {
		return err
	}
	return u.st.dropServiceRefOps(ctx, o, u.doc.Service, "units")
}

// SetStatus replaces the status of the unit's workload.
func (u *Unit) SetStatus(ctx context.Context, s entity.Status) error {
	return u.st.setStatus(ctx, workloadKey(u.doc.Name), s)
}

// Status returns the status of the unit's workload.
func (u *Unit) Status(ctx context.Context) (entity.Status, error) {
	return u.st.status(workloadKey(u.doc.Name))
}

// SetAgentStatus replaces the status of the unit's agent; the first marks the
// unit as one whose agent has come up.
func (u *Unit) SetAgentStatus(ctx context.Context, s entity.Status) error {
	var started []txn.Op
	if !u.doc.Started {
		started = append(started, txn.Op{C: unitsC, Id: u.doc.Name, Assert: exists,
			Update: bson.D{{"$set", bson.D{{"started", true}}}}})
	}
	return u.st.setStatus(ctx, unitKey(u.doc.Name), s, started...)
}

// Resolve says what to do about the unit's failed hook: run it again, or go on
// as if it had succeeded.
func (u *Unit) Resolve(ctx context.Context, retry bool) error {
	mode := entity.ResolvedNoHooks
	if retry {
		mode = entity.ResolvedRetry
	}
	return u.st.run(ctx, func(int) ([]txn.Op, error) {
		if err := u.refresh(ctx); err != nil {
			return nil, err
		}
		workload, err := u.st.status(workloadKey(u.doc.Name))
		if err != nil {
			return nil, err
		}
		switch {
		case u.doc.Resolved != entity.ResolvedNone:
			return nil, entity.Errorf(entity.Invalid, "cannot set resolved mode for unit %q: already resolved", u.doc.Name)
		case workload.Status != entity.StatusError:
			return nil, entity.WithHint(entity.Errorf(entity.Invalid, "unit %q is not in an error state", u.doc.Name),
				"See what it is doing: juju status %s", u.doc.Name)
		}
		o := newOps()
		o.assert(statusesC, workloadKey(u.doc.Name), bson.D{{"status", entity.StatusError}})
		o.update(unitsC, u.doc.Name, bson.D{{"resolved", bson.D{{"$exists", false}}}},
			bson.D{{"$set", bson.D{{"resolved", mode}}}})
		return o.build()
	})
}

// ClearResolved says that the agent has seen what Resolve said.
func (u *Unit) ClearResolved(ctx context.Context) error {
	return u.st.run(ctx, func(int) ([]txn.Op, error) {
		if err := u.refresh(ctx); err != nil {
			return nil, err
		}
		if u.doc.Resolved == entity.ResolvedNone {
			return nil, mongo.ErrNothing
		}
		o := newOps()
		o.update(unitsC, u.doc.Name, exists, bson.D{{"$unset", bson.D{{"resolved", 1}}}})
		return o.build()
	})
}

// SetCharm records the charm that the unit has, or is about to unpack.
func (u *Unit) SetCharm(ctx context.Context, url string) error {
	return u.st.run(ctx, func(int) ([]txn.Op, error) {
		if err := u.refresh(ctx); err != nil {
			return nil, err
		}
		if u.doc.CharmURL == url {
			return nil, mongo.ErrNothing
		}
		if _, err := u.st.Charm(ctx, url); err != nil {
			return nil, err
		}
		if u.doc.Life == entity.Dead {
			return nil, entity.Errorf(entity.NotAlive, "unit %q is dead", u.doc.Name)
		}
		o := newOps()
		o.assert(charmsC, url, exists)
		o.update(unitsC, u.doc.Name, notDead, bson.D{{"$set", bson.D{{"charm", url}}}})
		return o.build()
	})
}

// Info returns what the unit's agent decides on.
func (u *Unit) Info(ctx context.Context) (entity.UnitInfo, error) {
	if err := u.refresh(ctx); err != nil {
		return entity.UnitInfo{}, err
	}
	svc, err := u.st.Service(ctx, u.doc.Service)
	if err != nil {
		return entity.UnitInfo{}, err
	}
	config, err := u.st.settings(serviceKey(u.doc.Service))
	if err != nil {
		return entity.UnitInfo{}, err
	}
	info := entity.UnitInfo{
		Name: u.doc.Name, Service: u.doc.Service, Machine: u.doc.Machine, Principal: u.doc.Principal,
		Life: u.doc.Life, ServiceLife: svc.doc.Life, Resolved: u.doc.Resolved,
		CharmURL: u.doc.CharmURL, ServiceCharmURL: svc.doc.CharmURL, ForceCharm: svc.doc.ForceCharm,
		ConfigVersion: config.Version, Started: u.doc.Started,
	}
	subordinates, err := u.st.units(bson.D{{"principal", u.doc.Name}})
	if err != nil {
		return entity.UnitInfo{}, err
	}
	for _, s := range subordinates {
		info.Subordinates = append(info.Subordinates, s.doc.Name)
	}
	addresses, err := u.addresses(ctx)
	if err != nil {
		return entity.UnitInfo{}, err
	}
	if len(addresses) > 0 {
		info.PrivateAddress, info.PublicAddress = addresses[0], addresses[0]
	}
	if u.doc.Principal != "" {
		alive, err := u.st.hasContainerRelation(u.doc.Service, entity.UnitService(u.doc.Principal))
		if err != nil {
			return entity.UnitInfo{}, err
		}
		info.OrphanedBySubRel = !alive
	}
	return info, nil
}

// machineOf returns the machine that a unit is on: its own, or its principal's.
func (u *Unit) machineOf(ctx context.Context) (string, error) {
	if u.doc.Principal == "" {
		return u.doc.Machine, nil
	}
	principal, err := u.st.Unit(ctx, u.doc.Principal)
	if err != nil {
		return "", err
	}
	return principal.doc.Machine, nil
}

// addresses returns those of the machine that the unit is on.
func (u *Unit) addresses(ctx context.Context) ([]string, error) {
	id, err := u.machineOf(ctx)
	if err != nil || id == "" {
		return nil, err
	}
	m, err := u.st.Machine(ctx, id)
	if err != nil {
		return nil, err
	}
	return m.doc.Addresses, nil
}

// quoteAll is for messages that list names.
func quoteAll(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = fmt.Sprintf("%q", n)
	}
	return strings.Join(quoted, "; ")
}
