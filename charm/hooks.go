package charm

import "slices"

// UnitHooks returns the names of the hooks that every charm can have.
func UnitHooks() []string {
	return []string{
		"install", "start", "config-changed", "upgrade-charm", "stop", "remove",
		"leader-elected", "leader-deposed", "leader-settings-changed",
		"update-status", "collect-metrics", "meter-status-changed",
		"pre-series-upgrade", "post-series-upgrade",
		"secret-changed", "secret-rotate", "secret-expired", "secret-remove",
	}
}

// Hooks returns the names of all hooks that a charm with this metadata can have, sorted: the
// UnitHooks, and the hooks of its relations and stores.
func (m *Meta) Hooks() []string {
	names := UnitHooks()
	for r := range m.Relations() {
		for _, event := range []string{"created", "joined", "changed", "departed", "broken"} {
			names = append(names, r+"-relation-"+event)
		}
	}
	for s := range m.Storage {
		names = append(names, s+"-storage-attached", s+"-storage-detaching")
	}
	slices.Sort(names)
	return names
}
