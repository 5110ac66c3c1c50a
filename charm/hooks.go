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
// begins with a hyphen follows the name of a relation or, in LaterHooks, of a store.
var OriginalHooks = []string{
	"install", "config-changed", "start", "upgrade-charm", "stop",
	"-relation-joined", "-relation-changed", "-relation-departed", "-relation-broken",
}

// A LaterHook is a hook that came after the OriginalHooks, and its place among them.
type LaterHook struct {
	Name  string // as in OriginalHooks
	Place string // a sentence: when it runs
}

// LaterHooks are the only exceptions from the order of the OriginalHooks: a charm that has none
// of them sees that order exactly, and the hooks of one that does, in its journal say, are in
// that order once these are left out. One more effect is allowed: a unit whose charm has
// -relation-created enters that relation before config-changed, so that its counterparts may see
// it before its start hook has run.
var LaterHooks = []LaterHook{
	{"-storage-attached", "Once for each storage instance, whose name it begins with the store of: before install for " +
		"those that the unit is added with, otherwise between other hooks."},
	{"-storage-detaching", "Once for each such instance that the unit loses: between other hooks, and at the unit's end " +
		"before the last hooks of its relations."},
	{"-relation-created", "Once for a relation, before any other hook of it: right after install for the relations " +
		"that are there by then, peer relations among them, otherwise when the unit enters the relation."},
	{"leader-elected", "Once each time that the unit becomes the leader of its service: right after install if it is " +
		"the leader by then, otherwise between other hooks. It does not run if the unit no longer leads."},
	{"leader-settings-changed", "In a unit that is not the leader: once right after install, and when the leader has " +
		"set something."},
	{"update-status", "Again and again, in turn with all else that there is to do, as often as the model's setting " +
		"update-status-hook-interval says."},
	{"remove", "Once, after stop: it is the last of all."},
}

// NoEvent says of a hook that HasEvent is false for what that means.
const NoEvent = "there is no such event yet: it never runs"

// HasEvent reports whether there is an event that runs the hook with this name. There is none for
// some of the names that Hooks returns.
func HasEvent(hook string) bool {
	for _, name := range OriginalHooks {
		if isHook(hook, name) {
			return true
		}
	}
	return slices.ContainsFunc(LaterHooks, func(later LaterHook) bool { return isHook(hook, later.Name) })
}

// isHook reports whether a hook's file is of the kind that the name in OriginalHooks or
// LaterHooks stands for.
func isHook(file, name string) bool {
	return file == name || name[0] == '-' && strings.HasSuffix(file, name)
}
