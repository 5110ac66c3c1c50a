// Package cleaner runs cleanups: the work that a transaction leaves for later. State writes a
// cleanup document in the transaction that makes the work necessary, and the cleaner has state
// do it, in small steps that can be repeated.
package cleaner
