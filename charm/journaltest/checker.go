package journaltest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Violation is a guarantee that was broken.
type Violation struct {
	Guarantee string // the name of one of Guarantees
	Unit      string
	Line      int // in the journal
	Text      string
}

func (v Violation) String() string {
	return fmt.Sprintf("line %d: %s: %s: %s", v.Line, v.Guarantee, v.Unit, v.Text)
}

// A Checker checks a journal as it is written. It knows the guarantees, but not how agents keep
// them.
type Checker struct {
	// Hooks is the number of hooks that have started.
	Hooks int
	// Lag is how many extra turns each source of hooks may get before an agent learns that another
	// is waiting.
	Lag int

	units     map[string]*unit
	configs   map[string]int                // service → number of changes of its settings or charm
	settings  map[string]string             // service → version of its settings
	charms    map[string][]version          // service → its charms so far
	retries   map[string]bool               // service → whether failed hooks are retried automatically
	led       map[string]string             // service → version of the leader's settings
	claims    map[string]string             // unit → the claim by which it leads; 0 if it does not lead
	instances map[string][]string           // unit → its storage instances
	tasks     map[[2]string]bool            // {unit, id} of the tasks that have started
	writes    map[write]*hook               // relation settings → the hook that set them
	members   map[string]map[string]members // unit → relation → its remote units
	wrong     []Violation
}

// A write is a value that a hook has set in a relation, which is identified by its number.
type write struct{ unit, relation, value string }

// NewChecker returns a checker for a new journal.
func NewChecker() *Checker {
	return &Checker{units: map[string]*unit{}, configs: map[string]int{}, settings: map[string]string{},
		charms: map[string][]version{}, retries: map[string]bool{}, led: map[string]string{},
		claims: map[string]string{}, writes: map[write]*hook{}, instances: map[string][]string{},
		tasks: map[[2]string]bool{}, members: map[string]map[string]members{}}
}

// Violations returns the violations so far.
func (c *Checker) Violations() []Violation { return c.wrong }

// A report records a violation.
type report func(guarantee, format string, args ...any)

// reportTo returns a report that appends violations by u, in this line, to all.
func (u *unit) reportTo(all *[]Violation, line int) report {
	return func(guarantee, format string, args ...any) {
		if !slices.ContainsFunc(Guarantees, func(g Guarantee) bool { return g.Name == guarantee }) {
			panic("unknown guarantee " + guarantee)
		}
		*all = append(*all, Violation{guarantee, u.name, line, fmt.Sprintf(format, args...)})
	}
}

