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
	told     members         // the units that have joined and not departed
	departed map[string]bool // those that have
	joined   string          // the relation's next hook is changed for this unit
	broken   bool
	taken    bool              // by force: nothing is promised any more
	saw      map[string]string // what changed hooks saw, by unit
}

// members are units in a relation, with the versions of their settings, "" if these are not known.
type members map[string]string

// newMembers parses UNIT[@VERSION].
func newMembers(args []string) members {
	m := members{}
	for _, arg := range args {
		unit, version, _ := strings.Cut(arg, "@")
		m[unit] = version
	}
	return m
}

func (m members) has(unit string) bool {
	_, ok := m[unit]
	return ok
}

func (u *unit) relation(id string) *relation {
	if u.relations[id] == nil {
		u.relations[id] = &relation{told: members{}, departed: map[string]bool{}, saw: map[string]string{}}
	}
	return u.relations[id]
}

// forgets reports whether the unit does not care how a hook has ended: what it is about is gone.
func (u *unit) forgets(h *hook) bool {
	return h.relation != "" && u.relation(h.relation).taken || h.storage != "" && u.storage(h.storage).taken
}

// open returns the relations that are not broken.
func (u *unit) open() (ids []string) {
	for _, id := range slices.Sorted(maps.Keys(u.relations)) {
		if r := u.relations[id]; !r.broken && !r.taken {
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
		r.told[h.remote], r.joined = h.Values["version"], h.remote
		delete(r.departed, h.remote)
	case "-relation-changed":
		if h.remote == r.joined {
			r.joined = ""
		}
		if r.told.has(h.remote) {
			r.told[h.remote] = h.Values["version"]
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
func (c *Checker) checkRelation(u *unit, h *hook, wrong report) {
	r := u.relation(h.relation)
	ofUnit := strings.Contains(h.remote, "/")
	switch {
	case r.taken: // the agent may not know it yet
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
	case h.kind == "-relation-joined" && r.told.has(h.remote):
		wrong("joined-once", "%s again", h)
	case h.kind == "-relation-departed" && r.departed[h.remote]:
		wrong("departed-once", "%s again", h)
	case h.kind != "-relation-joined" && ofUnit && r.departed[h.remote]:
		wrong("silent-after-departed", "%s after %s has departed", h, h.remote)
	case h.kind != "-relation-joined" && ofUnit && !r.told.has(h.remote):
		wrong("joined-first", "%s before %s has joined", h, h.remote)
	case h.kind == "-relation-broken" && len(r.told) > 0:
		wrong("broken-after-departed", "%s, and %v have not departed", h, slices.Sorted(maps.Keys(r.told)))
	}
}

// saw checks what a hook read of another unit's settings.
func (c *Checker) saw(u *unit, e Entry) {
	relation, remote, value := e.Args[0], e.Args[1], e.Args[2]
	key := [2]string{relation, remote}
	wrong := u.reportTo(&c.wrong, e.Line)
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
