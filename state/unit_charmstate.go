package state

import (
	"context"

	"juju/state/entity"
	"juju/state/internal/modeldb"
)

// CharmState returns what the unit's charm keeps in the controller. CommitHook changes it.
func (u *Unit) CharmState(ctx context.Context) (entity.CharmState, error) {
	doc, err := u.st.db.Settings(modeldb.CharmStateKey(u.doc.Name))
	if err != nil && !entity.IsNotFound(err) {
		return nil, err
	}
	return doc.Texts(), nil
}

// charmStateOps adds the operations that change what the charm keeps. The caller asserts that the
// unit is there.
func (u *Unit) charmStateOps(o *ops, set entity.CharmState, drop []string) error {
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
	_, err := u.st.db.PutSettings(o.Ops, modeldb.Settings{ID: modeldb.CharmStateKey(u.doc.Name)}, changes)
	return err
}
