// Package uniter is the heart of a unit's agent: it turns what the controller says
// into the charm's hooks, in an order that charms can rely on, and sees the unit off
// when it goes.
//
// It is four things, each of which can be understood alone:
//
//   - localstate: what the unit remembers, in one file;
//   - resolver: the pure function from that and from what the controller says to the
//     unit's next operation; the rules stand there;
//   - operation: operations, in steps that survive a crash between any two;
//   - charmdir: the charm directory and its history.
//
// What is left for this package is the loop: it reads what the controller says, asks
// the resolver, carries out the operation, and asks again, until there is nothing to do.
// Then it waits for a watch. Watches only wake it: everything is read anew when it
// matters, and one thing is done at a time.
package uniter
