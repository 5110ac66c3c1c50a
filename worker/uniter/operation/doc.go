// Package operation carries out what the resolver has decided. Any operation can be
// interrupted at any moment.
//
// An operation has three steps: Prepare, Execute and Commit. Each takes the unit's state and
// returns the state after it, which the Executor writes to disk before the next step begins.
// After a crash a step may therefore run again, or has to be judged by the state before it:
//
//   - A hook that had not begun is forgotten, and the resolver decides anew: it is recorded
//     together with its process, and the runner starts no hook before that is on disk. Only one
//     that replaces a failed hook is recorded before, since that must not be forgotten.
//   - A hook that had begun has failed, as if it had exited with a non-zero code: the agent
//     can't know how far it came. This includes a hook that succeeded if the agent died
//     before it could record that.
//   - If its success and its buffered changes are on disk, only the commit is left. It is
//     repeated until it succeeds. The controller's part may happen twice, with the same
//     effect.
//   - A charm is deployed again from the start.
//
// Every other operation is one call to the controller, which can be repeated.
package operation
