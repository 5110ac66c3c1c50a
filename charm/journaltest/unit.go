package journaltest

import "strings"

// A unit is what the checker knows about a unit, since it last lost its machine.
type unit struct {
	name, service, place string

	last         *hook  // the running hook, or the last one while its outcome is open
	resolved     string // how the user has resolved the last hook since it failed
	skipped      bool   // it was resolved with no-retry, then again: the next hook has failed as well
	retries      bool   // the last hook may be retried automatically
	forced       bool   // the charm was upgraded by force after the last hook failed and before it was resolved
	recovering   bool   // the agent was killed, and config-changed has not run since
	agentKilled  bool   // the agent was killed, and no hook has started since
	lost         bool   // its machine was lost, and no hook has started on another
	gone         bool
	task         string // the running task
	forceRemoved bool
	dying        bool

	waits  map[string]*wait // the sources that are waiting for their turn
	queued map[string]bool  // tasks that have not started

	later                                bool
	installed, started, stopped, removed bool
	upgraded                             bool   // upgrade-charm was last
	configs                              int    // how many times config-changed has succeeded
	causes                               int    // the unit's own causes for config-changed; see Checker.configs
	base                                 int    // Checker.configs when the unit's first hook started
	config                               string // the version of the settings that config-changed was about
	charm                                string // the charm of the last hook
	charms                               int    // how many of Checker.charms had reached the unit by then
	elected                              string // the claim that leader-elected was about
	led                                  string // the version that leader-settings-changed was about
	follows                              bool   // the last leader hook was leader-settings-changed, and the unit has not led since
	relations                            map[string]*relation
	sets                                 map[string]set // relation number → its settings
	instances                            map[string]*storage
	initial                              []string // instances that must be attached before install; nil if unknown
}

// A set is the value that a unit has set in a relation, and one that a killed hook may have set
// since.
type set struct{ certain, uncertain string }

func (c *Checker) unit(name string) *unit {
	if c.units[name] == nil {
		c.units[name] = newUnit(name, "", nil)
	}
	return c.units[name]
}

// newUnit returns a unit on a machine; before, if not nil, is the unit before it lost its last one.
func newUnit(name, place string, before *unit) *unit {
	service, _, _ := strings.Cut(name, "/")
	u := &unit{name: name, service: service, place: place, relations: map[string]*relation{}, sets: map[string]set{},
		instances: map[string]*storage{}, waits: map[string]*wait{}, queued: map[string]bool{}}
	if before != nil {
		u.sets, u.queued = before.sets, before.queued
	}
	if before != nil && before.lost {
		// The journal has described them since the loss.
		u.relations, u.instances, u.initial = before.relations, before.instances, before.initial
	}
	return u
}
