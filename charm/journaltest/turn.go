package journaltest

import "maps"

// A wait is what a source of hooks, or of tasks, waits for its turn since.
type wait struct {
	line   int
	served map[string]int // how often each other source was served meanwhile
}

// turn checks that a source may have this turn, "" if the hook that begins is no one's turn: it
// follows another, or runs again.
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
			wrong("served-in-turn", "%s is served for the %d. time, and %s waits since line %d", source, w.served[source], s, w.line)
			delete(u.waits, s)
		}
	}
}

// sourceOf returns whose turn a hook is; again says that it has failed and runs again.
func (u *unit) sourceOf(h *hook, again bool) string {
	switch {
	case again || !u.started || u.upgraded:
		return ""
	case h.relation != "" && (u.relation(h.relation).joined == h.remote && h.remote != "" || h.kind == "-relation-created"):
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
	case "update-status":
		return "time"
	}
	return ""
}

func turnOf(relation, remote string) string { return relation + " " + remote }

// waits returns the sources that wait for their turn, as far as the journal says.
func (c *Checker) waits(u *unit) map[string]bool {
	waits := map[string]bool{}
	if u.dying {
		return waits // the charm is not told of all that happens now
	}
	if is := c.settings[u.service]; is != "" && u.config != "" && u.config != is {
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
		there, known := c.members[u.name][id]
		for m, version := range there {
			if told, ok := r.told[m]; !ok || version != "" && version != told {
				waits[turnOf(id, m)] = true
			}
		}
		for m := range r.told {
			other := c.units[m]
			is, saw := "", r.saw[m]
			if other != nil && !other.gone && saw != "" && !other.mayHaveSet(runtime(id), saw) {
				is = other.sets[runtime(id)].certain
			}
			if known && !there.has(m) || is != "" && is != saw {
				waits[turnOf(id, m)] = true
			}
		}
	}
	return waits
}

// mayHaveSet reports whether the unit's last writes in a relation, of which it is not known whether
// they were made, are this value.
func (u *unit) mayHaveSet(relation, value string) bool {
	return value == u.sets[relation].perhaps || u.last != nil && value == u.last.sets[relation]
}
