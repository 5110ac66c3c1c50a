package state

import (
	"context"
	"fmt"

	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/entity"
	"juju/state/lifecycle"
	"juju/state/mongo"
)

// Destroy is what the user does to a relation: it becomes Dying while units are
// in its scope, and is removed otherwise. One that is Dying already only takes on
// the strength.
func (r *Relation) Destroy(ctx context.Context, how entity.Destruction) error {
	if r.isPeer() {
		return entity.WithHint(entity.Errorf(entity.Invalid, "cannot destroy relation %q: is a peer relation", r.doc.Key),
			"It goes with its service: juju destroy-service %s", r.doc.Endpoints[0].Service)
	}
	return r.destroy(ctx, r.st.begin(how))
}

func (r *Relation) destroy(ctx context.Context, d destruction) error {
	err := r.st.run(ctx, func(int) ([]txn.Op, error) {
		now, err := r.st.relation(r.doc.Key)
		if isNotFound(err) || err == nil && now.doc.ID != r.doc.ID {
			return nil, mongo.ErrNothing
		} else if err != nil {
			return nil, err
		}
		r.doc = now.doc
		o := newOps()
		if _, err := r.destroyOps(ctx, o, "", d); err != nil {
			return nil, err
		}
		return o.build()
	})
	if err != nil {
		return fmt.Errorf("cannot destroy relation %q: %w", r.doc.Key, err)
	}
	return nil
}

// destroyOps adds the destruction of the relation and reports whether that
// removes it. The service named by except counts its relations itself.
func (r *Relation) destroyOps(ctx context.Context, o *ops, except string, d destruction) (gone bool, err error) {
	key := relationKey(r.doc.ID)
	holders, err := r.st.holders(key)
	if err != nil {
		return false, err
	}
	step, err := lifecycle.Plan(lifecycle.Relation, lifecycle.ToDestroy, lifecycle.User,
		lifecycle.Facts{Life: r.doc.Life, Holders: holders})
	if err != nil {
		return false, err
	}
	if step.Nothing() {
		// It goes its own way; but were it removed meanwhile, except would count wrong.
		if except != "" && d.raise(r.doc.lifeDoc) == nil {
			o.assertLife(relationsC, r.doc.Key, r.doc.Life)
		}
		o.raiseOps(relationsC, r.doc.Key, relationKey(r.doc.ID), r.doc.lifeDoc, d, func() {
			for _, e := range r.doc.Endpoints { // they are what the agents of units watch
				o.update(endpointsC, endpointID(e.Service, r.doc.Key), exists, bson.D{{"$set", bson.D{{"strength", d.strength}}}})
			}
			r.cascadeOps(o, d)
		})
		return false, nil
	}
	o.expectStep(key, step, nil)
	gone = step.Move.To == entity.Gone
	if gone {
		if err := r.removeOps(ctx, o, except); err != nil {
			return false, err
		}
	} else {
		o.update(relationsC, r.doc.Key, isAlive, bson.D{{"$set", append(d.turn(entity.Dying), d.raise(r.doc.lifeDoc)...)}})
		for _, e := range r.doc.Endpoints {
			o.update(endpointsC, endpointID(e.Service, r.doc.Key), exists, bson.D{{"$set", bson.D{{"life", entity.Dying}, {"strength", d.strength}}}})
		}
		o.dismantleOps(key, r.doc.lifeDoc, d)
	}
	r.cascadeOps(o, d)
	return gone, nil
}

// cascadeOps has the subordinates destroyed that a relation of container scope
// leaves without another. Their agents do that; the cleanup is for those away. It
// may be the last relation of the two services though nobody was in it.
func (r *Relation) cascadeOps(o *ops, d destruction) {
	if r.doc.isContainer() {
		o.cascadeOps(cleanupOrphans, r.doc.Key, d)
	}
}

// removeOps takes the relation out of state. Its settings stay for a cleanup:
// there can be any number of them, and nothing refers to them any more.
func (r *Relation) removeOps(ctx context.Context, o *ops, except string) error {
	o.remove(relationsC, r.doc.Key, append(unraised(r.doc.lifeDoc), bson.DocElem{Name: "id", Value: r.doc.ID}))
	o.undismantleOps(relationKey(r.doc.ID), r.doc.lifeDoc)
	o.dropCounts(relationKey(r.doc.ID))
	if err := r.st.dropAnnotationsOps(o, relationKey(r.doc.ID)); err != nil {
		return err
	}
	o.cleanup(cleanupSettings, relationKey(r.doc.ID))
	for _, e := range r.doc.Endpoints {
		o.remove(endpointsC, endpointID(e.Service, r.doc.Key), exists)
		if e.Service == except {
			continue
		}
		if err := r.st.dropServiceRefOps(ctx, o, e.Service, "relations"); err != nil {
			return err
		}
	}
	return nil
}
