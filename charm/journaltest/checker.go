package journaltest

import (
	"fmt"
	"maps"
	"slices"
)

// A Violation is a promise that was not kept.
type Violation struct {
	Guarantee string // the name of one of Guarantees
	Unit      string
	Line      int // of the journal
	Text      string
}

func (v Violation) String() string {
	return fmt.Sprintf("line %d: %s: %s: %s", v.Line, v.Guarantee, v.Unit, v.Text)
}


// A Checker checks a journal while it is written. It knows the promises to charms, and nothing of
// how agents keep them.
type Checker struct {
	// Hooks is how many hooks have begun.
	Hooks int
	// Lag is how often each source of hooks may be served too often before an agent knows that
	// another waits.
	Lag int

	units     map[string]*unit
	configs   map[string]int       // by service: how often its settings or its charm were changed
	settings  map[string]string    // and the version of its settings
	charms    map[string][]version // and its charms
	retries   map[string]bool      // whether its failed hooks run again by themselves
	led       map[string]string    // and the version of what its leader has set
	claims    map[string]string    // by unit: by which it leads, 0 if it does not
	instances map[string][]string  // and its storage
	tasks     map[[2]string]bool   // that have begun, by unit and id
	writes    map[write]*hook      // of relations' settings
	members   map[string]map[string]members
	wrong     []Violation
}

// A write is what a hook set, in a relation by its number.
type write struct{ unit, relation, value string }

// NewChecker returns the checker of a journal that is empty.
func NewChecker() *Checker {
	return &Checker{units: map[string]*unit{}, configs: map[string]int{}, settings: map[string]string{},
		charms: map[string][]version{}, retries: map[string]bool{}, led: map[string]string{},
		claims: map[string]string{}, writes: map[write]*hook{}, instances: map[string][]string{},
		tasks: map[[2]string]bool{}, members: map[string]map[string]members{}}
}

// Violations returns what was wrong so far.
func (c *Checker) Violations() []Violation { return c.wrong }

// A report adds a violation.
type report func(guarantee, format string, args ...any)

// reportTo returns a report that adds violations by u, in this line, to all.
func (u *unit) reportTo(all *[]Violation, line int) report {
	return func(guarantee, format string, args ...any) {
		if !slices.ContainsFunc(Guarantees, func(g Guarantee) bool { return g.Name == guarantee }) {
			panic("unknown guarantee " + guarantee)
		}
		*all = append(*all, Violation{guarantee, u.name, line, fmt.Sprintf(format, args...)})
	}
}

// Add takes the next line. It returns an error if that does not make sense.
func (c *Checker) Add(e Entry) error {
	senseless := func(why string) error {
		return fmt.Errorf("line %d of the journal: %s %s: %s", e.Line, e.Word, e.Who, why)
	}
	switch e.Word {
	case "begin":
		c.Hooks++
		c.begin(newHook(e))
	case "end", "set", "saw":
		u := c.unit(e.Who)
		if u.lost {
			return nil // the hook outlived its machine
		}
		if u.last == nil || u.last.ended {
			return senseless("no hook runs")
		}
		switch e.Word {
		case "end":
			u.last.ended, u.last.code = true, e.Args[0]
		case "set":
			relation := runtime(e.Args[0])
			u.last.sets[relation] = e.Args[1]
			c.writes[write{u.name, relation, e.Args[1]}] = u.last
		case "saw":
			c.saw(u, e)
		}
	case "config":
		c.configs[e.Who]++
		c.settings[e.Who] = e.Args[0]
	case "upgraded":
		c.upgrade(e)
	case "killed":
		u := c.unit(e.Who)
		u.causes, u.recovering, u.orphans, u.task = u.causes+1, true, true, ""
		if u.last != nil {
			u.last.killed = true
		}
	case "lost":
		if u := c.unit(e.Who); u.place == e.Args[0] {
			c.units[e.Who] = newUnit(e.Who, u.place, u)
			c.units[e.Who].lost = true
			c.units[e.Who].first = slices.Clone(c.instances[e.Who])
		}
	case "resolved":
		if e.Args[0] != "retry" && e.Args[0] != "no-retry" {
			return senseless("neither retry nor no-retry")
		}
		u := c.unit(e.Who)
		if u.last == nil && !u.orphans && !u.lost {
			return senseless("it has run no hook")
		}
		u.skipped = u.skipped || u.resolved == "no-retry"
		u.resolved = e.Args[0]
	case "retries":
		if e.Args[0] != "on" && e.Args[0] != "off" {
			return senseless("neither on nor off")
		}
		c.retries[e.Who] = e.Args[0] == "on"
		for _, u := range c.units {
			u.retries = u.retries || u.service == e.Who && c.retries[e.Who]
		}
	case "leads":
		c.claims[e.Who] = e.Args[0]
		if u := c.units[e.Who]; u != nil {
			u.follows = false // until its agent knows
		}
	case "led":
		c.led[e.Who] = e.Args[0]
	case "entered":
		c.unit(e.Who).relation(e.Args[0])
	case "taken":
		c.unit(e.Who).taken(e.Args[0])
	case "stores":
		c.stores(c.unit(e.Who), e.Args)
	case "task":
		c.task(c.unit(e.Who), e)
	case "done":
		c.unit(e.Who).task = ""
	case "dying":
		c.unit(e.Who).dying = true
	case "queued":
		c.unit(e.Who).queued[e.Args[0]] = true
	case "cancelled":
		delete(c.unit(e.Who).queued, e.Args[0])
	case "members":
		if c.members[e.Who] == nil {
			c.members[e.Who] = map[string]members{}
		}
		c.members[e.Who][e.Args[0]] = newMembers(e.Args[1:])
	case "forced":
		c.unit(e.Who).gone, c.unit(e.Who).ended = true, true
	case "gone":
		c.bury(c.unit(e.Who), e.Line)
	case "settled":
		c.wrong = append(c.wrong, c.Missing(e.Line)...)
		c.Forget()
	}
	return nil
}

