package journaltest

// task checks a task of the unit that starts: a run of an action or of a command.
func (c *Checker) task(u *unit, e Entry) {
	id := e.Args[0]
	wrong := u.reportTo(&c.wrong, e.Line)
	settled := u.settled(c)
	// If the agent was killed, a hook may have failed before it could write begin.
	uncertain := u.agentKilled || u.last != nil && (u.last.killed || u.last.mayBeKilled)
	switch {
	case c.tasks[[2]string{u.name, id}]:
		wrong("task-once", "task %s again", id)
	case u.task != "":
		wrong("task-alone", "task %s while task %s runs", id, u.task)
	case u.last != nil && !u.last.ended && !u.last.killed && !u.last.mayBeKilled:
		wrong("task-alone", "task %s while %s runs", id, u.last)
	case settled.last == nil && !uncertain && (!settled.started || settled.upgraded || settled.stopped):
		wrong("task-place", "task %s (start has run: %v, upgrade-charm was last: %v, stop has run: %v)", id,
			settled.started, settled.upgraded, settled.stopped)
	}
	if settled.last == nil && !uncertain { // while a hook is in error, only tasks run
		c.turn(settled, "tasks", e.Line, wrong)
	}
	if u.last != nil && u.last.mayBeKilled && !u.last.ended {
		u.last.task = id // the hook must have been killed, so it never ends
	}
	delete(u.queued, id)
	c.tasks[[2]string{u.name, id}] = true
	if !u.agentKilled { // otherwise it may have been killed with the agent
		u.task = id
	}
}
