// Package worker runs workers: functions that do one duty for as long as their
// context lives.
//
// A [Func] is all that a worker is. Cancelling its context is how it is told to
// end, its return is how others know that it has. It owns every goroutine it
// starts and has ended them when it returns.
//
// [Run] runs a set of workers and starts those anew that fail. A set can be a
// worker of another: what needs a connection to the controller runs in a set of
// its own, inside the worker that holds the connection, so that a lost one
// restarts exactly those that needed it. An error that wraps [ErrFatal] goes through
// all sets and ends the agent.
//
// Most workers are a loop over a watch. [Notify] and [Strings] are that loop. What
// they handle is one event at a time, and an event is no more than a reason to
// look: the handler reads what is true now and acts on that.
package worker
