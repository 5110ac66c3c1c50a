// Package wire reads and writes the messages of MongoDB's wire protocol.
//
// It has the messages of the embedded store's clients: OP_QUERY, OP_GET_MORE and OP_KILL_CURSORS (mgo), OP_MSG (all
// current drivers), and the two forms of a reply, OP_REPLY and OP_MSG. It rejects the opcodes that were already legacy
// in 3.6, such as OP_INSERT: no client sends them to a server of the reported version.
//
// Whatever bytes arrive, reading ends in a message, an I/O error or an *Error. Lengths are checked before anything is
// allocated for them, and every document of a message has been validated down to its last nested element, so callers
// may ignore the ok flags of bsoncore's accessors.
package wire
