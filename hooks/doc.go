// Package hooks runs a charm's hooks: it knows the kinds of hooks, the environment of each,
// what a hook can read and buffer through the hook tools, and its process, from the start to
// what remains of it when an agent dies.
//
// The parts, in the order in which a unit agent uses them:
//
//   - Info names one hook to run. It is plain data, so that an agent can keep it on disk while
//     the hook runs.
//   - Context is the sandbox of one execution: reads are a snapshot, and writes are buffered
//     until the caller commits Changes.
//   - Runner runs the hooks of one unit, one at a time on the whole machine. It gives the
//     caller a Process to record before the hook begins, so that no hook runs unrecorded.
//   - EndInterrupted ends what a dead agent left running.
//
// A hook talks to its Context through the hook tools. These are links, made by
// hooktools.Install, to the small program cmd/hook-tool, which talks to the Runner over a unix socket
// with the protocol of package hooks/tool. Package hooks/hooktools has what each tool does.
//
// A hook is over when its own process exits. Processes that it has left in the background go
// on, but their hook tools are refused.
package hooks
