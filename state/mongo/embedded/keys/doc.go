// Package keys orders BSON values as MongoDB does, in two ways: Compare for two values, and
// Append, an encoding whose bytes sort in the same order. Document and index keys consist of
// these encodings.
//
// Across types the order is MinKey, undefined, null, numbers, strings and symbols, documents,
// arrays, binary data, object ids, booleans, dates, timestamps, regular expressions, DBPointers,
// code, code with scope, MaxKey. Numbers of all four types are ordered together: 1, int64 1, 1.0
// and decimal 1 have the same encoding. Documents compare field by field in their own order, each
// by type, then name, then value.
//
// No encoded value is a prefix of another one, so encodings can be concatenated. No encoding
// begins with 0x00 or 0xff, inverted or not.
package keys
