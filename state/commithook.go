package state

import (
	"context"
	"fmt"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
)

// CommitHook writes the changes that a successful hook has buffered, all or none. It
// drops settings for a relation that is gone, as after a forced destruction: no unit
// would read them.
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
			if entity.IsNotFound(err) {
				gone = true // the unit may be gone too
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
			before := o.Len()
			if err := o.changeSettings(doc, set); err != nil {
				return fmt.Errorf("cannot write settings for unit %q in relation %q: %w", u.doc.Name, rel.doc.Key, err)
			}
			if o.Len() > before {
				// A removed relation's settings are deleted outside transactions, so
				// nothing may write them then.
				o.Assert(relationsC, rel.doc.Key, bson.D{{"id", id}})
			}
		}
		if len(changes.OpenPorts)+len(changes.ClosePorts) > 0 {
			if err := u.portsOps(ctx, o, changes.OpenPorts, changes.ClosePorts); err != nil {
				return err
			}
		}
		if o.Len() > 0 || gone {
			// A removed unit's ports are closed with it, so it may not open any more
			// then.
			o.Assert(unitsC, u.doc.Name, notDead)
		}
		return nil
	})
}
