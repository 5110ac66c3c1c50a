// Package watcher notifies the rest of the process of changes to a database.
//
// A tailer follows the store's change stream, or the log of mgo/txn, and passes each change to a Hub. A watcher
// subscribes to the topics it cares about, is woken, and rereads. The package has two general kinds of watch, Notify and
// Strings; a third, for the units of a relation, is in state and has the same contract:
//
//   - The first event is sent immediately. In a Strings watch it names every id.
//   - Events carry ids, never values: the reader reads what it needs, when it
//     needs it.
//   - Events merge until they are read. A slow reader gets fewer events, not
//     older ones, and delays no one else.
//   - The entity of an id may have been removed in the meantime: not found is normal.
//   - Watch, then read: changes after the first event are reported.
//   - A reader may see a transaction of mgo/txn that is half applied. When all of it
//     is applied there is another event, for a Strings watch with the same ids, so
//     an id may be repeated although nothing about it has changed.
//   - The channel closes when the context ends, or when the database is closed
//     or can't be read; a reader that wants to continue starts a new watch.
//
// Revisions are never compared: when a tailer loses its position, it makes all watchers reread everything,
// which is always correct.
package watcher
