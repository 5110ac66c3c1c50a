package journaltest

import "slices"

// A version is a charm that a service was given.
type version struct {
	charm  string
	forced bool
}

// upgrade notes a service's new charm. A forced one reaches units that are in error by now, unless
// another comes that is not.
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

// checkCharm checks upgrade-charm; failed says that the hook before has failed, and forced that
// the charm was upgraded by force while it had.
func (c *Checker) checkCharm(u *unit, h *hook, failed, forced bool, wrong report) {
	is, was := h.Values["charm"], u.charm
	from := u.charms
	for i, v := range c.charms[u.service] {
		if v.charm == is && i >= from {
			u.charms = i + 1
		}
	}
	between := c.charms[u.service][from:u.charms]
	isForced := func(v version) bool { return v.forced }
	u.charm = is
	switch {
	case h.kind == "install" || is == "":
	case h.kind == "upgrade-charm" && failed && forced:
		wrong("forced-upgrade-from-error", "upgrade-charm runs in charm %s", is)
	case h.kind == "upgrade-charm" && is == was && len(between) == 0 && !failed:
		wrong("upgrade-charm-only-after-change", "upgrade-charm runs in charm %s, which has run already", is)
	case h.kind != "upgrade-charm" && is != was && u.installed && !(failed && slices.ContainsFunc(between, isForced)):
		wrong("upgrade-charm-after-change", "%s runs in charm %s, after charm %s", h, is, was)
	}
}
