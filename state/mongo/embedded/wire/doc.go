// Package wire reads and writes the messages of MongoDB's wire protocol.
//
// It covers what clients of the embedded store send: OP_QUERY, OP_GET_MORE and
// OP_KILL_CURSORS (mgo), OP_MSG (every driver of today), and the two shapes an
// answer has, OP_REPLY and OP_MSG. The opcodes that 3.6 already called legacy,
// OP_INSERT and its kin, are refused: nobody sends them at the versions the
// store reports.
//
// Whatever bytes arrive, reading ends in a message, an I/O error or an *Error.
// Lengths are checked before anything is allocated by them, and every document
// of a message handed out was walked to its last nested element, so that code
// behind this package may use bsoncore's accessors without looking at ok flags.
package wire
