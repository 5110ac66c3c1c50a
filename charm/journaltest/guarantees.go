package journaltest

// A Guarantee is what charms are promised. A Violation has its name.
type Guarantee struct{ Name, Text string }

// Guarantees are all, in the order in which the guide for authors of charms lists them.
var Guarantees = []Guarantee{
	{"known-hook", "Only original hooks and later hooks run, the latter only if the charm has them."},
	{"one-at-a-time", "A hook starts only after the unit's previous hook has ended."},
	{"served-in-turn", "Whatever is waiting for a hook or an action is served before anything else is served twice."},

	{"failed-waits", "After a failed hook, none runs until the user resolves the unit; the failed hook is retried automatically only if the model says so."},
	{"interrupted-fails", "A hook whose agent is killed before the hook ends has failed."},
	{"retried-first", "When the user resolves the unit with retry, the failed hook runs next."},

	{"install-first", "install runs before any other hook."},
	{"install-once", "install succeeds only once."},
	{"config-changed-after-install", "config-changed runs right after install."},
	{"start-after-config-changed", "start runs right after the first config-changed."},
	{"start-once", "start succeeds only once, and again after each restart of the machine."},

	{"upgrade-charm-after-change", "upgrade-charm runs right after another charm has been deployed into the directory."},
	{"upgrade-charm-only-after-change", "upgrade-charm runs once per change of the directory, and never without one."},
	{"forced-upgrade-from-error", "upgrade-charm doesn't run after a forced upgrade out of an error."},
	{"config-changed-after-upgrade-charm", "config-changed runs right after upgrade-charm."},

	{"config-changed-for-change", "config-changed runs after a change of the service's settings."},
	{"config-changed-after-recovery", "config-changed runs once after a restart of the unit's agent."},
	{"config-changed-for-cause", "config-changed runs once for each of these causes, and not otherwise."},

	{"start-before-relations", "Relation hooks run after start; only relation-created runs before."},
	{"joined-first", "joined is the first hook about a remote unit."},
	{"joined-once", "joined doesn't run again for a unit before that unit has departed."},
	{"joined-each", "joined runs for every remote unit."},
	{"changed-after-joined", "After joined, the relation's next hook is changed, for the same unit."},
	{"changed-for-change", "changed runs when a remote unit has changed its settings."},
	{"departed-once", "departed runs once for a unit."},
	{"departed-each", "departed runs for every remote unit that has left."},
	{"silent-after-departed", "No hook about a unit follows its departed, unless it joins again."},
	{"broken-after-departed", "broken runs after every unit that joined has departed."},
	{"broken-once", "broken runs once for a relation."},
	{"broken-last", "No hook of a relation follows its broken."},
	{"broken-runs", "broken runs for every relation that the unit leaves."},

	{"stop-after-broken", "stop runs after every relation is broken."},
	{"stop-last", "After stop, only remove runs."},
	{"stop-runs", "stop runs before a started unit is removed."},
	{"force-last", "No hook of a unit starts after the unit was removed by force."},

	{"attached-before-install", "install runs after all storage that the unit is added with is attached."},
	{"attached-first", "No hook about a storage instance precedes its storage-attached, or follows its storage-detaching."},
	{"attached-once", "storage-attached succeeds only once before storage-detaching."},
	{"attached-each", "storage-attached runs for every storage instance that the unit gets."},
	{"detached-each", "storage-detaching runs for every storage instance that the unit loses, unless it is removed by force."},
	{"detached-before-departed", "When a unit is being removed, its storage is detached before other units depart from it."},
	{"stop-after-detached", "stop runs after all storage is detached."},

	{"task-once", "An action runs only once, however it ends."},
	{"task-alone", "No hook and no other action runs while an action does."},
	{"task-place", "An action runs after the unit has started and is upgraded, and before stop; otherwise only while a hook is in error."},

	{"created-first", "relation-created is the first hook of a relation."},
	{"created-once", "relation-created runs once for a relation."},
	{"later-hooks-place", "Later hooks don't run between hooks that directly follow each other."},
	{"elected-leads", "leader-elected runs in the leader only."},
	{"elected-once", "leader-elected succeeds only once each time the unit becomes the leader."},
	{"elected-each", "leader-elected runs each time the unit becomes the leader."},
	{"follower-told", "leader-settings-changed runs in units that are not the leader."},
	{"led-once", "leader-settings-changed succeeds only once for each change by the leader."},
	{"led-each", "leader-settings-changed runs when the leader has changed its settings."},
	{"remove-last", "remove runs once, after stop."},
	{"remove-runs", "remove runs before a stopped unit is removed."},

	{"writes-at-the-end", "What a hook sets becomes visible when the hook has succeeded, not before."},
	{"discarded-writes", "What a failed hook sets never becomes visible."},
	{"newest-last", "The visible settings of a unit never go back to an older version."},
	{"repeatable-reads", "Within one hook, repeated reads give the same result."},
}
