// Package outage is what happens when the store goes away: when a MongoDB does not respond, has no primary, or its primary
// has no majority.
//
// A request that gets no reply may or may not have been executed. So each kind of request has a way to go on:
//
//   - Reads, and writes that can be repeated, are tried again until they succeed (Retry). Their caller's context ends that.
//   - Writes that can't be repeated fail with the kind entity.Unavailable (Wrap).
//   - A transaction that was interrupted before its commit had no effect, and runs again (Failed). The commit itself is
//     repeated, which also tells whether it succeeded (Finish); with mgo/txn, the transaction is completed or aborted. If
//     the outage lasts, the caller is told that it is not known whether the change was made.
//   - Requests that wait at the barrier share one write, which is tried again. When it succeeds, what they read may still
//     have been rolled back with the primary that they read it from: see mongo.Began.
//
// An Outage begins with the first error that only an unavailable server can cause, or when a request has no reply for long
// and a probe has none either. Requests wait for it to end. After Bound it is taken for lasting: what is in progress is cut
// short, and requests fail at once, so that clients are told rather than kept waiting. From then on only the probe tries. Only
// a write that the majority confirms ends an outage: reads succeed without a majority too.
//
// The embedded store fails only together with this process; Never is its Availability.
package outage
