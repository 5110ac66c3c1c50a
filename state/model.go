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
	"juju/state/watcher"
)

// Life returns how far the model has come.
func (st *State) Life(ctx context.Context) (entity.Life, error) {
	doc, err := st.model()
	return doc.Life, err
}

// Destroy sets the model Dying: nothing can be made in it any more, and all that is
// in it is destroyed, as strongly. A model that is Dying already only takes on the
// strength. The controller's own model is refused.
func (st *State) Destroy(ctx context.Context, how entity.Destruction) error {
	if st.name == ControllerModel {
		return entity.Errorf(entity.Invalid, "%q is a controller; use 'juju destroy-controller' to destroy it", st.name)
	}
	d := st.begin(how)
	return st.run(ctx, func(int) ([]txn.Op, error) {
		doc, err := st.model()
		if err != nil {
			return nil, err
		}
		set := d.raise(doc.lifeDoc)
		step, err := lifecycle.Plan(lifecycle.Model, lifecycle.ToDestroy, lifecycle.User, lifecycle.Facts{Life: doc.Life})
		if err != nil {
			return nil, err
		}
		if !step.Nothing() {
			set = append(set, d.turn(step.Move.To)...)
		}
		if len(set) == 0 {
			return nil, mongo.ErrNothing
		}
		o := newOps()
		o.update(modelC, modelC, unraised(doc.lifeDoc), bson.D{{"$set", set}})
		o.cascadeOps(cleanupModel, modelKey, d)
		return o.build()
	})
}

// cleanupModel destroys what is in a Dying model. Nothing is added any more, so it is
// done when all has been come across; a machine whose containers are not gone yet is
// left for the next pass.
func (st *State) cleanupModel(ctx context.Context, d destruction) (done bool, err error) {
	var services []serviceDoc
	if err := st.db.All(servicesC, d.goes(bson.D{}), &services); err != nil {
		return false, err
	}
	for _, doc := range services {
		if err := (&Service{st, doc}).destroy(ctx, d); err != nil {
			return false, err
		}
	}
	units, err := st.units(d.goes(bson.D{}))
	if err != nil {
		return false, err
	}
	if err := st.destroyUnits(ctx, units, d); err != nil {
		return false, err
	}
	machines, err := st.Machines(ctx)
	if err != nil {
		return false, err
	}
	done = true
	for _, m := range slices.Backward(machines) { // containers before their hosts
		err := m.move(ctx, lifecycle.ToDestroy, byUser, d)
		if errors.Is(err, entity.InUse) {
			done = false
		} else if err != nil {
			return false, err
		}
	}
	return done, nil
}

// EnsureDead sets the Dying model Dead; entity.InUse while there is something in it.
func (st *State) EnsureDead(ctx context.Context) error {
	now := st.now()
	return st.run(ctx, func(int) ([]txn.Op, error) {
		doc, err := st.model()
		if err != nil {
			return nil, err
		}
		// Once it is Dying nothing is added: what is found not to be there now never
		// will be, and need not be asserted.
		facts := lifecycle.Facts{Life: doc.Life, Holders: map[string]int{}}
		for _, collection := range []string{machinesC, servicesC} {
			if facts.Holders[collection], err = st.db.Count(collection, nil); err != nil {
				return nil, err
			}
		}
		step, err := lifecycle.Plan(lifecycle.Model, lifecycle.ToDead, lifecycle.Controller, facts)
		if err != nil {
			return nil, notEmpty(doc, facts.Holders, err)
		}
		if step.Nothing() {
			return nil, mongo.ErrNothing
		}
		o := newOps()
		o.update(modelC, modelC, unraised(doc.lifeDoc), bson.D{{"$set", destruction{now: now}.turn(step.Move.To)}})
		return o.build()
	})
}

// notEmpty says what bars the end of a model.
func notEmpty(doc modelDoc, holders map[string]int, err error) error {
	var barred *lifecycle.Barred
	if !errors.As(err, &barred) {
		return err
	}
	if barred.Ref.Name == "" {
		return entity.Errorf(entity.Invalid, "model %q is not dying", doc.Name)
	}
	var found []string
	for _, ref := range lifecycle.RefsTo(lifecycle.Model) {
		if n := holders[ref.Name]; n > 0 {
			found = append(found, fmt.Sprintf(ref.Why, n))
		}
	}
	return entity.Errorf(entity.InUse, "model not empty, found %s", strings.Join(found, ", "))
}

// WatchEnd fires when the model may have become Dying, or empty.
func (st *State) WatchEnd(ctx context.Context) (<-chan struct{}, error) {
	return watcher.Notify(ctx, st.hub, watcher.Doc(modelC, modelC), watcher.Collection(machinesC), watcher.Collection(servicesC)), nil
}

// status is what users see of the model itself.
func (a *everything) modelStatus() entity.Status {
	if a.model.Life == entity.Alive {
		return entity.Status{Status: entity.StatusAvailable}
	}
	return entity.Status{Status: entity.StatusDestroying, Since: a.model.Since,
		Message: fmt.Sprintf("%d machine(s), %d service(s) are left in it", len(a.machines), len(a.services))}.Mended()
}
