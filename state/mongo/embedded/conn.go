package embedded

import (
	"bufio"
	"context"
	"errors"
	"net"
	"runtime/debug"
	"strings"
	"sync"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/budget"
	"juju/state/mongo/embedded/mongoerr"
	"juju/state/mongo/embedded/raw"
	"juju/state/mongo/embedded/wire"
)

// A conn serves the messages of one connection, one at a time.
type conn struct {
	s  *Server
	nc net.Conn
	r  *bufio.Reader

	// ctx ends with the connection, and when others need its memory; until is that of the request in progress.
	ctx, until context.Context
	cancel     context.CancelCauseFunc

	// hold is the memory of requests and replies, of which claimed is that of the request in progress. granted covers the
	// part of it that its reply takes, replied; full is set if the reply must end early.
	hold                      *budget.Hold
	claimed, granted, replied int64
	full                      bool
	shared                    int64 // of the reply, that the feed of changes has

	ahead   *message // read while the previous one is being answered
	reading sync.WaitGroup
	nextID  int32
	sending *cursor // of which the reply has a batch; or nil
	// Buffers, reused by requests.
	out, doc, changed, found []byte
	batch                    batch
}

// address returns the address at which the client has reached the server; within a process there is none.
func (c *conn) address() string {
	if a, ok := c.nc.LocalAddr().(*net.TCPAddr); ok {
		return a.String()
	}
	return "127.0.0.1:27017"
}

// A message is a message read from the connection, or the error from reading it.
type message struct {
	head wire.Header
	body any
	err  error
	// claimed is its memory in the connection's hold.
	claimed int64
	// arrived is closed when the message has been read.
	arrived chan struct{}
}

func newConn(s *Server, nc net.Conn) *conn {
	c := &conn{s: s, nc: nc, r: bufio.NewReaderSize(nc, 4<<10)}
	c.ctx, c.cancel = context.WithCancelCause(s.ctx)
	c.hold = s.budget.Open(c, func(err error) {
		s.opts.Logger.Infof("from %v: connection ended: %v", nc.RemoteAddr(), err)
		c.cancel(err)
		nc.Close()
	})
	return c
}

func (c *conn) serve() {
	defer c.hold.Close()
	defer c.reading.Wait()
	defer c.nc.Close()
	defer c.cancel(nil)
	for {
		m := c.next()
		if m.err != nil {
			var malformed *wire.Error
			if !errors.As(m.err, &malformed) {
				return // the client has disconnected
			}
			// A malformed message gets a reply if possible, and ends the connection.
			c.s.opts.Logger.Infof("from %v: %v", c.nc.RemoteAddr(), m.err)
			if malformed.Framed {
				c.refuse(m.head, mongoerr.New(mongoerr.FailedToParse, "%v", malformed))
			}
			return
		}
		if c.s.opts.OnlyMsg && c.outdated(m) {
			return
		}
		c.hold.Busy()
		c.claimed, c.until = m.claimed, c.ctx
		reply := c.answer(m)
		m.body = nil // while its client reads the reply, the request need not be kept
		if reply != nil && !c.send(reply) {
			return
		}
		c.trim()
		c.doc = small(c.doc)
		c.release()
	}
}

// send writes a reply. If that fails, it closes the cursor whose batch the reply holds, since no client can continue it
// without those documents: the client of a change stream resumes with a new one.
func (c *conn) send(reply net.Buffers) bool {
	size := int64(0)
	for _, part := range reply {
		size += int64(len(part))
	}
	err := c.replying(size - c.shared)
	c.hold.Idle()
	if err == nil {
		_, err = reply.WriteTo(c.nc)
	}
	if cur := c.sending; cur != nil {
		switch {
		case err == nil && cur.stream != nil:
			cur.stream.events.Done()
		case err != nil && (cur.tail == nil || c.batch.len() > 0):
			c.s.cursors.kill(cur.id)
		}
	}
	c.sending = nil
	return err == nil
}

// outdated reports whether m is neither an OP_MSG nor a handshake, so that the connection must be closed. It
// replies to a command with an error first.
func (c *conn) outdated(m message) bool {
	q, ok := m.body.(*wire.Query)
	if !ok {
		_, modern := m.body.(*wire.Msg)
		return !modern
	}
	it := raw.Elements(unwrapQuery(q.Query))
	first, _ := it.Next()
	switch name := string(first.Key); {
	case !strings.HasSuffix(q.Collection, ".$cmd"):
		return true
	case name == "hello" || name == "isMaster" || name == "ismaster":
		return false
	default:
		c.refuse(m.head, mongoerr.New(mongoerr.UnsupportedOpQueryCommand,
			"Unsupported OP_QUERY command: %s. The client driver may require an upgrade.", name))
		return true
	}
}

// trim frees buffers that one large request has grown, except for those of its reply.
func (c *conn) trim() {
	c.changed, c.found, c.batch.data = small(c.changed), small(c.found), small(c.batch.data)
	clear(c.batch.shared[:cap(c.batch.shared)])
}

// small returns buf, or nil if it is large.
func small(buf []byte) []byte {
	if cap(buf) > freeBytes {
		return nil
	}
	return buf
}

// emptyBatch returns an empty batch for a request's reply, valid until the next call.
func (c *conn) emptyBatch() *batch {
	c.batch.data, c.batch.ends, c.batch.shared = c.batch.data[:0], c.batch.ends[:0], c.batch.shared[:0]
	return &c.batch
}

func (c *conn) next() message {
	if m := c.ahead; m != nil {
		<-m.arrived
		c.ahead = nil
		return *m
	}
	var m message
	c.read(&m)
	return m
}

