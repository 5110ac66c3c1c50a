// Package storage stores collections of BSON documents, and their indexes, in Pebble.
//
// All databases share one Pebble instance. The first byte of a key is its kind:
//
//	01 <namespace>          a collection: its options, indexes and spaces
//	02                      the last space allocated
//	03 <space>              a space in which an index or a collection's new content is being built
//	04 <session>            the last transaction or retryable write of a client's session
//	10 <space> <key>        the content of a space
//
// A collection stores its documents in a space, each under its record key: the encoding of its _id, so that finding it
// by _id is one lookup; or, in a capped collection, an increasing number. An index has a space of its own. Its keys are
// the encodings of the fields' values, followed by the record key unless the index is unique; its values are the record
// keys.
//
// A change to one document and its index entries is one batch, so it is atomic in memory, on disk and for
// readers. Changes to one document are serialised by one of many locks, chosen by the record key; documents
// with different locks don't wait for each other, and readers never wait.
//
// A transaction reads a Pebble snapshot with its own changes on top. It holds the documents that it changes: another
// transaction that changes one of them fails at once, and so does one whose snapshot is older than the last change; a
// write outside transactions waits. Its commit is one batch. Nothing uncommitted reaches Pebble, so a crash leaves no
// trace of it.
//
// Writes are acknowledged before they are on disk. Barrier waits until all writes acknowledged before it are.
package storage
