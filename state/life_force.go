package state

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/lifecycle"
	"juju/state/mongo"
)

// CloudTimeout is how long the cleaner waits for the cloud to stop the instance of a Dead machine, or to destroy or
// release the filesystem of Dead storage, that was destroyed with force. It does not wait if that has failed.
const CloudTimeout = time.Minute

// cleanupForce removes an entity whose deadline has passed. It is not done while the cloud has an instance to stop;
// again is when to check next.
func (st *State) cleanupForce(ctx context.Context, key string) (done bool, again time.Duration, err error) {
	e, err := st.findKey(ctx, key)
	if entity.IsNotFound(err) {
		return true, 0, nil
	} else if err != nil {
		return false, 0, err
	}
	if st.forced().raise(*e.life()) != nil {
		return true, 0, nil // a new entity has its name
	}
	return st.removeByForce(ctx, e)
}

// removeByForce takes the steps that agents have not taken to remove an entity, in the same order: its sources first, in
// the order of the references table.
func (st *State) removeByForce(ctx context.Context, e living) (done bool, again time.Duration, err error) {
	if !e.life().Forced() {
		err := st.move(ctx, e, lifecycle.ToDestroy, lifecycle.Cleaner, st.forced())
		if err != nil {
			return false, 0, err
		}
	}
	done = true
	for _, ref := range lifecycle.RefsTo(e.kind()) {
		if !ref.Does(lifecycle.Cleaner) {
			continue
		}
		scopes, err := st.db.ScopesOf(ctx, ref, e.name())
		if err != nil {
			return false, 0, err
		}
		sources, err := st.sources(ctx, ref, e.name())
		if err != nil {
			return false, 0, err
		}
		err = errors.Join(
			forEach(ctx, scopes, func(s modeldb.Scope) error { return st.leaveByForce(ctx, s) }),
			forEach(ctx, sources, func(s living) error {
				gone, later, err := st.removeByForce(ctx, s)
				if done = done && gone; later > 0 && (again == 0 || later < again) {
					again = later
				}
				return err
			}))
		if err != nil {
			return false, 0, err
		}
	}
	if !done {
		return false, again, nil
	}
	if lifecycle.May(e.kind(), lifecycle.ToDead, lifecycle.Cleaner, entity.Dying) {
		if err := st.move(ctx, e, lifecycle.ToDead, lifecycle.Cleaner, st.forced()); err != nil {
			return false, 0, err
		}
	}
	if out, ok := e.(cloudBacked); ok {
		return st.abandonResource(ctx, out)
	}
	if lifecycle.May(e.kind(), lifecycle.ToRemove, lifecycle.Cleaner, entity.Dead) {
		err = st.move(ctx, e, lifecycle.ToRemove, lifecycle.Cleaner, st.forced())
	} // else it is removed with the last reference to it
	return err == nil, 0, err
}

func (st *State) leaveByForce(ctx context.Context, s modeldb.Scope) error {
	if s.Remote != "" {
		return st.leaveRemote(ctx, s, lifecycle.Cleaner)
	}
	u, err := st.Unit(ctx, s.Unit)
	if entity.IsNotFound(err) {
		return nil // a unit leaves its scopes before it is removed
	} else if err != nil {
		return err
	}
	return u.leaveScope(ctx, s.Relation, lifecycle.Cleaner)
}

// A cloudBacked entity has a resource in the cloud.
type cloudBacked interface {
	living

	resource(ctx context.Context) (cloudResource, error)
}

// A cloudResource is an entity's instance or filesystem in the cloud.
type cloudResource struct {
	name string           // "" if there is nothing
	left modeldb.Leftover // records it
	said string           // the key of the status that says why it still exists
	done string           // what the cloud is to have done to it: "stopped"
}

func (m *Machine) resource(_ context.Context) (cloudResource, error) {
	id := m.doc.InstanceID
	return cloudResource{id, modeldb.Leftover{Instance: id}, modeldb.InstanceKey(m.doc.ID), "stopped"}, nil
}

// resource returns the filesystem even if it is to be released: until the cloud has released it, it is destroyed with
// the controller's storage.
func (s *Storage) resource(ctx context.Context) (cloudResource, error) {
	model, err := s.st.db.Model(ctx)
	id, done := s.doc.Filesystem, "destroyed"
	left := modeldb.Leftover{Filesystem: id, Release: s.doc.IsReleased(model)}
	if left.Release {
		done = "released"
	}
	return cloudResource{id, left, modeldb.StorageKey(s.doc.ID), done}, err
}

// abandonResource removes a Dead entity. If the cloud has not removed the entity's resource, it waits up to
// CloudTimeout, and then removes the entity and records a leftover.
func (st *State) abandonResource(ctx context.Context, e cloudBacked) (done bool, again time.Duration, err error) {
	if err := e.refresh(ctx); entity.IsNotFound(err) {
		return true, 0, nil
	} else if err != nil {
		return false, 0, err
	}
	out, err := e.resource(ctx)
	if err != nil {
		return false, 0, err
	}
	if out.name == "" {
		err := st.move(ctx, e, lifecycle.ToRemove, lifecycle.Cleaner, st.forced())
		return err == nil, 0, err
	}
	said, err := st.db.Status(ctx, out.said)
	if err != nil && !entity.IsNotFound(err) {
		return false, 0, err
	}
	late := e.life().Since.Add(CloudTimeout).Sub(st.db.Now())
	// If late is greater than CloudTimeout, the clock was set back, and the elapsed time is unknown.
	if said.Status != entity.StatusError && late > 0 && late <= CloudTimeout {
		return false, late, nil
	}
	left := out.left
	left.ID, left.Of, left.At = mongo.NewID(), keyOf(e), st.db.Now()
	left.Why = cmp.Or(said.Message, fmt.Sprintf("the cloud has not %s it within %v", out.done, CloudTimeout))
	left.How, _ = said.Data["hint"].(string)
	if left.Release {
		left.How = strings.Join(strings.Fields(left.How+" Until it is released, which is tried again, it is destroyed with the "+
			"controller's storage: no juju destroy-environment --destroy-storage."), " ")
	}
	logger.Warningf("%s %s is removed, but %s may be left in the cloud: %s", e.tag().Kind, e.name(), out.name, left.Why)
	err = st.move(ctx, e, lifecycle.ToRemove, lifecycle.Cleaner, st.forced(), func(o *ops) (bool, error) {
		o.Insert(modeldb.LeftoversC, left.ID, left)
		return true, nil
	})
	return err == nil, 0, err
}

// Leftovers returns what forced destruction has left in the cloud.
func (p Provisioning) Leftovers(ctx context.Context) ([]entity.Leftover, error) {
	model, err := p.st.db.Model(ctx)
	if err != nil {
		return nil, err
	}
	docs, err := p.st.db.Leftovers(ctx, nil)
	if err != nil {
		return nil, err
	}
	return mapped(docs, func(d modeldb.Leftover) entity.Leftover { return d.Leftover(model) }), nil
}

// DropLeftovers removes the leftovers of an instance, which no longer exists.
func (p Provisioning) DropLeftovers(ctx context.Context, instance string) error {
	return p.st.dropLeftovers(ctx, bson.D{{"instance", instance}})
}

func (st *State) dropLeftovers(ctx context.Context, query bson.D) error {
	return st.change(ctx, func(o *ops) error {
		docs, err := st.db.Leftovers(ctx, query)
		if err != nil {
			return err
		}
		if len(docs) == 0 {
			return mongo.ErrNothing
		}
		for _, d := range docs {
			o.Remove(modeldb.LeftoversC, d.ID, nil)
		}
		return nil
	})
}
