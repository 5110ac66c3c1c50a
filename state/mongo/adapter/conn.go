package adapter

import (
	"bufio"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"juju/state/mongo/embedded/wire"
)

// A conn is a client's connection and the connection to the server that serves it. One goroutine forwards
// requests and another one forwards replies, so the end of either side is detected immediately.
type conn struct {
	a        *Adapter
	address  string
	to       *server
	client   net.Conn
	server   net.Conn
	serverIn *bufio.Reader
	hello    bool // the server supports the command hello

	// Used only by the goroutine that forwards requests.
	nextID    int32
	body, out []byte

	mu       sync.Mutex
	awaiting []awaited // oldest first
	reply    []byte    // buffer, reused
}

// maxAwaiting limits the number of requests without a reply. mgo waits for its replies; a client that queues more is
// disconnected.
const maxAwaiting = 10_000

func newConn(a *Adapter, address string, client, server net.Conn) *conn {
	return &conn{a: a, address: address, to: a.server(address), client: client, server: server, serverIn: bufio.NewReaderSize(server, 4<<10)}
}

func (c *conn) close() {
	c.client.Close()
	c.server.Close()
}

// serve serves the connection until it ends.
func (c *conn) serve() {
	defer c.a.forget(c)
	var answers sync.WaitGroup
	answers.Go(func() {
		err := c.answers()
		c.close()
		c.gaveUp("replies", err)
	})
	err := c.requests()
	c.close()
	c.gaveUp("requests", err)
	answers.Wait()
}

// gaveUp logs an abnormal end of the connection.
func (c *conn) gaveUp(what string, err error) {
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, io.ErrClosedPipe) {
		return
	}
	c.a.opts.Logf("the connection to MongoDB at %s ended: %s: %v", c.address, what, err)
}

// requests reads and forwards the client's messages.
func (c *conn) requests() error {
	in := bufio.NewReaderSize(c.client, 4<<10)
	for {
		head, body, err := wire.Read(in, wire.MaxMessage)
		if err != nil {
			if err = c.nonsense(head, err); err != nil {
				return err
			}
			continue
		}
		switch m := body.(type) {
		case *wire.Query:
			err = c.query(head, m)
		case *wire.GetMore:
			err = c.getMore(head, m)
		case *wire.KillCursors:
			err = c.killCursors(m.Cursors)
		default:
			err = errors.New("the client sends OP_MSG itself: it needs no adapter")
		}
		if err != nil {
			return err
		}
		for _, memory := range []*[]byte{&c.body, &c.out} {
			if cap(*memory) > keptMemory {
				*memory = nil // grown by one large request
			}
		}
	}
}

const keptMemory = 64 << 10

// nonsense replies to a malformed request. If its end is known, the client may continue.
func (c *conn) nonsense(head wire.Header, err error) error {
	var malformed *wire.Error
	if errors.As(err, &malformed) && malformed.Framed && (head.OpCode == wire.OpQuery || head.OpCode == wire.OpGetMore) {
		return c.answer(awaited{client: head.RequestID}, failed(codeFailedToParse, malformed.Error()))
	}
	return err
}

func (c *conn) query(head wire.Header, q *wire.Query) error {
	db, collection, err := split(q.Collection)
	is := collection == "$cmd"
	var a awaited
	var body []byte
	switch {
	case err != nil:
	case is:
		body, a, err = command(c.body[:0], db, q, c.hello)
	case strings.HasPrefix(collection, "$cmd."):
		err = refuse(codeInvalidNamespace, "Invalid namespace specified '%s'", q.Collection)
	default:
		body, a, err = find(c.body[:0], db, collection, q)
	}
	a.client = head.RequestID
	var no *refusal
	switch {
	case errors.As(err, &no) && is:
		return c.answer(a, failedCommand(no.code, no.text))
	case errors.As(err, &no):
		return c.answer(a, failed(no.code, no.text))
	case a.kind == aLocal:
		return c.answer(a, nonce())
	}
	return c.send(a, body)
}

