// Package raw reads BSON in place. Documents stay the bytes that came from the wire or the disk and are never decoded
// as a whole: reading a field walks over lengths, without allocations.
//
// It trusts its input, because package wire has validated every document that arrives, down to the last length, and
// nothing else is stored.
package raw