// begin checks a hook that begins.
func (c *Checker) begin(h *hook) {
	u := c.unit(h.Who)
	if at := h.Values["at"]; u.lost || u.place != at && u.place != "" {
		c.units[h.Who] = newUnit(h.Who, at, u)
		u = c.units[h.Who]
	}
	if u.last == nil && !u.installed {
		u.base = max(0, c.configs[u.service]-1) // the last change may be noted and not yet made
	}
	u.place, u.later = h.Values["at"], u.later || h.Values["later"] == "true"
	reported := false // one violation per hook is enough
	wrong := func(guarantee, format string, args ...any) {
		if !reported {
			u.reportTo(&c.wrong, h.Line)(guarantee, format, args...)
		}
		reported = true
	}
	switch {
	case !h.known || h.later && h.Values["later"] == "false":
		wrong("known-hook", "%s", h)
	case u.ended:
		wrong("force-last", "%s", h)
	case u.gone:
		wrong("stop-last", "%s after the unit is gone", h)
	case u.last != nil && !u.last.ended && !u.last.killed && !(u.last.orphan && u.resolved != ""):
		wrong("one-at-a-time", "%s while %s runs", h, u.last)
		u.last = nil
	case u.task != "":
		wrong("task-alone", "%s while task %s runs", h, u.task)
	}
	again := u.last != nil && u.last.same(h)
	forced := u.forced && u.last.kind != "upgrade-charm" && !u.forgets(u.last)
	failed := c.conclude(u, h, wrong)
	c.checkCharm(u, h, failed, forced, wrong)
	c.checkOrder(u, h, wrong)
	u.checkStorage(h, failed && again, wrong)
	if h.relation != "" {
		c.checkRelation(u, h, wrong)
	}
	c.turn(u, u.sourceOf(h, failed && again), h.Line, wrong)
	h.orphan = u.orphans
	u.last, u.resolved, u.skipped, u.forced, u.orphans = h, "", false, false, false
	u.retries = c.retries[u.service]
}

// conclude decides what came of the unit's last hook, now that next begins; nil if none does. It
// reports whether the hook failed.
func (c *Checker) conclude(u *unit, next *hook, wrong report) (failed bool) {
	last := u.last
	u.last = nil
	if last == nil {
		return false
	}
	again := next != nil && next.same(last)
	word := u.resolved
	switch {
	case u.skipped && !again:
		word = "no-retry"
	case word == "" && u.retries && (again || last.kind == "leader-elected" || !last.failed()):
		word = "retry" // it was the agent's own
	}
	switch {
	case u.forgets(last):
		return last.failed() || last.killed || last.orphan // or another has, before it could write that it began
	case !last.failed() && !((last.killed || last.orphan) && word != ""):
		c.succeed(u, last)
		return false
	case word == "no-retry":
		if !last.failed() {
			perhaps(u, last)
		}
		skipped := *last
		skipped.sets = nil
		c.succeed(u, &skipped)
		if last.kind == "config-changed" {
			u.recovering = false // the user has said that it counts as run
		}
		return true
	case word == "retry" && again:
	case word == "retry" && !last.failed(): // another hook was killed before it could write that it began
		c.succeed(u, last)
		return true
	case next == nil:
	case last.kind == "leader-elected" && word != "": // it is skipped if the unit no longer leads
	case word == "retry":
		wrong("retried-first", "%s after %s has failed", next, last)
	case !last.ended:
		wrong("interrupted-fails", "%s after %s was interrupted", next, last)
	default:
		wrong("failed-waits", "%s after %s has failed", next, last)
	}
	if !last.failed() {
		perhaps(u, last)
	}
	return true
}

// perhaps notes the writes of a hook that was killed, and may have failed or not.
func perhaps(u *unit, h *hook) {
	for relation, value := range h.sets {
		u.sets[relation] = set{u.sets[relation].certain, value}
	}
}

// succeed notes that a hook counts as having succeeded.
func (c *Checker) succeed(u *unit, h *hook) {
	for relation, value := range h.sets {
		u.sets[relation] = set{certain: value}
	}
	u.upgraded = h.kind == "upgrade-charm" || u.upgraded && h.later
	switch h.kind {
	case "install":
		u.installed = true
		u.causes++
	case "config-changed":
		u.configs++
		u.config = h.Values["config"]
	case "start":
		u.started = true
	case "upgrade-charm":
		u.causes++
	case "stop":
		u.stopped = true
	case "remove":
		u.removed = true
	case "leader-elected":
		u.elected, u.follows = h.Values["claim"], false
	case "leader-settings-changed":
		u.led, u.follows = h.Values["version"], true
	}
	if h.kind == "config-changed" {
		delete(u.waits, "settings") // served, whether or not it was their turn
	}
	if h.kind == "config-changed" && !h.killed {
		u.recovering = false
	}
	if h.relation != "" {
		u.relation(h.relation).succeed(h)
	}
	if h.storage != "" {
		u.storage(h.storage).succeed(h)
	}
}

// Units returns the units that have begun and are not gone, sorted.
func (c *Checker) Units() (names []string) {
	for _, name := range slices.Sorted(maps.Keys(c.units)) {
		if !c.units[name].gone {
			names = append(names, name)
		}
	}
	return names
}

// Last returns the hook of a unit that was the last to begin, and whether it has failed for certain.
func (c *Checker) Last(unit string) (name string, failed bool) {
	u := c.units[unit]
	if u == nil || u.last == nil {
		return "", false
	}
	return u.last.Args[0], u.last.failed()
}
