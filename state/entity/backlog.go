package entity

// A Backlog counts what in a model waits, or has failed.
type Backlog struct {
	Cleanups       int // left of destructions
	Pending        int // Alive machines without an instance
	FailedMachines int // machines whose status is error
	FailedUnits    int // units whose status is error: a hook has failed
	Tasks          int // actions and commands that have not begun
	Agents         int // agents that have been started, connected or not
}
