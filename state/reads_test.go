package state_test

import (
	"bytes"
	"encoding/binary"
	"net"
	"strings"
	"sync"

	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/wire"
)

// reads are the documents that were asked for by their ids, or that a query has found, in the messages of a store.
type reads struct {
	mu   sync.Mutex
	on   bool
	docs map[string]bool
}

// tap follows a connection.
func (r *reads) tap(c net.Conn) net.Conn { return &readConn{Conn: c, reads: r} }

// during returns the documents that are read while f runs, until it calls stop.
func (r *reads) during(f func(stop func())) map[string]bool {
	set := func(on bool) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.on = on
	}
	r.docs = map[string]bool{}
	set(true)
	f(func() { set(false) })
	set(false)
	return r.docs
}

func (r *reads) add(namespace string, id bsoncore.Value) {
	text, ok := id.StringValueOK()
	if db, collection, _ := strings.Cut(namespace, "."); ok && r.on {
		r.docs[docKey(db, collection, text)] = true
	}
}

// request notes which document a legacy query asks for.
func (r *reads) request(m any) {
	if q, ok := m.(*wire.Query); ok {
		filter := q.Query
		if inner, ok := filter.Lookup("$query").DocumentOK(); ok {
			filter = inner
		}
		r.add(q.Collection, filter.Lookup("_id"))
	}
}

// answer notes which documents a query has found.
func (r *reads) answer(m any) {
	var docs []bsoncore.Document
	switch m := m.(type) {
	case *wire.Reply:
		docs = m.Documents
	case *wire.Msg:
		docs = []bsoncore.Document{m.Body}
	}
	for _, d := range docs {
		namespace, _ := d.Lookup("cursor", "ns").StringValueOK()
		batch, _ := d.Lookup("cursor", "firstBatch").ArrayOK()
		found, _ := batch.Values()
		for _, v := range found {
			if one, ok := v.DocumentOK(); ok {
				r.add(namespace, one.Lookup("_id"))
			}
		}
	}
}

// A readConn is a connection whose messages are followed.
type readConn struct {
	net.Conn
	reads   *reads
	out, in bytes.Buffer
}

func (c *readConn) Write(b []byte) (int, error) {
	c.reads.mu.Lock()
	c.out.Write(b)
	for m := range messages(&c.out) {
		if _, request, err := wire.Read(bytes.NewReader(m), int32(len(m))); err == nil {
			c.reads.request(request)
		}
	}
	c.reads.mu.Unlock()
	return c.Conn.Write(b)
}

func (c *readConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.reads.mu.Lock()
	defer c.reads.mu.Unlock()
	c.in.Write(b[:n])
	for m := range messages(&c.in) {
		if _, answer, err := wire.ReadAnswer(bytes.NewReader(m), int32(len(m))); err == nil {
			c.reads.answer(answer)
		}
	}
	return n, err
}

// messages takes the complete messages from a buffer.
func messages(b *bytes.Buffer) func(func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for b.Len() >= 4 {
			size := int(binary.LittleEndian.Uint32(b.Bytes()))
			if size > b.Len() || !yield(b.Next(size)) {
				return
			}
		}
	}
}
