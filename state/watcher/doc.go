// Package watcher tells the rest of the process what has changed in a database.
//
// A tailer follows the log that the transaction runner writes and hands each
// change to a Hub; a watcher subscribes to the topics that concern it, is woken,
// and reads afresh. There are two general shapes, Notify and Strings; the third,
// for the units of a relation, is state's own and keeps the same contract:
//
//   - The first event comes at once. Of a Strings watch it names all there is.
//   - Events carry ids, never values: the reader reads what it needs, when it
//     needs it.
//   - Events merge while nobody reads them. A slow reader gets fewer events, not
//     older ones, and holds up nobody.
//   - An id may be of something that has gone since: not found is normal.
//   - Watch, then read: what changes after the first event is told.
//   - Who reads at an event may find half of a transaction that goes on. When all of
//     it is there, there is an event more, of a Strings watch with the same ids: so an
//     id may be named again though nothing of it has changed.
//   - The channel closes when the context ends, or when the database is closed
//     or can't be read; whoever still wants to watch then starts anew.
//
// Revisions are never compared: a tailer that has lost its place tells everybody
// to read everything again, which is always right.
package watcher
