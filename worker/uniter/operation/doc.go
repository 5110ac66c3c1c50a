// Package operation runs the operations that the resolver chooses. Any operation can be interrupted at any
// moment.
//
// An operation has three steps: Prepare, Execute and Commit. Each takes the unit's state and returns the new
// state, which the Executor writes to disk before the next step begins. After a crash, the agent continues from
// the last state on disk:
//
//   - A hook that had not started leaves no trace, and the resolver decides again. A hook is recorded
//     together with its process, and the runner starts no hook before the record is on disk. Only a hook
//     that replaces a failed one is recorded earlier, so that the failure is not lost.
//   - A hook that had started is treated as failed, because the agent can't know how much of it ran.
//     This includes a hook that succeeded if the agent died before recording the success.
//   - If the success and the buffered changes are on disk, only the commit remains. It is repeated
//     until it succeeds; the controller ignores repetitions.
//   - The deployment of a charm starts over.
//
// Every other operation is a single, repeatable call to the controller.
package operation
