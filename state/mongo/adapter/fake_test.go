package adapter_test

import (
	"bufio"
	"context"
	"net"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/doc/tools/verify"
	"juju/state/mongo/adapter"
	"juju/state/mongo/embedded/link"
	"juju/state/mongo/embedded/wire"
)

type (
	d = bson.D
	a = bson.A
)

// doc is a document's BSON.
func doc(t testing.TB, v any) bsoncore.Document {
	t.Helper()
	b, err := bson.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A fake is a MongoDB played by the test, which reads and answers each message.
type fake struct {
	t     testing.TB
	hello d // the answer to the greeting, without ok
	conns chan net.Conn
}

// modern is how a current server describes itself.
var modern = d{{"ismaster", true}, {"maxWireVersion", int32(21)}, {"helloOk", true}}

func newFake(t testing.TB, hello d) *fake {
	return &fake{t: t, hello: hello, conns: make(chan net.Conn, 16)}
}

// dial greets the client and hands its connection to the test.
func (f *fake) dial(context.Context, string) (net.Conn, error) {
	client, server := link.Pipe()
	go func() {
		head, _, err := wire.Read(server, wire.MaxMessage)
		if err == nil {
			server.Write(wire.AppendReply(nil, 1, head.RequestID,
				wire.Reply{Documents: []bsoncore.Document{doc(f.t, append(f.hello, bson.E{"ok", 1.0}))}}))
		}
		f.conns <- server
	}()
	return client, nil
}

// A peer is one end of a connection that the test drives.
type peer struct {
	t  testing.TB
	nc net.Conn
	in *bufio.Reader
	id int32
}

func newPeer(t testing.TB, nc net.Conn) *peer {
	nc.SetReadDeadline(time.Now().Add(verify.Patience))
	return &peer{t: t, nc: nc, in: bufio.NewReader(nc)}
}

// send writes a message unchanged.
func (p *peer) send(message []byte) {
	p.t.Helper()
	if _, err := p.nc.Write(message); err != nil {
		p.t.Fatal(err)
	}
}

// request returns the next message at the server's end.
func (p *peer) request() (wire.Header, *wire.Msg) {
	p.t.Helper()
	head, m, err := wire.Read(p.in, wire.MaxMessage)
	if err != nil {
		p.t.Fatalf("the server got no request: %v", err)
	}
	msg, ok := m.(*wire.Msg)
	if !ok || msg.Flags != 0 || len(msg.Sequences) > 0 {
		p.t.Fatalf("the server got %+v", m)
	}
	return head, msg
}

// reply returns the next message at the client's end.
func (p *peer) reply() (wire.Header, *wire.Reply) {
	p.t.Helper()
	head, m, err := wire.ReadAnswer(p.in, wire.MaxMessage)
	if err != nil {
		p.t.Fatalf("the client got no reply: %v", err)
	}
	reply, ok := m.(*wire.Reply)
	if !ok {
		p.t.Fatalf("the client got %+v", m)
	}
	return head, reply
}

// answer sends an answer from the server's end.
func (p *peer) answer(to wire.Header, body d) {
	p.t.Helper()
	p.id++
	p.send(wire.AppendMsg(nil, p.id, to.RequestID, doc(p.t, body)))
}

// ended waits for the end of the connection.
func (p *peer) ended() {
	p.t.Helper()
	if b, err := p.in.ReadByte(); err == nil {
		p.t.Errorf("got another byte %#x", b)
	} else if ne, ok := err.(net.Error); ok && ne.Timeout() {
		p.t.Error("the connection has not ended")
	}
}

// connect creates an adapter to a fake, and a connection through it.
func connect(t testing.TB, hello d) (ad *adapter.Adapter, client, server *peer) {
	t.Helper()
	f := newFake(t, hello)
	ad = adapter.New(adapter.Options{Dial: f.dial, Name: "test", Logf: t.Logf})
	t.Cleanup(ad.Close)
	client, server = f.connect(ad)
	return ad, client, server
}

func (f *fake) connect(ad *adapter.Adapter) (client, server *peer) {
	f.t.Helper()
	nc, err := ad.Connect("db.example.com:27017")
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { nc.Close() })
	return newPeer(f.t, nc), newPeer(f.t, <-f.conns)
}

// query returns an encoded OP_QUERY.
func query(t testing.TB, id int32, collection string, body any) []byte {
	t.Helper()
	return wire.AppendQuery(nil, id, wire.Query{Collection: collection, Limit: -1, Query: doc(t, body)})
}
