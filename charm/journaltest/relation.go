package journaltest

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// A relation is what a unit was told of a relation.
type relation struct {
	created  bool
	heard    bool            // any other hook has run
	told     map[string]bool // the units that have joined and not departed
	departed map[string]bool // those that have
	joined   string          // the relation's next hook is changed for this unit
	broken   bool
	saw      map[string]string // what changed hooks saw, by unit
}

func (u *unit) relation(id string) *relation {
	if u.relations[id] == nil {
		u.relations[id] = &relation{told: map[string]bool{}, departed: map[string]bool{}, saw: map[string]string{}}
	}
	return u.relations[id]
}

// open returns the relations that are not broken.
func (u *unit) open() (ids []string) {
	for _, id := range slices.Sorted(maps.Keys(u.relations)) {
		if !u.relations[id].broken {
			ids = append(ids, id)
		}
	}
	return ids
}

// succeed notes a hook of the relation that has succeeded.
func (r *relation) succeed(h *hook) {
	switch h.kind {
	case "-relation-created":
		r.created = true
		return
	case "-relation-joined":
		r.told[h.remote], r.joined = true, h.remote
		delete(r.departed, h.remote)
	case "-relation-changed":
		if h.remote == r.joined {
			r.joined = ""
		}
		delete(r.saw, h.remote) // a hook that the user has skipped may have read nothing
		if saw, ok := h.saw[[2]string{h.relation, h.remote}]; ok {
			r.saw[h.remote] = saw
		}
	case "-relation-departed":
		delete(r.told, h.remote)
		delete(r.saw, h.remote)
		r.departed[h.remote] = true
	case "-relation-broken":
		r.broken = true
	}
	r.heard = true
}

// checkRelation checks a hook that is about a relation.
func (c *Checker) checkRelation(u *unit, h *hook, wrong func(string, string, ...any)) {
	r := u.relation(h.relation)
	ofUnit := strings.Contains(h.remote, "/")
	switch {
	case r.broken && h.kind == "-relation-broken":
		wrong("broken-once", "%s again", h)
	case r.broken:
		wrong("broken-last", "%s after broken", h)
	case h.kind == "-relation-created" && r.created:
		wrong("created-once", "%s again", h)
	case h.kind == "-relation-created" && r.heard:
		wrong("created-first", "%s after other hooks of the relation", h)
	case h.kind == "-relation-created":
	case u.later && !r.created && h.kind == "-relation-joined":
		wrong("created-first", "%s before created", h)
	case r.joined != "" && (h.kind != "-relation-changed" || h.remote != r.joined):
		wrong("changed-after-joined", "%s right after %s has joined", h, r.joined)
	case h.kind == "-relation-joined" && r.told[h.remote]:
		wrong("joined-once", "%s again", h)
	case h.kind == "-relation-departed" && r.departed[h.remote]:
		wrong("departed-once", "%s again", h)
	case h.kind != "-relation-joined" && ofUnit && r.departed[h.remote]:
		wrong("silent-after-departed", "%s after %s has departed", h, h.remote)
	case h.kind != "-relation-joined" && ofUnit && !r.told[h.remote]:
		wrong("joined-first", "%s before %s has joined", h, h.remote)
	case h.kind == "-relation-broken" && len(r.told) > 0:
		wrong("broken-after-departed", "%s, and %v have not departed", h, slices.Sorted(maps.Keys(r.told)))
	}
}

// saw checks what a hook read of another unit's settings.
func (c *Checker) saw(u *unit, e Entry) {
	relation, remote, value := e.Args[0], e.Args[1], e.Args[2]
	key := [2]string{relation, remote}
	wrong := func(guarantee, format string, args ...any) { c.violate(u, e.Line, guarantee, format, args...) }
	by := c.writes[write{remote, runtime(relation), value}]
	before, again := u.last.saw[key]
	switch {
	case again && before != value:
		wrong("repeatable-reads", "%s saw %s of %s, and then %s", u.last, before, remote, value)
	case by == nil || by.ended && by.code != "0" || !by.ended && by.killed:
		wrong("discarded-writes", "%s saw %s of %s, which no hook that has succeeded has set", u.last, value, remote)
	case !by.ended:
		wrong("writes-at-the-end", "%s saw %s of %s, whose hook still runs", u.last, value, remote)
	case number(value) < number(u.relation(relation).saw[remote]):
		wrong("newest-last", "%s saw %s of %s, and before that %s", u.last, value, remote, u.relation(relation).saw[remote])
	}
	u.last.saw[key] = value
}

