package journaltest

import "slices"

// checkOrder checks the order of a unit's hooks, except within a relation or storage instance.
func (c *Checker) checkOrder(u *unit, h *hook, wrong report) {
	afterInstall := h.later && slices.Contains([]string{"-relation-created", "leader-elected", "leader-settings-changed"}, h.kind)
	switch {
	case !h.known:
	case h.relation != "" && h.kind != "-relation-created" && !u.started:
		wrong("start-before-relations", "%s before start", h)
	case u.removed || h.kind == "remove" && !u.stopped:
		wrong("remove-last", "%s (stop has run: %v, remove has run: %v)", h, u.stopped, u.removed)
	case u.stopped && h.kind != "remove":
		wrong("stop-last", "%s after stop", h)
	case !u.installed && h.kind != "install" && h.storage == "":
		wrong("install-first", "%s before install", h)
	case u.installed && h.kind == "install":
		wrong("install-once", "install again")
	case u.installed && u.configs == 0 && h.kind != "config-changed" && !afterInstall:
		wrong("config-changed-after-install", "%s right after install", h)
	case h.later && (u.upgraded || u.configs > 0 && !u.started):
		wrong("later-hooks-place", "%s between hooks that directly follow each other", h)
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
			wrong("config-changed-for-cause", "config-changed has run %d times for %d causes", u.configs+1,
				u.causes+c.configs[u.service]-u.base)
		}
	case "stop":
		if open := u.open(); len(open) > 0 {
			wrong("stop-after-broken", "stop before broken for %v", open)
		}
	case "leader-elected", "leader-settings-changed":
		checkLeader(u, h, wrong)
	}
}

// checkRemoved checks a unit that was removed. If it was removed by force, its last hooks need not
// have run.
func (c *Checker) checkRemoved(u *unit, line int) {
	wrong := u.reportTo(&c.wrong, line)
	c.conclude(u, nil, wrong)
	u.gone = true
	switch {
	case u.forceRemoved || !u.installed:
	case len(u.open()) > 0:
		wrong("broken-runs", "the unit was removed, but broken has not run for %v", u.open())
	case !u.stopped:
		wrong("stop-runs", "the unit was removed, but stop has not run")
	case u.later && !u.removed:
		wrong("remove-runs", "the unit was removed, but remove has not run")
	}
}
