package state

import (
	"context"

	"juju/state/entity"
)

// CharmState returns what the unit's charm keeps in the controller. CommitHook changes it.
func (u *Unit) CharmState(ctx context.Context) (entity.CharmState, error) {
	doc, err := u.st.settings(charmStateKey(u.doc.Name))
	if err != nil && !entity.IsNotFound(err) {
		return nil, err
	}
	return doc.texts(), nil
}

// charmStateOps adds the operations that change what the charm keeps. The caller asserts that the
// unit is there.
func (u *Unit) charmStateOps(o *ops, set entity.CharmState, drop []string) error {
	if len(set)+len(drop) == 0 {
		return nil
	}
	key := charmStateKey(u.doc.Name)
	doc, err := u.st.settings(key)
	if err != nil && !entity.IsNotFound(err) {
		return err
	}
	if entity.IsNotFound(err) {
		if err := set.Check(); err != nil || len(set) == 0 {
			return err
		}
		fresh := settingsDoc{ID: key, Settings: map[string]any{}, Version: 1}
		for k, v := range set {
			fresh.Settings[escapeKey(k)] = v
		}
		o.Insert(settingsC, key, fresh)
		return nil
	}
	changes := map[string]any{}
	for _, k := range drop {
		changes[k] = nil
	}
	for k, v := range set {
		changes[k] = v
	}
	return o.changeSettings(doc, changes)
}
