package state

import (
	"context"
	"fmt"
	"strings"

	"gopkg.in/mgo.v2/bson"

	"juju/state/constraints"
	"juju/state/entity"
	"juju/state/internal/modeldb"
)

// A Unit is a snapshot of a unit.
type Unit struct {
	st  *State
	doc modeldb.Unit
}

// Unit reads a unit; the error is entity.NotFound if there is none.
func (st *State) Unit(ctx context.Context, name string) (*Unit, error) {
	doc, err := st.db.Unit(ctx, name)
	if err != nil {
		return nil, err
	}
	return &Unit{st, doc}, nil
}

// units reads the units that match, in natural order.
func (st *State) units(ctx context.Context, query bson.D) ([]*Unit, error) {
	docs, err := st.db.Units(ctx, query)
	return mapped(docs, func(d modeldb.Unit) *Unit { return &Unit{st, d} }), err
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
func (u *Unit) Deployer() entity.Tag { return u.doc.Deployer() }

func (u *Unit) refresh(ctx context.Context) error {
	now, err := u.st.Unit(ctx, u.doc.Name)
	if err == nil {
		u.doc = now.doc
	}
	return err
}

// addUnitOps adds a new unit to a service; the caller asserts that the service is Alive.
func (st *State) addUnitOps(o *ops, doc modeldb.Unit, c constraints.Value) {
	key := modeldb.UnitKey(doc.Name)
	doc.Born = doc.Since
	o.Insert(modeldb.UnitsC, doc.Name, doc)
	o.addCounts(&Unit{st, doc})
	o.KeepConstraints(key, c)
	if parent := doc.Deployer(); !parent.IsZero() {
		o.Insert(modeldb.DeploymentsC, modeldb.DeploymentID(parent, doc.Name), modeldb.Deployment{Parent: parent.String(), Unit: doc.Name})
	}
}

// machine reads the unit's machine; an empty one if it has none yet.
func (u *Unit) machine(ctx context.Context) (modeldb.Machine, error) {
	id, err := u.st.db.MachineOf(ctx, u.doc)
	if err != nil || id == "" {
		return modeldb.Machine{}, err
	}
	m, err := u.st.Machine(ctx, id)
	if err != nil {
		return modeldb.Machine{}, err
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
