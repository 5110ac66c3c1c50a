package state

import (
	"context"
	"fmt"
	"strings"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/lifecycle"
)

type unitDoc struct {
	lifeDoc   `bson:",inline"`
	birth     `bson:",inline"`
	Name      string          `bson:"_id"`
	Service   string          `bson:"service"`
	Series    string          `bson:"series"`
	Machine   string          `bson:"machine,omitempty"`   // "" unless it is a principal and assigned
	Principal string          `bson:"principal,omitempty"` // "" unless it is a subordinate
	CharmURL  string          `bson:"charm,omitempty"`     // the charm that it runs; the service has the one it should run
	Resolved  entity.Resolved `bson:"resolved,omitempty"`
	// Started is set with the first status that the unit's agent reports and never
	// unset: from then on only the agent can end the unit cleanly.
	Started bool `bson:"started"`
	// Counted is how often the principal has entered a container relation while this
	// subordinate was there for it.
	Counted int `bson:"counted,omitempty"`
	// Tasked is set with the unit's first task: when the unit is removed, its tasks end.
	Tasked bool `bson:"tasked,omitempty"`
	// StorageToken is that of the last hook that has added storage.
	StorageToken string `bson:"storagetoken,omitempty"`
}

// kind returns the unit's kind in the lifecycle tables.
func (d unitDoc) kind() lifecycle.Kind {
	if d.Principal != "" {
		return lifecycle.Subordinate
	}
	return lifecycle.Principal
}

// A Unit is a snapshot of a unit.
type Unit struct {
	st  *State
	doc unitDoc
}

// Unit reads a unit; the error is entity.NotFound if there is none.
func (st *State) Unit(ctx context.Context, name string) (*Unit, error) {
	u := &Unit{st: st}
	if err := st.db.Get(unitsC, name, &u.doc, fmt.Sprintf("unit %q", name)); err != nil {
		return nil, err
	}
	return u, nil
}

// units reads the units that match, in natural order.
func (st *State) units(query bson.D) ([]*Unit, error) {
	return readAll(st, unitsC, query, func(d unitDoc) string { return d.Name },
		func(d unitDoc) *Unit { return &Unit{st, d} })
}

// Name returns the unit's name.
func (u *Unit) Name() string { return u.doc.Name }

// Service returns the name of the unit's service.
func (u *Unit) Service() string { return u.doc.Service }

// Life returns the unit's life when it was read.
func (u *Unit) Life() entity.Life { return u.doc.Life }

// Principal returns the name of a subordinate's principal, and "" for a principal.
func (u *Unit) Principal() string { return u.doc.Principal }

// Machine returns the name of the machine that the unit is assigned to, or "".
func (u *Unit) Machine() string { return u.doc.Machine }

// Deployer returns the tag of the machine or principal that deploys and removes the unit,
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

// addUnitOps adds a new unit to a service; the caller asserts that the service is Alive.
func (st *State) addUnitOps(o *ops, doc unitDoc, constraints string) {
	key := unitKey(doc.Name)
	doc.Born = doc.Since
	o.Insert(unitsC, doc.Name, doc)
	o.bear(&Unit{st, doc})
	o.keepConstraints(key, constraints)
	if parent := doc.deployer(); !parent.IsZero() {
		o.Insert(deploymentsC, deploymentID(parent, doc.Name), deploymentDoc{Parent: parent.String(), Unit: doc.Name})
	}
}

// A deploymentDoc assigns a unit to its deployer, a machine or a principal.
type deploymentDoc struct {
	Parent string `bson:"parent"` // a tag
	Unit   string `bson:"unit"`
}

// machineOf returns the name of the machine that the unit is on: its own or its
// principal's.
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

// machine reads the machine that the unit is on; an empty one if it is on none yet.
func (u *Unit) machine(ctx context.Context) (machineDoc, error) {
	id, err := u.machineOf(ctx)
	if err != nil || id == "" {
		return machineDoc{}, err
	}
	m, err := u.st.Machine(ctx, id)
	if err != nil {
		return machineDoc{}, err
	}
	return m.doc, nil
}

// quoteAll quotes names for a message.
func quoteAll(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = fmt.Sprintf("%q", n)
	}
	return strings.Join(quoted, "; ")
}
