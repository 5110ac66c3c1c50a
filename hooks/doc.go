// Package hooks runs a charm's hooks. It defines the kinds of hooks and their environment, implements
// the reads and buffered writes of hook tools, and manages the hook's process, including hooks left
// running by a killed agent.
//
// The parts, in the order in which a unit agent uses them:
//
//   - Info describes one hook to run. It is plain data, so that an agent can store it on disk while
//     the hook runs.
//   - Context is the sandbox of one execution: reads are a snapshot, and writes are buffered
//     until the caller commits Changes.
//   - Runner runs the hooks of one unit, one at a time on the whole machine. It passes the Process to
//     the caller before the hook starts, so that no hook runs unrecorded.
//   - EndInterrupted kills a hook that a dead agent left running.
//
// A hook accesses its Context through the hook tools. These are symlinks, created by
// hooktools.Install, to the small binary cmd/hook-tool, which connects to the Runner over a unix socket
// with the protocol of package hooks/tool. Package hooks/hooktools implements the tools.
//
// A hook ends when its own process exits. Its background processes keep running, but can no longer use
// hook tools.
package hooks