// Add checks the next line. It returns an error if the line is invalid at this point.
func (c *Checker) Add(e Entry) error {
	invalid := func(why string) error {
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
			return invalid("no hook is running")
		}
		switch e.Word {
		case "end":
			u.last.ended, u.last.code = true, e.Args[0]
			if u.last.task != "" {
				u.reportTo(&c.wrong, e.Line)("task-alone", "task %s while %s runs", u.last.task, u.last)
			}
		case "set":
			relation := relationNumber(e.Args[0])
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
		u.causes, u.recovering, u.agentKilled, u.task = u.causes+1, true, true, ""
		if u.last != nil {
			u.last.killed = true
		}
	case "lost":
		if u := c.unit(e.Who); u.place == e.Args[0] {
			c.units[e.Who] = newUnit(e.Who, u.place, u)
			c.units[e.Who].lost = true
			c.units[e.Who].initial = slices.Clone(c.instances[e.Who])
		}
	case "resolved":
		if e.Args[0] != "retry" && e.Args[0] != "no-retry" {
			return invalid("neither retry nor no-retry")
		}
		u := c.unit(e.Who)
		if u.last == nil && !u.agentKilled && !u.lost {
			return invalid("the unit has not run any hook")
		}
		u.skipped = u.skipped || u.resolved == "no-retry"
		u.resolved = e.Args[0]
	case "retries":
		if e.Args[0] != "on" && e.Args[0] != "off" {
			return invalid("neither on nor off")
		}
		c.retries[e.Who] = e.Args[0] == "on"
		for _, u := range c.units {
			u.retries = u.retries || u.service == e.Who && c.retries[e.Who]
		}
	case "leads":
		c.claims[e.Who] = e.Args[0]
		if u := c.units[e.Who]; u != nil {
			u.follows = false // until its agent learns about it
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
		c.unit(e.Who).gone, c.unit(e.Who).forceRemoved = true, true
	case "gone":
		c.checkRemoved(c.unit(e.Who), e.Line)
	case "settled":
		c.wrong = append(c.wrong, c.Missing(e.Line)...)
		c.ForgetMembers()
	}
	return nil
}

// begin checks a hook that starts.
func (c *Checker) begin(h *hook) {
	u := c.unit(h.Who)
	if at := h.Values["at"]; u.lost || u.place != at && u.place != "" {
		c.units[h.Who] = newUnit(h.Who, at, u)
		u = c.units[h.Who]
	}
	if u.last == nil && !u.installed {
		u.base = max(0, c.configs[u.service]-1) // the last change is written before it is made
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
	case u.forceRemoved:
		wrong("force-last", "%s", h)
	case u.gone:
		wrong("stop-last", "%s after the unit was removed", h)
	case u.last != nil && !u.last.ended && !u.last.killed && !(u.last.mayBeKilled && u.resolved != ""):
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
	h.mayBeKilled = u.agentKilled
	u.last, u.resolved, u.skipped, u.forced, u.agentKilled = h, "", false, false, false
	u.retries = c.retries[u.service]
}

// conclude determines the outcome of the unit's last hook when next starts, or when nothing follows
// if next is nil. It reports whether the last hook failed.
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
	case word == "" && u.retries && (again || last.mayLapse() || !last.failed()):
		word = "retry" // an automatic one
	}
	switch {
	case u.forgets(last):
		return last.failed() || last.killed || last.mayBeKilled // or the next hook failed before it could write begin
	case !last.failed() && !((last.killed || last.mayBeKilled) && word != ""):
		c.succeed(u, last)
		return false
	case word == "no-retry":
		if !last.failed() {
			noteUncertain(u, last)
		}
		skipped := *last
		skipped.sets = nil
		c.succeed(u, &skipped)
		if last.kind == "config-changed" {
			u.recovering = false // the user has skipped it
		}
		return true
	case word == "retry" && again:
	case word == "retry" && !last.failed(): // the next hook was killed before it could write begin
		c.succeed(u, last)
		return true
	case next == nil:
	case last.mayLapse() && word != "":
	case word == "retry":
		wrong("retried-first", "%s after %s failed", next, last)
	case !last.ended:
		wrong("interrupted-fails", "%s after %s was interrupted", next, last)
	default:
		wrong("failed-waits", "%s after %s failed", next, last)
	}
	if !last.failed() {
		noteUncertain(u, last)
	}
	return true
}

// mayLapse reports whether the hook is not run again after a failure if the unit no longer leads, or the secret is gone.
func (h *hook) mayLapse() bool {
	return h.kind == "leader-elected" || strings.HasPrefix(h.kind, "secret-")
}

// noteUncertain records the writes of a killed hook, which may have failed.
func noteUncertain(u *unit, h *hook) {
	for relation, value := range h.sets {
		u.sets[relation] = set{u.sets[relation].certain, value}
	}
}

// succeed records that a hook succeeded, or was skipped by the user.
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
		delete(u.waits, "settings") // they were served, even if this was no turn of theirs
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

// Units returns the names of the units that were not removed, sorted.
func (c *Checker) Units() (names []string) {
	for _, name := range slices.Sorted(maps.Keys(c.units)) {
		if !c.units[name].gone {
			names = append(names, name)
		}
	}
	return names
}

// Last returns the hook of the unit that started last, and whether it certainly failed.
func (c *Checker) Last(unit string) (name string, failed bool) {
	u := c.units[unit]
	if u == nil || u.last == nil {
		return "", false
	}
	return u.last.Args[0], u.last.failed()
}
