package journaltest

import (
	"maps"
	"slices"
)

// Missing returns the guarantees that would be broken if no agent had anything left to do, as
// violations in this line.
func (c *Checker) Missing(line int) []Violation {
	var all []Violation
	for _, name := range c.Units() {
		u := c.units[name]
		c.missing(u.settled(c), u.last != nil && u.last.failed(), u.reportTo(&all, line))
	}
	return all
}

// missing reports the hooks that a settled unit has yet to run. failed means that its last hook failed: then a forced
// upgrade may have followed, of which no hook tells.
func (c *Checker) missing(u *unit, failed bool, wrong report) {
	var newest version
	if charms := c.charms[u.service]; len(charms) > 0 {
		newest = charms[len(charms)-1]
	}
	switch {
	case u.last != nil && !u.last.ended && !u.last.killed:
		wrong("one-at-a-time", "%s has not ended", u.last)
		return
	case u.last != nil:
		return // it failed, and waits for the user
	case !u.installed:
		wrong("install-first", "install has not run")
	case u.configs == 0:
		wrong("config-changed-after-install", "config-changed has not run")
	case !u.started:
		wrong("start-after-config-changed", "start has not run")
	case newest.charm != "" && u.charm != "" && u.charm != newest.charm && !(failed && newest.forced):
		wrong("upgrade-charm-after-change", "the charm is still %s, not %s", u.charm, newest.charm)
	case u.upgraded:
		wrong("config-changed-after-upgrade-charm", "config-changed has not run")
	case u.config != "" && c.settings[u.service] != "" && u.config != c.settings[u.service]:
		wrong("config-changed-for-change", "config-changed has run for settings %s, not %s", u.config, c.settings[u.service])
	case u.recovering:
		wrong("config-changed-after-recovery", "config-changed has not run since the agent was killed")
	}
	c.missingOfLeader(u, wrong)
	c.missingOfStorage(u, wrong)
	for _, id := range slices.Sorted(maps.Keys(u.relations)) {
		c.missingIn(u, id, wrong)
	}
}

func (c *Checker) missingIn(u *unit, id string, wrong report) {
	r := u.relations[id]
	if r.broken || r.taken {
		return
	}
	if r.changedNext != "" {
		wrong("changed-after-joined", "changed has not run for %s in %s", r.changedNext, id)
	}
	if now := c.members[u.name]; now != nil {
		current, in := now[id]
		if !in {
			wrong("broken-runs", "the unit has left %s, but broken has not run", id)
		}
		for _, m := range slices.Sorted(maps.Keys(current)) {
			switch version, ok := r.joined[m]; {
			case !ok:
				wrong("joined-each", "joined has not run for %s in %s", m, id)
			case current[m] != "" && version != current[m]:
				wrong("changed-for-change", "changed has run for version %s of %s in %s, not %s", version, m, id, current[m])
			}
		}
		for m := range r.joined {
			if in && !current.has(m) {
				wrong("departed-each", "departed has not run for %s in %s", m, id)
			}
		}
	}
	for m := range r.joined {
		if c.units[m] == nil || c.units[m].gone {
			continue
		}
		current := c.units[m].settled(c).sets[relationNumber(id)]
		if saw, ok := r.saw[m]; ok && current.certain != "" && saw != current.certain && saw != current.uncertain {
			wrong("changed-for-change", "changed saw %s of %s in %s, not %s", saw, m, id, current.certain)
		}
	}
}

// settled returns the unit as it is if no hook follows. It has a last hook only if that failed or is
// still running.
func (u *unit) settled(c *Checker) *unit {
	if u.last == nil || u.last.failed() && u.resolved != "no-retry" {
		return u
	}
	is := *u
	is.sets, is.relations, is.instances = maps.Clone(u.sets), maps.Clone(u.relations), maps.Clone(u.instances)
	if id := u.last.relation; id != "" && u.relations[id] != nil {
		r := *u.relations[id]
		r.joined, r.departed, r.saw = maps.Clone(r.joined), maps.Clone(r.departed), maps.Clone(r.saw)
		is.relations[id] = &r
	}
	if id := u.last.storage; id != "" {
		s := *u.storage(id)
		is.instances[id] = &s
	}
	c.conclude(&is, nil, func(string, string, ...any) {})
	return &is
}

// ForgetMembers discards the members lines so far; the test is about to write current ones.
func (c *Checker) ForgetMembers() { c.members = map[string]map[string]members{} }
