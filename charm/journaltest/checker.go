package journaltest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
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

// Check returns what is wrong with a whole journal, or an error if it is none.
func Check(text string) ([]Violation, error) {
	entries, err := Parse(text, 1)
	if err != nil {
		return nil, err
	}
	c := NewChecker()
	for _, e := range entries {
		if err := c.Add(e); err != nil {
			return nil, err
		}
	}
	return c.Violations(), nil
}

// A Checker checks a journal while it is written. It knows the promises to charms, and nothing of
// how agents keep them.
type Checker struct {
	// Hooks is how many hooks have begun.
	Hooks int

	units    map[string]*unit
	configs  map[string]int      // by service: how often its settings or its charm were changed
	settings map[string]string   // and the version of its settings
	charms   map[string][]string // and its charms
	forced   map[string]bool     // charms that were forced, as SERVICE CHARM
	writes   map[write]*hook     // of relations' settings
	members  map[string]map[string][]string
	wrong    []Violation
}

// A write is what a hook set, in a relation by its number.
type write struct{ unit, relation, value string }

// NewChecker returns the checker of a journal that is empty.
func NewChecker() *Checker {
	return &Checker{units: map[string]*unit{}, configs: map[string]int{}, settings: map[string]string{},
		charms: map[string][]string{}, forced: map[string]bool{}, writes: map[write]*hook{},
		members: map[string]map[string][]string{}}
}

// Violations returns what was wrong so far.
func (c *Checker) Violations() []Violation { return c.wrong }

func (c *Checker) violate(u *unit, line int, guarantee, format string, args ...any) {
	if !slices.ContainsFunc(Guarantees, func(g Guarantee) bool { return g.Name == guarantee }) {
		panic(guarantee)
	}
	c.wrong = append(c.wrong, Violation{guarantee, u.name, line, fmt.Sprintf(format, args...)})
}

// A unit is what the checker knows of a unit: since its machine was lost, if it was.
type unit struct {
	name, service, place string

	last       *hook  // the hook that runs, or ran last and whose outcome may be open
	resolved   string // what the user has said since the hook failed
	forced     bool   // a forced upgrade came since, and before the user's word
	recovering bool   // the agent was killed, and config-changed has not run since
	orphans    bool   // the agent was killed, and no hook has begun since
	lost       bool   // its machine is, and it has not begun on another
	gone       bool
	ended      bool // it was removed by force

	later                                bool
	installed, started, stopped, removed bool
	upgraded                             bool // upgrade-charm was last
	configs                              int  // how often config-changed has succeeded
	causes                               int  // how often it should have, but for the service's
	base                                 int  // Checker.configs when the unit began
	config                               string
	charm                                string // of the last hook
	relations                            map[string]*relation
	sets                                 map[string]set
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
	u := &unit{name: name, service: service, place: place, relations: map[string]*relation{}, sets: map[string]set{}}
	if before != nil {
		u.sets = before.sets
	}
	return u
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
		u.causes, u.recovering, u.orphans = u.causes+1, true, true
		if u.last != nil {
			u.last.killed = true
		}
	case "lost":
		if u := c.unit(e.Who); u.place == e.Args[0] {
			c.units[e.Who] = newUnit(e.Who, u.place, u)
			c.units[e.Who].lost = true
		}
	case "resolved":
		if e.Args[0] != "retry" && e.Args[0] != "no-retry" {
			return senseless("neither retry nor no-retry")
		}
		if c.unit(e.Who).last == nil {
			return senseless("it has run no hook")
		}
		c.unit(e.Who).resolved = e.Args[0]
	case "members":
		if c.members[e.Who] == nil {
			c.members[e.Who] = map[string][]string{}
		}
		c.members[e.Who][e.Args[0]] = e.Args[1:]
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
	said := false // one promise for each hook is enough
	wrong := func(guarantee, format string, args ...any) {
		if !said {
			c.violate(u, h.Line, guarantee, format, args...)
		}
		said = true
	}
	switch {
	case !h.known:
		wrong("known-hook", "%s", h)
	case u.ended:
		wrong("force-last", "%s", h)
	case u.gone:
		wrong("stop-last", "%s after the unit is gone", h)
	case u.last != nil && !u.last.ended && !u.last.killed && !(u.last.orphan && u.resolved != ""):
		wrong("one-at-a-time", "%s while %s runs", h, u.last)
		u.last = nil
	}
	forced := u.forced && u.last.kind != "upgrade-charm"
	failed := c.conclude(u, h, wrong)
	c.checkCharm(u, h, failed, forced, wrong)
	c.checkOrder(u, h, wrong)
	if h.relation != "" {
		c.checkRelation(u, h, wrong)
	}
	h.orphan = u.orphans
	u.last, u.resolved, u.forced, u.orphans = h, "", false, false
}

