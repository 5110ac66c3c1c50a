package rollout

import (
	"maps"
	"reflect"
	"slices"

	"juju/state/internal/modeldb"
)

// Settings returns what reverting a new rollout must restore. changes come with it, to settings that are now so; before is
// the rollout that it replaces, nil for none: what that has changed is restored too.
func Settings(before *modeldb.Rollout, now, changes map[string]any) (all []modeldb.Setting) {
	if before != nil {
		for _, s := range before.Settings {
			if _, again := changes[s.Name]; !again {
				all = append(all, s)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		was := now[name]
		if before != nil {
			for _, s := range before.Settings {
				if s.Name == name && reflect.DeepEqual(was, s.Set) { // no user has changed it since
					was = s.Was
				}
			}
		}
		if !reflect.DeepEqual(was, changes[name]) {
			all = append(all, modeldb.Setting{Name: name, Was: was, Set: changes[name]})
		}
	}
	return all
}

// Restore returns the changes that restore the settings from before a rollout, and their names. Those that have been
// changed since are kept.
func Restore(r *modeldb.Rollout, now map[string]any) (changes map[string]any, restored, kept []string) {
	changes = map[string]any{}
	for _, s := range r.Settings {
		switch {
		case reflect.DeepEqual(now[s.Name], s.Was):
		case reflect.DeepEqual(now[s.Name], s.Set):
			changes[s.Name] = s.Was
			restored = append(restored, s.Name)
		default:
			kept = append(kept, s.Name)
		}
	}
	slices.Sort(restored)
	slices.Sort(kept)
	return changes, restored, kept
}
