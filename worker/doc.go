// Package worker runs workers: functions that perform one task for as long as their context is live.
//
// A worker is a [Func]. Cancelling its context stops it; it has stopped when it returns. It owns
// every goroutine that it starts, and waits for all of them before it returns.
//
// [Run] runs a set of workers and restarts the ones that fail. A set can itself be a worker of
// another set: workers that need a connection to the controller form a set inside the worker
// that holds the connection, so losing the connection restarts exactly those. An error that
// wraps [ErrFatal] ends all enclosing sets, and with them the agent.
//
// Most workers loop over a watch; [Notify] and [Strings] implement that loop. They handle one event at a
// time. An event says only that something may have changed: the handler reads the current state and acts on it.
package worker
