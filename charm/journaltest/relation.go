package journaltest

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// A relation is what a unit's hooks were run for in a relation.
type relation struct {
	created     bool
	otherHook   bool            // a hook other than created has run
	joined      members         // the units that have joined and not departed
	departed    map[string]bool // the units that have departed
	changedNext string          // the relation's next hook must be changed for this unit
	broken      bool
	taken       bool              // removed by force: no guarantee applies
	saw         map[string]string // unit → what its last changed hook saw
}

// members maps the units in a relation to the versions of their settings, or "" if unknown.
type members map[string]string

// newMembers parses UNIT[@VERSION]...
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
		u.relations[id] = &relation{joined: members{}, departed: map[string]bool{}, saw: map[string]string{}}
	}
	return u.relations[id]
}

// forgets reports whether the outcome of a hook no longer matters, because the hook's relation or
// storage was removed by force.
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

// succeed records that a hook of the relation succeeded.
func (r *relation) succeed(h *hook) {
	switch h.kind {
	case "-relation-created":
		r.created = true
		return
	case "-relation-joined":
		r.joined[h.remote], r.changedNext = h.Values["version"], h.remote
		delete(r.departed, h.remote)
	case "-relation-changed":
		if h.remote == r.changedNext {
			r.changedNext = ""
		}
		if r.joined.has(h.remote) {
			r.joined[h.remote] = h.Values["version"]
		}
		delete(r.saw, h.remote) // a hook that the user skipped may not have read anything
		if saw, ok := h.saw[[2]string{h.relation, h.remote}]; ok {
			r.saw[h.remote] = saw
		}
	case "-relation-departed":
		delete(r.joined, h.remote)
		delete(r.saw, h.remote)
		r.departed[h.remote] = true
	case "-relation-broken":
		r.broken = true
	}
	r.otherHook = true
}

// checkRelation checks a hook that is about a relation.
func (c *Checker) checkRelation(u *unit, h *hook, wrong report) {
	r := u.relation(h.relation)
	ofUnit := strings.Contains(h.remote, "/")
	switch {
	case r.taken: // the agent may not know yet
	case r.broken && h.kind == "-relation-broken":
		wrong("broken-once", "%s again", h)
	case r.broken:
		wrong("broken-last", "%s after broken", h)
	case h.kind == "-relation-created" && r.created:
		wrong("created-once", "%s again", h)
	case h.kind == "-relation-created" && r.otherHook:
		wrong("created-first", "%s after other hooks of the relation", h)
	case h.kind == "-relation-created":
	case u.later && !r.created && h.kind == "-relation-joined":
		wrong("created-first", "%s before created", h)
	case r.changedNext != "" && (h.kind != "-relation-changed" || h.remote != r.changedNext):
		wrong("changed-after-joined", "%s right after joined for %s", h, r.changedNext)
	case h.kind == "-relation-joined" && r.joined.has(h.remote):
		wrong("joined-once", "%s again", h)
	case h.kind == "-relation-departed" && r.departed[h.remote]:
		wrong("departed-once", "%s again", h)
	case h.kind != "-relation-joined" && ofUnit && r.departed[h.remote]:
		wrong("silent-after-departed", "%s after departed for %s", h, h.remote)
	case h.kind != "-relation-joined" && ofUnit && !r.joined.has(h.remote):
		wrong("joined-first", "%s before joined for %s", h, h.remote)
	case h.kind == "-relation-broken" && len(r.joined) > 0:
		wrong("broken-after-departed", "%s before departed for %v", h, slices.Sorted(maps.Keys(r.joined)))
	}
}

// saw checks what a hook read of another unit's settings.
func (c *Checker) saw(u *unit, e Entry) {
	relation, remote, value := e.Args[0], e.Args[1], e.Args[2]
	key := [2]string{relation, remote}
	wrong := u.reportTo(&c.wrong, e.Line)
	by := c.writes[write{remote, relationNumber(relation), value}]
	before, again := u.last.saw[key]
	switch {
	case again && before != value:
		wrong("repeatable-reads", "%s saw %s of %s, then %s", u.last, before, remote, value)
	case by == nil || by.ended && by.code != "0" || !by.ended && by.killed:
		wrong("discarded-writes", "%s saw %s of %s, which no successful hook has set", u.last, value, remote)
	case !by.ended:
		wrong("writes-at-the-end", "%s saw %s of %s, whose hook is still running", u.last, value, remote)
	case number(value) < number(u.relation(relation).saw[remote]):
		wrong("newest-last", "%s saw %s of %s, but %s before", u.last, value, remote, u.relation(relation).saw[remote])
	}
	u.last.saw[key] = value
}

// relationNumber returns the number in a relation id. It is the same for both units, unlike the
// name.
func relationNumber(id string) string { return id[strings.LastIndexByte(id, ':')+1:] }

func number(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64)
	return n
}
