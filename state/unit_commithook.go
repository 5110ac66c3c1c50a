package state

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/leadership"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
	"juju/state/internal/ports"
	"juju/state/internal/secrets"
	"juju/state/internal/storage"
)

// CommitHook writes the buffered changes of a successful hook atomically. It drops settings for a removed relation, as
// after a forced destruction, since no unit would read them. For a relation that never existed the error is
// entity.NotFound.
func (u *Unit) CommitHook(ctx context.Context, changes entity.HookChanges) error {
	numbers, born := &storage.Numbers{}, u.st.born()
	var plan *secrets.Plan
	if changes.Secrets != nil {
		plan = u.st.secrets().NewPlan()
	}
	return u.st.change(ctx, func(o *ops) error {
		if err := u.refresh(ctx); err != nil {
			return err
		}
		if u.doc.Life == entity.Dead {
			return entity.Errorf(entity.NotAlive, "unit %q is dead", u.doc.Name)
		}
		gone := plan != nil // changes to secrets that are gone are none, and the unit may be gone with them
		write := func(by string, settings map[int]map[string]string) error {
			for _, id := range slices.Sorted(maps.Keys(settings)) {
				if there, err := u.writeSettings(ctx, o, id, by, settings[id]); err != nil {
					return err
				} else if !there {
					gone = true // the unit may have been removed too
				}
			}
			return nil
		}
		if err := write(u.doc.Name, changes.Relations); err != nil {
			return err
		}
		if len(changes.Applications) > 0 {
			if err := leadership.Assert(ctx, u.st.db, o.Ops, u.doc, changes.Epoch); err != nil {
				return err
			}
		}
		if err := write(u.doc.Service, changes.Applications); err != nil {
			return err
		}
		if len(changes.OpenPorts)+len(changes.EndpointPorts)+len(changes.ClosePorts) > 0 {
			if err := ports.Change(ctx, u.st.db, o.Ops, u.doc, changes); err != nil {
				return err
			}
		}
		if err := u.charmStateOps(ctx, o, changes.CharmState, changes.DropState); err != nil {
			return err
		}
		if err := u.payloadOps(ctx, o, changes.Payloads, changes.DropPayloads); err != nil {
			return err
		}
		if plan != nil {
			if err := u.st.secrets().Commit(ctx, plan, o.Ops, u.doc, *changes.Secrets); err != nil {
				return err
			}
		}
		if len(changes.Storage) > 0 && u.doc.StorageToken != changes.StorageToken {
			g := storage.Grant{DB: u.st.db, Used: o.pools, Numbers: numbers, Born: born, Unit: u.doc}
			if err := g.Read(ctx, o.Ops); err != nil {
				return fmt.Errorf("cannot add storage: %w", err)
			}
			for _, store := range slices.Sorted(maps.Keys(changes.Storage)) {
				c := entity.StorageConstraints{Count: changes.Storage[store]}
				if _, err := g.More(ctx, o.Ops, store, c); err != nil {
					return fmt.Errorf("adding %q storage to unit %s: %w", store, u.doc.Name, err)
				}
			}
			o.Update(modeldb.UnitsC, u.doc.Name, modeltxn.Exists, bson.D{{"$set", bson.D{{"storagetoken", changes.StorageToken}}}})
		}
		if o.Len() > 0 || gone {
			// A removed unit's documents, including its open ports, are removed with it, so none may be added then.
			o.Assert(modeldb.UnitsC, u.doc.Name, modeltxn.NotDead)
		}
		return nil
	})
}

// writeSettings adds the operations that change the settings of the unit or its service in a relation. It adds nothing
// if the relation does not exist.
func (u *Unit) writeSettings(ctx context.Context, o *ops, relation int, by string,
	values map[string]string) (there bool, err error) {
	rel, err := u.st.RelationByID(ctx, relation)
	if entity.IsNotFound(err) {
		if had, unread := u.st.hadRelation(ctx, relation); !had {
			return false, cmp.Or(unread, err)
		}
		return false, nil
	} else if err != nil {
		return false, err
	}
	if _, err := rel.doc.Endpoint(u.doc.Service); err != nil {
		return false, err
	}
	key := modeldb.RelationSettingsKey(relation, by)
	if by == u.doc.Name { // written when the unit enters the scope, and kept
		if _, err := u.st.db.Settings(ctx, key); err != nil {
			return false, err
		}
	}
	changed, err := u.st.db.PutSettings(ctx, o.Ops, modeldb.Settings{ID: key, Relation: &relation}, modeltxn.EmptyDeletes(values))
	if err != nil {
		return false, fmt.Errorf("cannot write settings for unit %q in relation %q: %w", u.doc.Name, rel.doc.Key, err)
	}
	if changed {
		// A removed relation's settings are deleted outside transactions, so nothing may write them then.
		o.Assert(modeldb.RelationsC, rel.doc.Key, bson.D{{"id", relation}})
	}
	return true, nil
}

// CharmState returns the charm state that the controller stores for the unit. CommitHook changes it.
func (u *Unit) CharmState(ctx context.Context) (entity.CharmState, error) {
	doc, err := u.st.db.Settings(ctx, modeldb.CharmStateKey(u.doc.Name))
	if err != nil && !entity.IsNotFound(err) {
		return nil, err
	}
	return doc.Texts(), nil
}

// charmStateOps adds the operations that change the charm state. The caller asserts that the unit exists.
func (u *Unit) charmStateOps(ctx context.Context, o *ops, set entity.CharmState, drop []string) error {
	if len(set)+len(drop) == 0 {
		return nil
	}
	changes := map[string]any{}
	for _, k := range drop {
		changes[k] = nil
	}
	for k, v := range set {
		changes[k] = v
	}
	_, err := u.st.db.PutSettings(ctx, o.Ops, modeldb.Settings{ID: modeldb.CharmStateKey(u.doc.Name)}, changes)
	return err
}
