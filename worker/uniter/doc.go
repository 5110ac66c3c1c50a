// Package uniter is the main worker of a unit agent. It responds to changes in the controller's state by
// running the charm's hooks, in an order that charms can rely on, until the unit is removed.
//
// Its subpackages can be understood independently:
//
//   - localstate: the unit's own persistent state, a single file;
//   - resolver: a pure function from the local and the controller's state to the unit's next
//     operation; it documents the rules;
//   - operation: operations, in steps that survive a crash between any two;
//   - charmdir: the charm directory and its history.
//
// This package has the loop. It reads the controller's state, asks the resolver for the next operation, runs
// it, and repeats this until there is nothing to do. Then it waits for a watch. A watch only wakes the loop,
// which then reads the current state. The loop runs one operation at a time.
package uniter
