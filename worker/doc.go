// Package worker runs workers: functions that do one duty for as long as their context lives.
//
// A worker is a [Func]. Cancelling its context tells it to end, and its return tells others
// that it has. It owns every goroutine that it starts, and has ended them when it returns.
//
// [Run] runs a set of workers and restarts the ones that fail. A set can itself be a worker of
// another set: workers that need a connection to the controller form a set inside the worker
// that holds the connection, so losing the connection restarts exactly those. An error that
// wraps [ErrFatal] ends all enclosing sets, and with them the agent.
//
// Most workers are a loop over a watch; [Notify] and [Strings] are that loop. They handle one
// event at a time. An event is only a reason to look: the handler reads the current facts and
// acts on them.
package worker