// conclude decides what came of the unit's last hook, now that next begins; nil if none does. It
// reports whether the hook failed.
func (c *Checker) conclude(u *unit, next *hook, wrong func(string, string, ...any)) (failed bool) {
	last := u.last
	u.last = nil
	if last == nil {
		return false
	}
	again := next != nil && next.same(last)
	switch {
	case !last.failed() && !((last.killed || last.orphan) && u.resolved != ""):
		c.succeed(u, last)
		return false
	case u.resolved == "no-retry":
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
	case u.resolved == "retry" && again:
	case u.resolved == "retry" && !last.failed(): // another hook was killed before it could write that it began
		c.succeed(u, last)
		return true
	case next == nil:
	case last.kind == "leader-elected" && u.resolved != "": // it is skipped if the unit no longer leads
	case u.resolved == "retry":
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
	}
	if h.kind == "config-changed" && !h.killed {
		u.recovering = false
	}
	if h.relation != "" {
		u.relation(h.relation).succeed(h)
	}
}

// checkOrder checks the hooks that are not about relations, and the place of those that are.
func (c *Checker) checkOrder(u *unit, h *hook, wrong func(string, string, ...any)) {
	first := h.later && slices.Contains([]string{"-relation-created", "leader-elected", "leader-settings-changed"}, h.kind)
	switch {
	case !h.known:
	case h.relation != "" && h.kind != "-relation-created" && !u.started:
		wrong("start-before-relations", "%s before start", h)
	case u.removed || h.kind == "remove" && !u.stopped:
		wrong("remove-last", "%s when stop has run is %v, and remove %v", h, u.stopped, u.removed)
	case u.stopped && h.kind != "remove":
		wrong("stop-last", "%s after stop", h)
	case !u.installed && h.kind != "install":
		wrong("install-first", "%s before install", h)
	case u.installed && h.kind == "install":
		wrong("install-once", "install again")
	case u.installed && u.configs == 0 && h.kind != "config-changed" && !first:
		wrong("config-changed-after-install", "%s right after install", h)
	case h.later && (u.upgraded || u.configs > 0 && !u.started):
		wrong("later-hooks-place", "%s comes between", h)
	case u.upgraded && h.kind != "config-changed":
		wrong("config-changed-after-upgrade-charm", "%s right after upgrade-charm", h)
	case u.configs > 0 && !u.started && h.kind != "start" && !(h.kind == "config-changed" && u.recovering):
		wrong("start-after-config-changed", "%s right after the first config-changed", h)
	case u.started && h.kind == "start":
		wrong("start-once", "start again")
	}
	switch h.kind {
	case "config-changed":
		if u.configs >= u.causes+c.configs[u.service]-u.base {
			wrong("config-changed-for-cause", "config-changed for the %d. time, and there were %d reasons", u.configs+1,
				u.causes+c.configs[u.service]-u.base)
		}
	case "stop":
		if open := u.open(); len(open) > 0 {
			wrong("stop-after-broken", "stop, and %v are not broken", open)
		}
	case "leader-elected":
		if h.Values["leads"] == "false" {
			wrong("elected-leads", "leader-elected in a unit that does not lead")
		}
	case "leader-settings-changed":
		if h.Values["leads"] == "true" {
			wrong("follower-told", "leader-settings-changed in a unit that leads")
		}
	}
}

// bury checks a unit that was removed.
func (c *Checker) bury(u *unit, line int) {
	wrong := func(guarantee, format string, args ...any) { c.violate(u, line, guarantee, format, args...) }
	c.conclude(u, nil, wrong)
	u.gone = true
	switch {
	case !u.installed:
	case len(u.open()) > 0:
		wrong("broken-runs", "the unit is gone, and %v are not broken", u.open())
	case !u.stopped:
		wrong("stop-runs", "the unit is gone, and stop has not run")
	case u.later && !u.removed:
		wrong("remove-runs", "the unit is gone, and remove has not run")
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