func (c *conn) getMore(head wire.Header, g *wire.GetMore) error {
	body, a, err := getMore(c.body[:0], g)
	a.client = head.RequestID
	var no *refusal
	if errors.As(err, &no) {
		return c.answer(a, failed(no.code, no.text))
	}
	if err := c.send(a, body); err != nil || !a.last {
		return err
	}
	// The server handles the two in order.
	if body, a, err = killCursors(c.body[:0], g.Collection, []int64{g.Cursor}); err != nil {
		return err
	}
	return c.send(a, body)
}

func (c *conn) killCursors(ids []int64) error {
	for namespace, ids := range c.to.cursors.take(ids) {
		body, a, err := killCursors(c.body[:0], namespace, ids)
		if err != nil {
			continue // of no known collection: the server closes the cursors when they time out
		}
		if err := c.send(a, body); err != nil {
			return err
		}
	}
	return nil
}

// send sends a command to the server and records that its reply is awaited.
func (c *conn) send(a awaited, body []byte) error {
	body, a.told = c.a.concern.add(body)
	c.nextID++
	a.server = c.nextID
	c.body = body
	c.out = wire.AppendMsg(c.out[:0], c.nextID, 0, body)
	c.mu.Lock()
	err := c.await(a)
	c.mu.Unlock()
	if err != nil {
		return err
	}
	return write(c.server, c.out)
}

// await records that a reply is awaited. The caller holds c.mu.
func (c *conn) await(a awaited) error {
	c.awaiting = append(c.awaiting, a)
	if len(c.awaiting) > maxAwaiting {
		return errors.New("the client reads no replies")
	}
	return nil
}

// answer replies to a request without asking the server, in order.
func (c *conn) answer(a awaited, reply wire.Reply) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.awaiting) == 0 {
		return c.tell(a, reply)
	}
	a.kind = aLocal
	a.reply = wire.AppendReply(nil, 0, a.client, reply)
	return c.await(a)
}

// tell sends a reply to the client. The caller holds c.mu.
func (c *conn) tell(a awaited, reply wire.Reply) error {
	c.reply = wire.AppendReply(c.reply[:0], 0, a.client, reply)
	err := write(c.client, c.reply)
	if cap(c.reply) > keptMemory {
		c.reply = nil
	}
	return err
}

func write(to net.Conn, message []byte) error {
	if err := to.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	_, err := to.Write(message)
	return err
}

// errSteppedDown ends a connection to a server that is no longer primary.
var errSteppedDown = errors.New("the server is no longer primary")

// answers reads and forwards the server's messages.
func (c *conn) answers() error {
	for {
		head, answer, err := wire.ReadAnswer(c.serverIn, wire.MaxMessage)
		if err != nil {
			return err
		}
		m, ok := answer.(*wire.Msg)
		// The adapter never requests several replies.
		if !ok || m.Flags&wire.MsgMoreToCome != 0 || len(m.Sequences) > 0 {
			return errNonsense
		}
		if err := c.deliver(head.ResponseTo, m); err != nil {
			return err
		}
	}
}

// deliver forwards a reply, and then the adapter's own replies that follow it.
func (c *conn) deliver(to int32, m *wire.Msg) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.awaiting) == 0 || c.awaiting[0].server != to {
		return errNonsense
	}
	a := c.awaiting[0]
	if a.told {
		c.a.concern.told(m.Body)
	}
	reply, err := translate(a, m.Body, &c.to.cursors)
	if err == nil && a.kind != aDiscard {
		err = c.tell(a, reply)
	}
	if err != nil {
		return err
	}
	if a.kind == aHello {
		c.a.isPrimary(c, saysPrimary(m.Body))
	}
	if stepsDown(m.Body) {
		return errSteppedDown
	}
	n := 1
	for ; n < len(c.awaiting) && c.awaiting[n].kind == aLocal; n++ {
		if err := write(c.client, c.awaiting[n].reply); err != nil {
			return err
		}
	}
	if c.awaiting = slices.Delete(c.awaiting, 0, n); len(c.awaiting) == 0 && cap(c.awaiting) > 64 {
		c.awaiting = nil
	}
	return nil
}
