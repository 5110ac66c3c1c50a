// Package keys orders BSON values the way MongoDB does, twice over: Compare
// for two values in hand, and Append, an encoding whose bytes, compared as
// bytes, give the same order. The encoding is what document and index keys
// are made of.
//
// Across types the order is MinKey, undefined, null, numbers, strings and
// symbols, documents, arrays, binary data, object ids, booleans, dates,
// timestamps, regular expressions, DBPointers, code, code with scope,
// MaxKey. Numbers of all four types are one line: 1, int64 1, 1.0 and
// decimal 1 have one and the same encoding. Documents compare field by field
// in their own order, each by type, then name, then value.
//
// An encoded value is never the beginning of another one, so encodings can
// be put end to end. No encoding begins with 0x00 or 0xff, inverted or not.
package keys
