// Package storage keeps collections of BSON documents, and their indexes,
// in Pebble.
//
// All databases share one Pebble instance. Keys begin with a byte for what
// they are:
//
//	01 <namespace>          a collection: its options, indexes and spaces
//	02                      the last space given out
//	03 <space>              a space that an index is being built in
//	10 <space> <key>        the content of a space
//
// A collection keeps its documents in a space of their own, each under its
// record key: the encoding of its _id, so that finding by _id is one lookup;
// or, in a capped collection, a number that counts up. An index has a space
// of its own too. Its keys are the encodings of the fields' values, followed
// by the record key unless the index is unique; its values are the record
// key.
//
// A change of one document, together with its index entries, is one batch,
// and so happens whole or not at all, in memory, on disk and to readers.
// Changes of one document happen one after another, under one of many locks
// that the record key picks; documents with different locks do not wait for
// one another, and readers wait for nobody.
//
// Writes are answered before they are on disk. Barrier waits until all that
// were answered before it are.
package storage
