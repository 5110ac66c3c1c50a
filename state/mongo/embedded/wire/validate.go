package wire

import (
	"bytes"
	"encoding/binary"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/bson/bsontype"
)

// maxDepth limits the nesting of documents and arrays. MongoDB accepts 200 on the wire and promises 100; code that
// walks documents recursively relies on the limit.
const maxDepth = 200

// validate validates the document at the start of b, which is nested in depth others, and returns its length.
//
// bsoncore's own Validate stops at the first level, and uses a length of zero as index -1. Decoding into
// values would work, but at many times the cost.
func validate(b []byte, depth int) (int, error) {
	if depth >= maxDepth {
		return 0, malformed("documents nest deeper than %d", maxDepth)
	}
	size, err := length(b)
	if err != nil {
		return 0, err
	}
	if size < 5 || size > len(b) {
		return 0, malformed("a document of %d bytes, %d are left", size, len(b))
	}
	if b[size-1] != 0 {
		return 0, malformed("a document has no end")
	}
	rest := b[4 : size-1]
	for len(rest) > 0 {
		kind := bsontype.Type(rest[0])
		name := bytes.IndexByte(rest[1:], 0)
		if name < 0 {
			return 0, malformed("a field's name has no end")
		}
		key := rest[1 : 1+name]
		rest = rest[name+2:]
		n, err := valueSize(kind, rest, depth)
		if err != nil {
			return 0, err
		}
		if n > len(rest) {
			return 0, malformed("field %q ends after its document", key)
		}
		rest = rest[n:]
	}
	return size, nil
}

// valueSize returns the length of the value of the given kind at the start of b, which may exceed b. It validates the
// contents that b has.
func valueSize(kind bsontype.Type, b []byte, depth int) (int, error) {
	switch kind {
	case bson.TypeDouble, bson.TypeDateTime, bson.TypeTimestamp, bson.TypeInt64:
		return 8, nil
	case bson.TypeInt32:
		return 4, nil
	case bson.TypeDecimal128:
		return 16, nil
	case bson.TypeObjectID:
		return 12, nil
	case bson.TypeNull, bson.TypeUndefined, bson.TypeMinKey, bson.TypeMaxKey:
		return 0, nil
	case bson.TypeBoolean:
		if len(b) > 0 && b[0] > 1 {
			return 0, malformed("a boolean is %d", b[0])
		}
		return 1, nil
	case bson.TypeString, bson.TypeJavaScript, bson.TypeSymbol:
		return stringSize(b)
	case bson.TypeEmbeddedDocument, bson.TypeArray:
		return validate(b, depth+1)
	case bson.TypeBinary:
		return binarySize(b)
	case bson.TypeRegex:
		return regexSize(b)
	case bson.TypeDBPointer:
		n, err := stringSize(b)
		return n + 12, err
	case bson.TypeCodeWithScope:
		return scopedSize(b, depth)
	}
	return 0, malformed("unknown type %#x", byte(kind))
}

// length reads the length at the start of b.
func length(b []byte) (int, error) {
	if len(b) < 4 {
		return 0, malformed("it ends within a length")
	}
	n := int32(binary.LittleEndian.Uint32(b))
	if n < 0 {
		return 0, malformed("negative length %d", n)
	}
	return int(n), nil
}

func stringSize(b []byte) (int, error) {
	n, err := length(b)
	if err != nil {
		return 0, err
	}
	if n < 1 || n > len(b)-4 || b[4+n-1] != 0 {
		return 0, malformed("a string of %d bytes has no end", n)
	}
	return 4 + n, nil
}

func binarySize(b []byte) (int, error) {
	n, err := length(b)
	if err != nil {
		return 0, err
	}
	if n > len(b)-5 {
		return 0, malformed("binary data of %d bytes, %d are left", n, len(b))
	}
	if b[4] == bson.TypeBinaryBinaryOld {
		// This subtype repeats its length inside.
		inner, err := length(b[5 : 5+n])
		if err != nil {
			return 0, err
		}
		if inner != n-4 {
			return 0, malformed("old binary data of %d bytes gives its length as %d", n-4, inner)
		}
	}
	return 5 + n, nil
}

func regexSize(b []byte) (int, error) {
	pattern := bytes.IndexByte(b, 0)
	if pattern < 0 {
		return 0, malformed("a regular expression has no end")
	}
	options := bytes.IndexByte(b[pattern+1:], 0)
	if options < 0 {
		return 0, malformed("the options of a regular expression have no end")
	}
	return pattern + 1 + options + 1, nil
}

// scopedSize is valueSize for JavaScript with a scope: length, string, document.
func scopedSize(b []byte, depth int) (int, error) {
	size, err := length(b)
	if err != nil {
		return 0, err
	}
	if size < 4 || size > len(b) {
		return 0, malformed("code with scope of %d bytes, %d are left", size, len(b))
	}
	code, err := stringSize(b[4:size])
	if err != nil {
		return 0, err
	}
	scope, err := validate(b[4+code:size], depth+1)
	if err != nil {
		return 0, err
	}
	if 4+code+scope != size {
		return 0, malformed("code with scope of %d bytes holds %d", size, 4+code+scope)
	}
	return size, nil
}
