package journaltest

import "slices"

// A version is a charm that a service was deployed with or upgraded to.
type version struct {
	charm  string
	forced bool
}

// upgrade records a service's new charm. A forced upgrade reaches units that are in error, unless an
// ordinary upgrade follows.
func (c *Checker) upgrade(e Entry) {
	forced := len(e.Args) > 1
	c.configs[e.Who]++ // the new charm may have other settings
	c.charms[e.Who] = append(c.charms[e.Who], version{e.Args[0], forced})
	for _, u := range c.units {
		if u.service == e.Who {
			u.forced = forced && u.last != nil && u.last.ended && u.last.code != "0" && u.resolved == ""
		}
	}
}

// checkCharm checks the charm that a hook runs in. failed means that the last hook failed; forced,
// that the charm was upgraded by force after that failure. If the agent was killed since, it may have been about to start
// another hook, which has failed too, without a line of the journal.
func (c *Checker) checkCharm(u *unit, h *hook, failed, forced bool, wrong report) {
	current, last := h.Values["charm"], u.charm
	from := u.charms
	for i, v := range c.charms[u.service] {
		if v.charm == current && i >= from {
			u.charms = i + 1
		}
	}
	between := c.charms[u.service][from:u.charms]
	isForced := func(v version) bool { return v.forced }
	u.charm = current
	switch {
	case h.kind == "install" || current == "":
	case h.kind == "upgrade-charm" && failed && forced:
		wrong("forced-upgrade-from-error", "upgrade-charm in charm %s", current)
	case h.kind == "upgrade-charm" && current == last && len(between) == 0 && !failed:
		wrong("upgrade-charm-only-after-change", "upgrade-charm again in charm %s", current)
	case h.kind != "upgrade-charm" && current != last && u.installed && !((failed || u.agentKilled) && slices.ContainsFunc(between, isForced)):
		wrong("upgrade-charm-after-change", "%s in charm %s right after charm %s", h, current, last)
	}
}
