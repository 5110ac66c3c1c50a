// Package cleaner runs cleanups: work that a transaction defers. The transaction that makes the work
// necessary also writes a cleanup document; the cleaner then has state do the work in small, repeatable steps.
package cleaner
