package journaltest

import "strings"

// A unit is what the checker knows of a unit: since its machine was lost, if it was.
type unit struct {
	name, service, place string

	last       *hook  // the hook that runs, or ran last and whose outcome may be open
	resolved   string // what the user has said since the hook failed
	skipped    bool   // that was no-retry, and the user has said something since: another hook has failed
	retries    bool   // the last hook, if it has failed, may run again by itself
	forced     bool   // a forced upgrade came since, and before the user's word
	recovering bool   // the agent was killed, and config-changed has not run since
	orphans    bool   // the agent was killed, and no hook has begun since
	lost       bool   // its machine is, and it has not begun on another
	gone       bool
	task       string // that runs
	ended      bool   // it was removed by force
	dying      bool

	waits  map[string]*wait // what waits for its turn
	queued map[string]bool  // tasks that have not begun

	later                                bool
	installed, started, stopped, removed bool
	upgraded                             bool // upgrade-charm was last
	configs                              int  // how often config-changed has succeeded
	causes                               int  // how often it should have, but for the service's
	base                                 int  // Checker.configs when the unit began
	config                               string
	charm                                string // of the last hook
	charms                               int    // how many of Checker.charms had come to the unit by then
	elected                              string // the claim that leader-elected was about
	led                                  string // the version that leader-settings-changed was about
	follows                              bool   // that was the last hook about the leader, and it is not known to have led since
	relations                            map[string]*relation
	sets                                 map[string]set
	instances                            map[string]*storage
	first                                []string // instances without which it is not installed; nil if it is not known
}

// A set is what a unit may have set last in a relation.
type set struct{ certain, perhaps string }

func (c *Checker) unit(name string) *unit {
	if c.units[name] == nil {
		c.units[name] = newUnit(name, "", nil)
	}
	return c.units[name]
}

// newUnit returns a unit that begins; before has what outlives a machine.
func newUnit(name, place string, before *unit) *unit {
	service, _, _ := strings.Cut(name, "/")
	u := &unit{name: name, service: service, place: place, relations: map[string]*relation{}, sets: map[string]set{},
		instances: map[string]*storage{}, waits: map[string]*wait{}, queued: map[string]bool{}}
	if before != nil {
		u.sets, u.queued = before.sets, before.queued
	}
	if before != nil && before.lost {
		// It was said since what it is in, and has.
		u.relations, u.instances, u.first = before.relations, before.instances, before.first
	}
	return u
}
