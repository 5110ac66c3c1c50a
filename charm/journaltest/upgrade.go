package journaltest

import "slices"

// upgrade notes a service's new charm. A forced one reaches units that are in error by now, unless
// another comes that is not.
func (c *Checker) upgrade(e Entry) {
	c.configs[e.Who]++ // the new charm may have other settings
	c.charms[e.Who] = append(c.charms[e.Who], e.Args[0])
	c.forced[e.Who+" "+e.Args[0]] = len(e.Args) > 1
	for _, u := range c.units {
		if u.service == e.Who {
			u.forced = len(e.Args) > 1 && u.last != nil && u.last.ended && u.last.code != "0" && u.resolved == ""
		}
	}
}

// checkCharm checks upgrade-charm; failed says that the hook before has failed, and forced that
// the charm was upgraded by force while it had.
func (c *Checker) checkCharm(u *unit, h *hook, failed, forced bool, wrong func(string, string, ...any)) {
	is, was := h.Values["charm"], u.charm
	u.charm = is
	switch {
	case h.kind == "install" || is == "":
	case h.kind == "upgrade-charm" && failed && forced:
		wrong("forced-upgrade-from-error", "upgrade-charm runs in charm %s", is)
	case h.kind == "upgrade-charm" && is == was && !failed:
		wrong("upgrade-charm-only-after-change", "upgrade-charm runs in charm %s, which has run already", is)
	case h.kind != "upgrade-charm" && is != was && u.installed && !(failed && c.forcedBetween(u.service, was, is)):
		wrong("upgrade-charm-after-change", "%s runs in charm %s, after charm %s", h, is, was)
	}
}

// forcedBetween reports whether one of the charms after was, up to is, was forced upon its service.
func (c *Checker) forcedBetween(service, was, is string) bool {
	charms := c.charms[service]
	from, to := slices.Index(charms, was)+1, slices.Index(charms, is)+1
	return slices.ContainsFunc(charms[min(from, to):to], func(charm string) bool { return c.forced[service+" "+charm] })
}
