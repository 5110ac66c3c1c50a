package journaltest

// checkLeader checks leader-elected and leader-settings-changed.
func checkLeader(u *unit, h *hook, wrong report) {
	leads, claim, version := h.Values["leads"], h.Values["claim"], h.Values["version"]
	switch {
	case h.kind == "leader-elected" && leads == "false":
		wrong("elected-leads", "leader-elected in a unit that does not lead")
	case h.kind == "leader-elected" && claim != "" && claim == u.elected:
		wrong("elected-once", "leader-elected again for claim %s", claim)
	case h.kind == "leader-settings-changed" && leads == "true":
		wrong("follower-told", "leader-settings-changed in a unit that leads")
	case h.kind == "leader-settings-changed" && version != "" && version == u.led:
		wrong("led-once", "leader-settings-changed again for version %s", version)
	}
}

// missingOfLeader reports the leader hooks that have yet to run, if the charm has them.
func (c *Checker) missingOfLeader(u *unit, wrong report) {
	claim, known := c.claims[u.name]
	led, set := c.led[u.service]
	switch {
	case !u.later || !known:
	case claim != "0" && claim != u.elected:
		wrong("elected-each", "leader-elected has not run for claim %s", claim)
	case claim == "0" && set && led != u.led:
		wrong("led-each", "leader-settings-changed has not run for version %s", led)
	}
}
