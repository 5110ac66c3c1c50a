package journaltest

import (
	"maps"
	"slices"
)

// Missing returns which promises are still to be kept, as if this line said that all agents have
// nothing left to do.
func (c *Checker) Missing(line int) []Violation {
	var all []Violation
	for _, name := range c.Units() {
		u := c.units[name]
		c.missing(u.settled(c), u.reportTo(&all, line))
	}
	return all
}

// missing adds what a unit still has to be told.
func (c *Checker) missing(u *unit, wrong report) {
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
	case len(charms) > 0 && u.charm != "" && u.charm != charms[len(charms)-1].charm:
		wrong("upgrade-charm-after-change", "the charm is still %s, not %s", u.charm, charms[len(charms)-1].charm)
	case u.upgraded:
		wrong("config-changed-after-upgrade-charm", "config-changed has not run")
	case u.config != "" && c.settings[u.service] != "" && u.config != c.settings[u.service]:
		wrong("config-changed-for-change", "the charm was told settings %s, not %s", u.config, c.settings[u.service])
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
	if r.joined != "" {
		wrong("changed-after-joined", "changed has not run for %s in %s", r.joined, id)
	}
	if now := c.members[u.name]; now != nil {
		there, in := now[id]
		if !in {
			wrong("broken-runs", "the unit has left %s, and broken has not run", id)
		}
		for _, m := range slices.Sorted(maps.Keys(there)) {
			switch told, ok := r.told[m]; {
			case !ok:
				wrong("joined-each", "joined has not run for %s in %s", m, id)
			case there[m] != "" && told != there[m]:
				wrong("changed-for-change", "the charm was told version %s of %s in %s, not %s", told, m, id, there[m])
			}
		}
		for m := range r.told {
			if in && !there.has(m) {
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
	is.sets, is.relations, is.instances = maps.Clone(u.sets), maps.Clone(u.relations), maps.Clone(u.instances)
	if id := u.last.relation; id != "" && u.relations[id] != nil {
		r := *u.relations[id]
		r.told, r.departed, r.saw = maps.Clone(r.told), maps.Clone(r.departed), maps.Clone(r.saw)
		is.relations[id] = &r
	}
	if id := u.last.storage; id != "" {
		s := *u.storage(id)
		is.instances[id] = &s
	}
	c.conclude(&is, nil, func(string, string, ...any) {})
	return &is
}

// Forget drops what the members lines have said, so that they can be said anew.
func (c *Checker) Forget() { c.members = map[string]map[string]members{} }
