// Package operation carries out what the resolver has decided, so that it may be
// interrupted anywhere.
//
// An operation has three steps: Prepare, Execute and Commit. Each takes the unit's
// state and returns the one that holds when it is done, and the Executor puts that on
// disk before the next step begins. What an operation does in a step may so happen
// again after a crash, or be known only from the state before it:
//
//   - A hook that had not begun is forgotten; the resolver decides anew. The hooks'
//     runner lets no hook begin whose process is not on disk.
//   - A hook that had begun has failed, as it would have by a non-zero exit: nobody can
//     tell how far it came. The one gap is that between its exit and the write of what
//     came of it, where a success is taken for an interruption too.
//   - When its success is on disk, with all that it has buffered, only the commit is
//     left, which is repeated until it works: the controller's part may be done twice,
//     to the same effect, before the unit's own.
//   - A charm is deployed again from the start.
//
// Everything else is one call to the controller that can be repeated.
package operation