// more returns a channel that is closed once the client has sent another message or disconnected. It is used only by
// requests that wait for something else.
func (c *conn) more() <-chan struct{} {
	if c.ahead == nil {
		m := &message{arrived: make(chan struct{})}
		c.ahead = m
		c.reading.Add(1)
		go func() {
			defer c.reading.Done()
			defer close(m.arrived)
			c.read(m)
		}()
	}
	return c.ahead.arrived
}

// answer returns the reply to a message, or nil if it gets none. The bytes are valid until the next call.
func (c *conn) answer(m message) net.Buffers {
	c.shared = 0
	switch body := m.body.(type) {
	case *wire.Query:
		if db, ok := strings.CutSuffix(body.Collection, ".$cmd"); ok {
			r, _ := c.command(db, unwrapQuery(body.Query), nil)
			return c.reply(m.head, wire.Reply{Flags: wire.ReplyAwaitCapable, Documents: []bsoncore.Document{r.whole()}})
		}
		return c.reply(m.head, c.safely(func() (wire.Reply, error) { return c.legacyFind(body) }))
	case *wire.GetMore:
		return c.reply(m.head, c.safely(func() (wire.Reply, error) { return c.legacyGetMore(body) }))
	case *wire.KillCursors:
		for _, id := range body.Cursors {
			c.s.cursors.kill(id)
		}
		return nil
	case *wire.Msg:
		db := ""
		if v, ok := raw.Get(body.Body, "$db"); ok && v.Type == bson.TypeString {
			db = string(raw.Text(v))
		}
		r, _ := c.command(db, body.Body, body.Sequences)
		if body.Flags&wire.MsgMoreToCome != 0 {
			return nil
		}
		c.nextID++
		c.shared = int64(r.missing())
		wire.PutMsgHead(r.buf, c.nextID, m.head.RequestID, r.missing())
		return r.parts()
	}
	return nil
}

func (c *conn) reply(to wire.Header, r wire.Reply) net.Buffers {
	c.nextID++
	c.out = wire.AppendReply(c.out[:0], c.nextID, to.RequestID, r)
	return net.Buffers{c.out}
}

// refuse replies with err to a message that can't be served.
func (c *conn) refuse(to wire.Header, err error) {
	var out []byte
	switch to.OpCode {
	case wire.OpMsg:
		out = wire.AppendMsg(nil, 0, to.RequestID, appendError(nil, err))
	case wire.OpQuery, wire.OpGetMore:
		out = wire.AppendReply(nil, 0, to.RequestID, failure(err))
	default:
		return
	}
	_, _ = c.nc.Write(out)
}

// unwrapQuery extracts the command or query from {$query: …, …}.
func unwrapQuery(doc []byte) []byte {
	it := raw.Elements(doc)
	e, _ := it.Next()
	if string(e.Key) == "$query" && e.Value.Type == bson.TypeEmbeddedDocument {
		return e.Value.Data
	}
	return doc
}

// failure returns the OP_REPLY of a failed query.
func failure(err error) wire.Reply {
	e := coded(err)
	doc := bsoncore.NewDocumentBuilder().
		AppendString("$err", e.Message).
		AppendInt32("code", int32(e.Code)).
		AppendString("codeName", e.Code.String()).Build()
	return wire.Reply{Flags: wire.ReplyQueryFailure | wire.ReplyAwaitCapable, Documents: []bsoncore.Document{doc}}
}

func (c *conn) safely(do func() (wire.Reply, error)) (r wire.Reply) {
	defer func() {
		if p := recover(); p != nil {
			r = failure(c.panicked(p))
		}
	}()
	r, err := do()
	if err != nil {
		return failure(err)
	}
	return r
}

// panicked converts a panic into an error of the request that caused it, so that other connections are unaffected.
func (c *conn) panicked(p any) error {
	c.s.opts.Logger.Errorf("panic: %v\n%s", p, debug.Stack())
	return mongoerr.New(mongoerr.InternalError, "internal error: %v", p)
}

// command executes a command and returns its reply. The bytes are valid until the next call.
func (c *conn) command(db string, body []byte, sequences []wire.Sequence) (doc *reply, err error) {
	r := &request{conn: c, s: c.s, ctx: c.ctx, db: db, body: body, sequences: sequences}
	r.out = append(c.doc[:0], emptyReply[:]...)
	defer func() {
		if p := recover(); p != nil {
			err = c.panicked(p)
		}
		doc = &reply{holes: r.holes}
		if err != nil {
			doc.holes = nil
			r.out = appendError(append(r.out[:0], emptyReply[:wire.MsgHead]...), err, r.labels(err)...)
		} else {
			r.out, _ = bsoncore.AppendDocumentEnd(bsoncore.AppendDoubleElement(r.out, "ok", 1), wire.MsgHead)
		}
		doc.buf, c.doc = r.out, r.out
		doc.widen(wire.MsgHead)
	}()
	return nil, r.run()
}

// coded returns err as the client sees it.
func coded(err error) *mongoerr.Error {
	if errors.Is(err, context.Canceled) {
		return mongoerr.New(mongoerr.ShutdownInProgress, "the server is shutting down")
	}
	return mongoerr.From(err)
}

func appendError(dst []byte, err error, labels ...string) []byte {
	e := coded(err)
	start, dst := bsoncore.ReserveLength(dst)
	dst = bsoncore.AppendDoubleElement(dst, "ok", 0)
	dst = bsoncore.AppendStringElement(dst, "errmsg", e.Message)
	dst = bsoncore.AppendInt32Element(dst, "code", int32(e.Code))
	dst = bsoncore.AppendStringElement(dst, "codeName", e.Code.String())
	dst = appendLabels(dst, labels)
	dst, _ = bsoncore.AppendDocumentEnd(dst, start)
	return dst
}
