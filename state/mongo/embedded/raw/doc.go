// Package raw reads BSON in place. Documents are passed about as the bytes
// that came from the wire or the disk and are never decoded as a whole:
// looking at a field costs a walk over lengths, and no allocation.
//
// It trusts what it reads: package wire has checked every document that
// comes in, down to the last length, and nothing else gets stored.
package raw
