package journaltest

// A Guarantee is a rule that charms can rely on. Violations refer to it by name.
type Guarantee struct{ Name, Text string }

// Guarantees lists all guarantees, in the order of doc/charms.md.
var Guarantees = []Guarantee{
	{"known-hook", "No hooks run but the original and the later ones; later hooks run only if the charm has them."},
	{"one-at-a-time", "A hook starts only after the unit's previous hook has ended."},
	{"served-in-turn", "While something is waiting for a hook or an action, nothing else gets more than one turn."},

	{"failed-waits", "After a failed hook, none runs until the user resolves the unit; the failed hook is retried automatically only if the model's automatically-retry-hooks is on."},
	{"interrupted-fails", "If the agent is killed before a hook ends, the hook has failed."},
	{"retried-first", "When the user resolves the unit with retry, the failed hook runs next."},

	{"install-first", "install runs before any other hook."},
	{"install-once", "install succeeds only once."},
	{"config-changed-after-install", "config-changed runs right after install."},
	{"start-after-config-changed", "start runs right after the first config-changed."},
	{"start-once", "start succeeds only once, and once more after each restart of the machine."},

	{"upgrade-charm-after-change", "upgrade-charm runs right after the charm directory is upgraded to another charm."},
	{"upgrade-charm-only-after-change", "upgrade-charm runs only once per upgrade of the charm directory, and never without one."},
	{"forced-upgrade-from-error", "upgrade-charm doesn't run after a forced upgrade of a unit in error."},
	{"config-changed-after-upgrade-charm", "config-changed runs right after upgrade-charm."},

	{"config-changed-for-change", "config-changed runs after the service's settings change."},
	{"config-changed-after-recovery", "config-changed runs once after the unit's agent restarts."},
	{"config-changed-for-cause", "config-changed runs once for each of these causes, and for no other."},

	{"start-before-relations", "Relation hooks run after start; only relation-created can run before."},
	{"joined-first", "joined is the first hook about a remote unit."},
	{"joined-once", "joined doesn't run again for a remote unit that has not departed."},
	{"joined-each", "joined runs for every remote unit."},
	{"changed-after-joined", "The relation's next hook after joined is changed, for the same remote unit."},
	{"changed-for-change", "changed runs when a remote unit's settings have changed."},
	{"departed-once", "departed runs only once each time a remote unit leaves."},
	{"departed-each", "departed runs for every remote unit that has left."},
	{"silent-after-departed", "After departed, no hook runs for that remote unit unless it joins again."},
	{"broken-after-departed", "broken runs after every remote unit that joined has departed."},
	{"broken-once", "broken runs only once for a relation."},
	{"broken-last", "broken is the last hook of a relation."},
	{"broken-runs", "broken runs for every relation that the unit leaves."},

	{"stop-after-broken", "stop runs after every relation is broken."},
	{"stop-last", "After stop, only remove runs."},
	{"stop-runs", "stop runs before a started unit is removed."},
	{"force-last", "No hook starts after the unit is removed by force."},

	{"attached-before-install", "install runs after all storage that the unit was added with is attached."},
	{"attached-first", "storage-attached is the first hook for a storage instance, and storage-detaching the last."},
	{"attached-once", "storage-attached succeeds only once before storage-detaching."},
	{"attached-each", "storage-attached runs for every storage instance that is attached to the unit."},
	{"detached-each", "storage-detaching runs for every storage instance that is detached from the unit, unless it is removed by force."},
	{"detached-before-departed", "When a unit is being removed, its storage is detached before departed runs for its own departure."},
	{"stop-after-detached", "stop runs after all storage is detached."},

	{"task-once", "An action runs only once, however it ends."},
	{"task-alone", "While an action runs, no hook and no other action does."},
	{"task-place", "Actions run only after start and before stop, and not during an upgrade; while a hook is in error, they run at any point."},

	{"created-first", "relation-created is the first hook of a relation."},
	{"created-once", "relation-created runs only once for a relation."},
	{"later-hooks-place", "Later hooks don't run between hooks that directly follow each other."},
	{"elected-leads", "leader-elected runs only in the leader."},
	{"elected-once", "leader-elected succeeds only once each time the unit becomes the leader."},
	{"elected-each", "leader-elected runs each time the unit becomes the leader."},
	{"follower-told", "leader-settings-changed runs only in units that are not the leader."},
	{"led-once", "leader-settings-changed succeeds only once for each change of the leader's settings."},
	{"led-each", "leader-settings-changed runs when the leader's settings have changed."},
	{"remove-last", "remove runs only once, after stop."},
	{"remove-runs", "remove runs before a stopped unit is removed."},

	{"writes-at-the-end", "Settings become visible only once the hook that set them has succeeded."},
	{"discarded-writes", "Settings from a failed hook never become visible."},
	{"newest-last", "A unit's visible settings never revert to an older version."},
	{"repeatable-reads", "Repeated reads within one hook return the same result."},
}
