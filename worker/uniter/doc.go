// Package uniter is the main worker of a unit's agent. It turns what the controller says
// into the charm's hooks, in an order that charms can rely on, until the unit is gone.
//
// It has four parts, which can be understood one by one:
//
//   - localstate: what the unit remembers, in one file;
//   - resolver: the pure function from that, and from what the controller says, to the unit's
//     next operation; it documents the rules;
//   - operation: operations, in steps that survive a crash between any two;
//   - charmdir: the charm directory and its history.
//
// What is left for this package is the loop. It reads what the controller says, asks the
// resolver, carries out the operation, and asks again, until there is nothing to do. Then it
// waits for a watch. A watch only wakes it up: it then reads everything anew. It does one
// thing at a time.
package uniter
