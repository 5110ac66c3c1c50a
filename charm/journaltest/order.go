package journaltest

import "slices"

// checkOrder checks the hooks that are not about relations, and the place of those that are.
func (c *Checker) checkOrder(u *unit, h *hook, wrong report) {
	first := h.later && slices.Contains([]string{"-relation-created", "leader-elected", "leader-settings-changed"}, h.kind)
	switch {
	case !h.known:
	case h.relation != "" && h.kind != "-relation-created" && !u.started:
		wrong("start-before-relations", "%s before start", h)
	case u.removed || h.kind == "remove" && !u.stopped:
		wrong("remove-last", "%s when stop has run is %v, and remove %v", h, u.stopped, u.removed)
	case u.stopped && h.kind != "remove":
		wrong("stop-last", "%s after stop", h)
	case !u.installed && h.kind != "install" && h.storage == "":
		wrong("install-first", "%s before install", h)
	case u.installed && h.kind == "install":
		wrong("install-once", "install again")
	case u.installed && u.configs == 0 && h.kind != "config-changed" && !first:
		wrong("config-changed-after-install", "%s right after install", h)
	case h.later && (u.upgraded || u.configs > 0 && !u.started):
		wrong("later-hooks-place", "%s comes between", h)
	case u.upgraded && h.kind != "config-changed":
		wrong("config-changed-after-upgrade-charm", "%s right after upgrade-charm", h)
	case u.configs > 0 && !u.started && h.kind != "start" && !(h.kind == "config-changed" && u.recovering):
		wrong("start-after-config-changed", "%s right after the first config-changed", h)
	case u.started && h.kind == "start":
		wrong("start-once", "start again")
	}
	switch h.kind {
	case "config-changed":
		if u.configs >= u.causes+c.configs[u.service]-u.base {
			wrong("config-changed-for-cause", "config-changed for the %d. time, and there were %d reasons", u.configs+1,
				u.causes+c.configs[u.service]-u.base)
		}
	case "stop":
		if open := u.open(); len(open) > 0 {
			wrong("stop-after-broken", "stop, and %v are not broken", open)
		}
	case "leader-elected", "leader-settings-changed":
		checkLeader(u, h, wrong)
	}
}

// bury checks a unit that was removed. One that was destroyed by force may have run nothing more.
func (c *Checker) bury(u *unit, line int) {
	wrong := u.reportTo(&c.wrong, line)
	c.conclude(u, nil, wrong)
	u.gone = true
	switch {
	case u.ended || !u.installed:
	case len(u.open()) > 0:
		wrong("broken-runs", "the unit is gone, and %v are not broken", u.open())
	case !u.stopped:
		wrong("stop-runs", "the unit is gone, and stop has not run")
	case u.later && !u.removed:
		wrong("remove-runs", "the unit is gone, and remove has not run")
	}
}
