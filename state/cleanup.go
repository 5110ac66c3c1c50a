package state

import (
	"context"
	"fmt"
	"strconv"

	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/entity"
	"juju/state/lifecycle"
	"juju/state/watcher"
)

// A cleanup is something still to do that its cause could not do itself, because
// it has no bound or because it is an agent's duty and the agent may be away.
// Each can be done again at any time, and its document goes when it is done.
type cleanupDoc struct {
	ID   string `bson:"_id"`
	Kind string `bson:"kind"`
	Arg  string `bson:"arg"`
}

// The kinds of cleanups.
const (
	cleanupUnits        = "units"        // of a Dying service: set them Dying
	cleanupRelations    = "relations"    // of a Dying service: destroy them
	cleanupSubordinates = "subordinates" // of a Dying principal: set them Dying
	cleanupOrphans      = "orphans"      // subordinates of a Dying container relation: set them Dying
	cleanupSettings     = "settings"     // of a removed relation: delete them, outside transactions
)

// cleanupID is for those of which there is never more than one.
func cleanupID(kind string, n int) string { return kind + "-" + strconv.Itoa(n) }

func (o *ops) cleanup(id, kind, arg string) {
	o.insert(cleanupsC, id, cleanupDoc{id, kind, arg})
}

// WatchCleanups fires when there may be something to clean up.
func (st *State) WatchCleanups(ctx context.Context) (<-chan struct{}, error) {
	return watcher.Notify(ctx, st.hub, watcher.Collection(cleanupsC)), nil
}

// Cleanup does what cleanup documents ask for and removes those that are done.
// One that fails is logged and left for the next pass, and the others go on. It
// returns how many are left.
func (st *State) Cleanup(ctx context.Context) (left int, err error) {
	var docs []cleanupDoc
	if err := st.db.All(cleanupsC, nil, &docs); err != nil {
		return 0, err
	}
	for _, doc := range docs {
		if err := ctx.Err(); err != nil {
			return len(docs), err
		}
		done, err := st.cleanup(ctx, doc)
		if err == nil && done {
			err = st.run(ctx, func(int) ([]txn.Op, error) {
				return []txn.Op{{C: cleanupsC, Id: doc.ID, Remove: true}}, nil
			})
		}
		if err != nil {
			logger.Errorf("cleanup failed: %s %q: %v", doc.Kind, doc.Arg, err)
		}
		if err != nil || !done {
			left++
		}
	}
	return left, nil
}

func (st *State) cleanup(ctx context.Context, doc cleanupDoc) (done bool, err error) {
	switch doc.Kind {
	case cleanupUnits:
		return st.cleanupUnits(ctx, doc.Arg)
	case cleanupRelations:
		return true, st.cleanupRelations(ctx, doc.Arg)
	case cleanupSubordinates:
		u, err := st.Unit(ctx, doc.Arg)
		if isNotFound(err) {
			return true, nil
		} else if err != nil {
			return false, err
		}
		return true, u.destroySubordinates(ctx, lifecycle.Cleaner)
	case cleanupOrphans:
		return true, st.cleanupOrphans(ctx, doc.Arg)
	case cleanupSettings:
		return st.deleteRelationSettings(ctx, doc.Arg)
	}
	return false, fmt.Errorf("unknown cleanup kind %q", doc.Kind)
}

// cleanupUnits sets the units of a Dying service Dying. If the service is Alive,
// it is another of the same name. The units are read first: so they can't be those
// of another service that took the name of the Dying one meanwhile.
func (st *State) cleanupUnits(ctx context.Context, service string) (done bool, err error) {
	units, err := st.units(bson.D{{"service", service}, {"life", entity.Alive}})
	if err != nil {
		return false, err
	}
	svc, err := st.Service(ctx, service)
	if isNotFound(err) {
		return true, nil
	} else if err != nil {
		return false, err
	}
	if svc.doc.Life == entity.Alive {
		return true, nil
	}
	for _, u := range units {
		if err := u.move(ctx, lifecycle.ToDestroy, lifecycle.Cleaner); err != nil {
			return false, err
		}
	}
	return true, nil
}

// cleanupRelations destroys the relations of a Dying service, read first as by
// cleanupUnits.
func (st *State) cleanupRelations(ctx context.Context, service string) error {
	relations, err := st.relationsOf(service)
	if err != nil {
		return err
	}
	svc, err := st.Service(ctx, service)
	if isNotFound(err) {
		return nil
	} else if err != nil {
		return err
	}
	if svc.doc.Life == entity.Alive {
		return nil
	}
	for _, r := range relations {
		if err := r.destroy(ctx); err != nil {
			return err
		}
	}
	return nil
}

// cleanupOrphans sets Dying the subordinates that a relation of container scope
// has left without another to their principals.
func (st *State) cleanupOrphans(ctx context.Context, key string) error {
	names := endpointServices(key)
	for _, service := range names {
		svc, err := st.Service(ctx, service)
		if isNotFound(err) {
			continue
		} else if err != nil {
			return err
		}
		if !svc.doc.Subordinate {
			continue
		}
		for _, other := range names {
			if other == service {
				continue
			}
			// First the units: one that a new relation brings is no orphan.
			units, err := st.units(bson.D{{"service", service}, {"life", entity.Alive}})
			if err != nil {
				return err
			}
			if alive, err := st.hasContainerRelation(service, other); err != nil {
				return err
			} else if alive {
				continue
			}
			for _, u := range units {
				if entity.UnitService(u.doc.Principal) != other {
					continue
				}
				if err := u.move(ctx, lifecycle.ToDestroy, lifecycle.Cleaner); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// deleteRelationSettings deletes what units told a relation that is gone.
func (st *State) deleteRelationSettings(ctx context.Context, key string) (done bool, err error) {
	id, err := strconv.Atoi(key[len("r#"):])
	if err != nil {
		return false, err
	}
	left, err := st.db.DeleteUntouched(ctx, settingsC, bson.D{{"relation", id}})
	return left == 0, err
}
