package journaltest

// A Guarantee is what charms are promised. A Violation has its name.
type Guarantee struct{ Name, Text string }

// Guarantees are all, in the order in which the guide for authors of charms lists them.
var Guarantees = []Guarantee{
	{"known-hook", "Only the original hooks and the later hooks run, these only if the charm has them."},
	{"one-at-a-time", "A hook begins when the unit's hook before it has ended."},
	{"served-in-turn", "What waits for a hook, or for an action, is served before anything else is served twice."},

	{"failed-waits", "After a hook that has failed none runs before the user has resolved the unit; only if the model says so, it runs again itself."},
	{"interrupted-fails", "A hook whose agent was killed before the hook's end has failed."},
	{"retried-first", "When the user says retry, the failed hook runs next."},

	{"install-first", "install runs before any other hook."},
	{"install-once", "install succeeds once only."},
	{"config-changed-after-install", "config-changed runs right after install."},
	{"start-after-config-changed", "start runs right after the first config-changed."},
	{"start-once", "start succeeds once only, and again after a restart of the machine."},

	{"upgrade-charm-after-change", "upgrade-charm runs right after another charm was put into the directory."},
	{"upgrade-charm-only-after-change", "upgrade-charm runs once for a change of the directory, and never without."},
	{"forced-upgrade-from-error", "upgrade-charm doesn't run after a forced upgrade out of an error."},
	{"config-changed-after-upgrade-charm", "config-changed runs right after upgrade-charm."},

	{"config-changed-for-change", "config-changed runs when the service's settings have changed."},
	{"config-changed-after-recovery", "config-changed runs once the unit's agent is back."},
	{"config-changed-for-cause", "config-changed runs once for each of these, and not otherwise."},

	{"start-before-relations", "Relation hooks run after start; only relation-created runs before."},
	{"joined-first", "A unit joins before anything else is heard of it."},
	{"joined-once", "A unit that has joined doesn't join again before it has departed."},
	{"joined-each", "joined runs for every unit at the other end."},
	{"changed-after-joined", "After joined, the relation's next hook is changed, for the same unit."},
	{"changed-for-change", "changed runs when a unit has changed its settings."},
	{"departed-once", "departed runs once for a unit."},
	{"departed-each", "departed runs for every unit that is gone."},
	{"silent-after-departed", "Nothing is heard of a unit that has departed, unless it joins again."},
	{"broken-after-departed", "broken runs when every unit that joined has departed."},
	{"broken-once", "broken runs once for a relation."},
	{"broken-last", "No hook of a relation follows its broken."},
	{"broken-runs", "broken runs for every relation that the unit leaves."},

	{"stop-after-broken", "stop runs when every relation is broken."},
	{"stop-last", "After stop no hook runs but remove."},
	{"stop-runs", "stop runs before a unit that was started is removed."},
	{"force-last", "No hook of a unit begins after it was removed by force."},

	{"attached-before-install", "install runs when all storage that the unit is added with is attached."},
	{"attached-first", "Nothing is heard of storage before storage-attached, nor after storage-detaching."},
	{"attached-once", "storage-attached succeeds once only before storage-detaching."},
	{"attached-each", "storage-attached runs for all storage that the unit gets."},
	{"detached-each", "storage-detaching runs for all storage that the unit loses, unless it is taken by force."},
	{"detached-before-departed", "A unit that goes has its storage detached before other units depart from it."},
	{"stop-after-detached", "stop runs when all storage is detached."},

	{"task-once", "An action runs once only, whatever becomes of it."},
	{"task-alone", "No hook runs while an action does, nor another action."},
	{"task-place", "An action runs when the unit has started and is upgraded, and before stop; otherwise only while a hook has failed."},

	{"created-first", "relation-created is the first hook of a relation."},
	{"created-once", "relation-created runs once for a relation."},
	{"later-hooks-place", "Later hooks don't come between hooks that follow each other."},
	{"elected-leads", "leader-elected runs in a unit that leads."},
	{"elected-once", "leader-elected succeeds once only each time that the unit becomes the leader."},
	{"elected-each", "leader-elected runs each time that the unit becomes the leader."},
	{"follower-told", "leader-settings-changed runs in a unit that does not lead."},
	{"led-once", "leader-settings-changed succeeds once only for what the leader has set."},
	{"led-each", "leader-settings-changed runs when the leader has set something."},
	{"remove-last", "remove runs once, after stop."},
	{"remove-runs", "remove runs before a unit that was stopped is removed."},

	{"writes-at-the-end", "What a hook sets is seen when the hook has succeeded, not before."},
	{"discarded-writes", "What a hook sets that then fails is never seen."},
	{"newest-last", "What is seen of a unit's settings doesn't get older."},
	{"repeatable-reads", "A hook that reads the same twice gets the same."},
}
