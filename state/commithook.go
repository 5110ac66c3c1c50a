package state

import (
	"context"
	"fmt"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
)

// CommitHook writes what a successful hook has buffered: all or nothing. What it told
// a relation that is gone by now, as by force, is for nobody and dropped.
func (u *Unit) CommitHook(ctx context.Context, changes entity.HookChanges) error {
	return u.st.change(ctx, func(o *ops) error {
		if err := u.refresh(ctx); err != nil {
			return err
		}
		if u.doc.Life == entity.Dead {
			return entity.Errorf(entity.NotAlive, "unit %q is dead", u.doc.Name)
		}
		gone := false
		for id, values := range changes.Relations {
			rel, err := u.st.RelationByID(ctx, id)
			if isNotFound(err) {
				gone = true // perhaps with the unit
				continue
			} else if err != nil {
				return err
			}
			if _, err := rel.endpoint(u.doc.Service); err != nil {
				return err
			}
			doc, err := u.st.settings(relationSettingsKey(id, u.doc.Name))
			if err != nil {
				return err
			}
			set := map[string]any{}
			for k, v := range values {
				set[k] = v
				if v == "" {
					set[k] = nil
				}
			}
			before := len(o.list)
			if err := o.changeSettings(doc, set); err != nil {
				return fmt.Errorf("cannot write settings for unit %q in relation %q: %w", u.doc.Name, rel.doc.Key, err)
			}
			if len(o.list) > before {
				// Once the relation is gone its settings are deleted outside
				// transactions, so none may write them then.
				o.assert(relationsC, rel.doc.Key, bson.D{{"id", id}})
			}
		}
		if len(changes.OpenPorts)+len(changes.ClosePorts) > 0 {
			if err := u.portsOps(ctx, o, changes.OpenPorts, changes.ClosePorts); err != nil {
				return err
			}
		}
		if len(o.list) > 0 || gone {
			// What a unit has open is closed with it, once it can open no more.
			o.assert(unitsC, u.doc.Name, notDead)
		}
		return nil
	})
}
