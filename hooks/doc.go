// Package hooks runs a charm's hooks: what kinds there are, the environment
// each is given, what it can ask and buffer through the hook tools, and the
// process itself, from its start to what is left of it when an agent died.
//
// The parts, in the order in which a unit agent meets them:
//
//   - Info names one hook to run. It is plain data, so that an agent can keep it
//     on disk while the hook is in flight.
//   - Context is the sandbox of one execution: reads are a snapshot, and what
//     the hook writes is buffered until the caller commits Changes.
//   - Runner runs hooks of one unit, one at a time on the whole machine. It gives
//     the caller a Process to write down before the hook begins, so that no hook
//     ever runs unrecorded.
//   - EndInterrupted ends what a dead agent left running.
//
// A hook talks to its Context through the hook tools: links, made by
// InstallTools, to the small binary of cmd/hook-tool, which speaks the protocol
// of package hooks/tool with the Runner over a unix socket.
//
// A hook is over when its own process exits. What it has started in the
// background lives on, but its hook tools are refused from then on.
package hooks
