package embedded

import (
	"encoding/binary"
	"net"
	"slices"

	"juju/state/mongo/embedded/wire"
)

// A reply is the document that answers a command. Large documents that other replies share aren't copied into it.
type reply struct {
	buf   []byte // with wire.MsgHead free bytes in front
	holes []hole
}

// A hole is where a shared document belongs in a reply.
type hole struct {
	at  int
	doc []byte
}

// emptyReply has the length of a document that is yet to be built, too.
var emptyReply [wire.MsgHead + 4]byte

// sharedFrom is the size from which a shared document isn't copied.
const sharedFrom = 4 << 10

// share appends a document that others share.
func (r *reply) share(doc []byte) {
	if len(doc) < sharedFrom {
		r.buf = append(r.buf, doc...)
		return
	}
	r.holes = append(r.holes, hole{len(r.buf), doc})
}

// missing is the size of the shared documents.
func (r *reply) missing() (n int) {
	for _, h := range r.holes {
		n += len(h.doc)
	}
	return n
}

// widen adds the shared documents to the length of a document around them, which begins there.
func (r *reply) widen(at int) {
	if len(r.holes) > 0 {
		length := r.buf[at : at+4]
		binary.LittleEndian.PutUint32(length, binary.LittleEndian.Uint32(length)+uint32(r.missing()))
	}
}

// whole returns the document in one piece.
func (r *reply) whole() []byte {
	if len(r.holes) == 0 {
		return r.buf[wire.MsgHead:]
	}
	return slices.Concat(r.parts()...)[wire.MsgHead:]
}

// parts returns all bytes in several pieces.
func (r *reply) parts() net.Buffers {
	parts := make(net.Buffers, 0, 1+2*len(r.holes))
	from := 0
	for _, h := range r.holes {
		parts = append(parts, r.buf[from:h.at], h.doc)
		from = h.at
	}
	return append(parts, r.buf[from:])
}