// runtime returns the number of a relation, which both of its ends know, without the name that one
// of them gives it.
func runtime(id string) string { return id[strings.LastIndexByte(id, ':')+1:] }

func number(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64)
	return n
}

// Missing returns which promises are still to be kept, as if this line said that all agents have
// nothing left to do.
func (c *Checker) Missing(line int) []Violation {
	all := Checker{wrong: nil}
	for _, name := range slices.Sorted(maps.Keys(c.units)) {
		u := c.units[name]
		if u.gone {
			continue
		}
		all.missing(c, u, line)
	}
	return all.wrong
}

// missing adds what a unit still has to be told.
func (all *Checker) missing(c *Checker, u *unit, line int) {
	wrong := func(guarantee, format string, args ...any) { all.violate(u, line, guarantee, format, args...) }
	u = u.settled(c)
	charms := c.charms[u.service]
	switch {
	case u.last != nil && !u.last.ended && !u.last.killed:
		wrong("one-at-a-time", "%s has not ended", u.last)
		return
	case u.last != nil:
		return // it has failed, and waits for the user
	case !u.installed:
		wrong("install-first", "install has not run")
	case u.configs == 0:
		wrong("config-changed-after-install", "config-changed has not run")
	case !u.started:
		wrong("start-after-config-changed", "start has not run")
	case len(charms) > 0 && u.charm != "" && u.charm != charms[len(charms)-1]:
		wrong("upgrade-charm-after-change", "the charm is still %s, not %s", u.charm, charms[len(charms)-1])
	case u.upgraded:
		wrong("config-changed-after-upgrade-charm", "config-changed has not run")
	case u.config != "" && c.settings[u.service] != "" && u.config != c.settings[u.service]:
		wrong("config-changed-for-change", "the charm was told settings %s, not %s", u.config, c.settings[u.service])
	case u.recovering:
		wrong("config-changed-after-recovery", "config-changed has not run since the agent was killed")
	}
	for _, id := range slices.Sorted(maps.Keys(u.relations)) {
		all.missingIn(c, u, id, wrong)
	}
}

func (all *Checker) missingIn(c *Checker, u *unit, id string, wrong func(string, string, ...any)) {
	r := u.relations[id]
	if r.broken {
		return
	}
	if r.joined != "" {
		wrong("changed-after-joined", "changed has not run for %s in %s", r.joined, id)
	}
	if now := c.members[u.name]; now != nil {
		members, in := now[id]
		if !in {
			wrong("broken-runs", "the unit has left %s, and broken has not run", id)
		}
		for _, m := range members {
			if !r.told[m] {
				wrong("joined-each", "joined has not run for %s in %s", m, id)
			}
		}
		for m := range r.told {
			if in && !slices.Contains(members, m) {
				wrong("departed-each", "departed has not run for %s in %s", m, id)
			}
		}
	}
	for m := range r.told {
		if c.units[m] == nil || c.units[m].gone {
			continue
		}
		is := c.units[m].settled(c).sets[runtime(id)]
		if seen, ok := r.saw[m]; ok && is.certain != "" && seen != is.certain && seen != is.perhaps {
			wrong("changed-for-change", "the charm was told %s of %s in %s, not %s", seen, m, id, is.certain)
		}
	}
}

// settled returns the unit as it is if no hook follows. If the last hook has failed, it is still
// there.
func (u *unit) settled(c *Checker) *unit {
	if u.last == nil || u.last.failed() && u.resolved != "no-retry" {
		return u
	}
	is := *u
	is.sets, is.relations = maps.Clone(u.sets), maps.Clone(u.relations)
	if id := u.last.relation; id != "" && u.relations[id] != nil {
		r := *u.relations[id]
		r.told, r.departed, r.saw = maps.Clone(r.told), maps.Clone(r.departed), maps.Clone(r.saw)
		is.relations[id] = &r
	}
	c.conclude(&is, nil, func(string, string, ...any) {})
	return &is
}

// Forget drops what the members lines have said, so that they can be said anew.
func (c *Checker) Forget() { c.members = map[string]map[string][]string{} }
