// Package raw reads BSON in place. Documents stay the bytes that came from the wire or the disk
// and are never decoded as a whole: reading a field costs a walk over lengths, and no allocation.
//
// It trusts its input: package wire has validated every document that arrives, down to the last
// length, and nothing else is stored.
package raw
