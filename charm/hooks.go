package charm

import (
	"slices"
	"strings"
)

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

// OriginalHooks are the hooks whose order charms have relied on from the beginning. A name that
// begins with a hyphen follows the name of a relation or, in LaterHooks, of storage.
var OriginalHooks = []string{
	"install", "config-changed", "start", "upgrade-charm", "stop",
	"-relation-joined", "-relation-changed", "-relation-departed", "-relation-broken",
}

// A LaterHook is a hook that was added after the OriginalHooks, and its place among them.
type LaterHook struct {
	Name  string // as in OriginalHooks
	Place string // a sentence: when it runs
}

// LaterHooks are the only exceptions to the order of the OriginalHooks: a charm without them sees
// exactly that order, and so does a charm that has them once they are left out. One other effect
// is allowed: a unit whose charm has -relation-created enters that relation before config-changed,
// so its counterparts may see it before its start hook has run.
var LaterHooks = []LaterHook{
	{"-storage-attached", "Once for each instance of that storage: before install for those that the unit is added " +
		"with, otherwise between other hooks."},
	{"-storage-detaching", "Once for each instance that the unit loses: between other hooks, and when the unit is " +
		"being removed before the last hooks of its relations."},
	{"-relation-created", "Once for each relation, before any other hook of it: right after install for relations that " +
		"exist by then, including peer relations, otherwise when the unit enters the relation."},
	{"leader-elected", "Each time the unit becomes the leader of its service: right after install if it is the " +
		"leader by then, otherwise between other hooks. It does not run if the unit is no longer the leader."},
	{"leader-settings-changed", "In units that are not the leader: once right after install, and when the leader has " +
		"changed its settings."},
	{"update-status", "Periodically, in turn with other hooks, at the interval set by the model's " +
		"update-status-hook-interval."},
	{"pre-series-upgrade", "When a user has run juju upgrade-machine MACHINE prepare, before any other hook. Until the upgrade " +
		"is completed, no other hook runs."},
	{"post-series-upgrade", "When the user has upgraded the machine's operating system and run juju upgrade-machine MACHINE " +
		"complete, before any other hook."},
	{"secret-changed", "When a secret that the unit has read has a newer revision; once for several."},
	{"secret-rotate", "In the owner of a secret, the service's leader or the unit, when it is time to rotate it."},
	{"secret-expired", "In the owner of a secret when the time of a revision is over, and again until the charm removes the " +
		"revision or moves the time."},
	{"secret-remove", "In the owner of a secret, once for each old revision that no unit reads any more."},
	{"remove", "Once, after stop: it is the last hook."},
}

// NoEvent explains why a hook for which HasEvent is false never runs.
const NoEvent = "there is no such event yet: it never runs"

// HasEvent reports whether any event runs the hook with this name. For some of the names that
// Hooks returns, none does.
func HasEvent(hook string) bool {
	for _, name := range OriginalHooks {
		if isHook(hook, name) {
			return true
		}
	}
	return slices.ContainsFunc(LaterHooks, func(later LaterHook) bool { return isHook(hook, later.Name) })
}

// isHook reports whether a hook's file matches a name in OriginalHooks or LaterHooks.
func isHook(file, name string) bool {
	return file == name || name[0] == '-' && strings.HasSuffix(file, name)
}
