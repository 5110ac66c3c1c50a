package journaltest

// task notes that a task of the unit begins: a run of an action, or of a command.
func (c *Checker) task(u *unit, e Entry) {
	id := e.Args[0]
	wrong := u.reportTo(&c.wrong, e.Line)
	is := u.settled(c)
	// It is not known which hook has failed if the agent was killed before that could write that it began.
	open := u.orphans || u.last != nil && (u.last.killed || u.last.orphan)
	switch {
	case c.tasks[[2]string{u.name, id}]:
		wrong("task-once", "task %s again", id)
	case u.task != "":
		wrong("task-alone", "task %s while task %s runs", id, u.task)
	case u.last != nil && !u.last.ended && !u.last.killed:
		wrong("task-alone", "task %s while %s runs", id, u.last)
	case is.last == nil && !open && (!is.started || is.upgraded || is.stopped):
		wrong("task-place", "task %s when start has run is %v, and stop %v", id, is.started, is.stopped)
	}
	if is.last == nil && !open { // while a hook has failed, only tasks run
		c.turn(is, "tasks", e.Line, wrong)
	}
	delete(u.queued, id)
	c.tasks[[2]string{u.name, id}] = true
	if !u.orphans { // or it may have been killed with the agent
		u.task = id
	}
}
