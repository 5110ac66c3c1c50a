package journaltest

import "maps"

// A wait says since when a source of hooks or tasks has been waiting for its turn.
type wait struct {
	line   int
	served map[string]int // other source → how many turns it got meanwhile
}

// turn checks that it is the source's turn. source is "" for a hook that takes no turn, because it
// must follow another hook or is retried.
func (c *Checker) turn(u *unit, source string, line int, wrong report) {
	waits := c.waits(u)
	maps.DeleteFunc(u.waits, func(s string, _ *wait) bool { return !waits[s] })
	for s := range waits {
		if u.waits[s] == nil {
			u.waits[s] = &wait{line: line, served: map[string]int{}}
		}
	}
	delete(u.waits, source)
	for s, w := range u.waits {
		if w.served[source]++; source != "" && w.served[source] > 1+c.Lag {
			wrong("served-in-turn", "%s is served %d times while %s is waiting since line %d", source, w.served[source], s, w.line)
			delete(u.waits, s)
		}
	}
}

// sourceOf returns the source whose turn a hook takes, or "" for none. again means that the hook is
// retried.
func (u *unit) sourceOf(h *hook, again bool) string {
	switch {
	case again || !u.started || u.upgraded:
		return ""
	case h.relation != "" && (u.relation(h.relation).changedNext == h.remote && h.remote != "" || h.kind == "-relation-created"):
		return ""
	case h.relation != "":
		return turnOf(h.relation, h.remote)
	case h.storage != "":
		return h.storage
	}
	switch h.kind {
	case "config-changed":
		if u.recovering {
			return ""
		}
		return "settings"
	case "leader-elected", "leader-settings-changed":
		return "leader"
	case "secret-changed", "secret-remove", "secret-rotate", "secret-expired":
		return "secrets"
	case "update-status":
		return "time"
	}
	return ""
}

func turnOf(relation, remote string) string { return relation + " " + remote }

// waits returns the sources that are waiting for their turn, as far as the journal tells.
func (c *Checker) waits(u *unit) map[string]bool {
	waits := map[string]bool{}
	if u.dying {
		return waits // a dying unit's charm skips some hooks
	}
	if version := c.settings[u.service]; version != "" && u.config != "" && u.config != version {
		waits["settings"] = true
	}
	if led, set := c.led[u.service]; set && u.follows && led != u.led {
		waits["leader"] = true
	}
	if len(u.queued) > 0 {
		waits["tasks"] = true
	}
	for id := range c.members[u.name] {
		if u.relations[id] == nil {
			for m := range c.members[u.name][id] {
				waits[turnOf(id, m)] = true
			}
		}
	}
	for id, r := range u.relations {
		if r.broken || r.taken {
			continue
		}
		current, known := c.members[u.name][id]
		for m, version := range current {
			if last, ok := r.joined[m]; !ok || version != "" && version != last {
				waits[turnOf(id, m)] = true
			}
		}
		for m := range r.joined {
			other := c.units[m]
			set, saw := "", r.saw[m]
			if other != nil && !other.gone && saw != "" && !other.mayHaveSet(relationNumber(id), saw) {
				set = other.sets[relationNumber(id)].certain
			}
			if known && !current.has(m) || set != "" && set != saw {
				waits[turnOf(id, m)] = true
			}
		}
	}
	return waits
}

// mayHaveSet reports whether the unit may have set this value in a relation, in a hook whose outcome
// is unknown.
func (u *unit) mayHaveSet(relation, value string) bool {
	return value == u.sets[relation].uncertain || u.last != nil && value == u.last.sets[relation]
}
