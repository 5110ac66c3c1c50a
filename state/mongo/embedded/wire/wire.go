package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"

	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"
)

// Op codes of the messages that this package supports.
const (
	OpReply       int32 = 1
	OpQuery       int32 = 2004
	OpGetMore     int32 = 2005
	OpKillCursors int32 = 2007
	OpMsg         int32 = 2013
)

// Flags of a Query.
const (
	QueryTailable        int32 = 1 << 1
	QuerySlaveOK         int32 = 1 << 2
	QueryNoCursorTimeout int32 = 1 << 4
	QueryAwaitData       int32 = 1 << 5
	QueryExhaust         int32 = 1 << 6
	QueryPartial         int32 = 1 << 7
)

// Flags of a Reply.
const (
	ReplyCursorNotFound int32 = 1 << 0
	ReplyQueryFailure   int32 = 1 << 1
	ReplyAwaitCapable   int32 = 1 << 3
)

// Flags of a Msg. A receiver must understand the lower 16 bits, and may ignore the upper 16.
const (
	MsgChecksum   uint32 = 1 << 0
	MsgMoreToCome uint32 = 1 << 1

	msgRequired uint32 = 0xffff
)

const (
	// HeaderSize is the length of a message's header in bytes.
	HeaderSize = 16
	// MaxMessage is the longest message that MongoDB accepts, with its header:
	// maxMessageSizeBytes.
	MaxMessage int32 = 48_000_000
	// MaxDocument is the longest document MongoDB stores: maxBsonObjectSize.
	MaxDocument int32 = 16 << 20
)

// Header is the start of every message. Length is that of the whole message in bytes, including the header; RequestID
// is the sender's, and ResponseTo is the RequestID of the message replied to.
type Header struct {
	Length, RequestID, ResponseTo, OpCode int32
}

// Query is OP_QUERY: a command if Collection ends in ".$cmd", otherwise a legacy find. Fields is nil if the client sent
// no projection.
type Query struct {
	Flags         int32
	Collection    string
	Skip, Limit   int32
	Query, Fields bsoncore.Document
}

// GetMore is OP_GET_MORE, the next batch of a cursor that a Query opened.
type GetMore struct {
	Collection string
	Limit      int32
	Cursor     int64
}

// KillCursors is OP_KILL_CURSORS. It has no reply.
type KillCursors struct {
	Cursors []int64
}

// Msg is OP_MSG: a command or its reply. Body is never nil in a Msg that was read.
type Msg struct {
	Flags     uint32
	Body      bsoncore.Document
	Sequences []Sequence
}

// Sequence is a list of documents outside the body of a Msg, in place of its array field ID.
type Sequence struct {
	ID        string
	Documents []bsoncore.Document
}

// Reply is OP_REPLY, the reply to a Query or a GetMore. Cursor is 0 if there are no more documents; From is the
// position of the first document in the cursor.
type Reply struct {
	Flags     int32
	Cursor    int64
	From      int32
	Documents []bsoncore.Document
}

// Error reports a malformed message. Framed is set if the message was nevertheless read to its end: then the
// receiver can reply with an error and continue to use the connection. Otherwise the start of the next
// message is unknown, and the connection must be closed.
type Error struct {
	Reason string
	Framed bool
}

func (e *Error) Error() string { return "malformed message: " + e.Reason }

func malformed(format string, args ...any) error {
	return &Error{Reason: fmt.Sprintf(format, args...), Framed: true}
}

// Read reads one request of at most max bytes: a *Query, *GetMore, *KillCursors or *Msg. The message owns its bytes, so
// its documents may be retained.
//
// The error is io.EOF if r ended before the first byte of a message, any other error of r unchanged
// (io.ErrUnexpectedEOF within a message), or an *Error. If the *Error is Framed, the Header is valid.
func Read(r io.Reader, max int32) (Header, any, error) { return ReadWithin(r, max, nil) }

// ReadWithin is Read. When the first bytes of a long message have arrived, it calls room with the bytes that all of them
// take, unless it is nil, and returns its error.
func ReadWithin(r io.Reader, max int32, room func(size int) error) (Header, any, error) {
	head, body, err := readFrame(r, max, room)
	if err != nil {
		return head, nil, err
	}
	var msg any
	switch head.OpCode {
	case OpQuery:
		msg, err = parseQuery(body)
	case OpGetMore:
		msg, err = parseGetMore(body)
	case OpKillCursors:
		msg, err = parseKillCursors(body)
	case OpMsg:
		msg, err = parseMsg(head, body)
	default:
		err = malformed("unsupported op code %d", head.OpCode)
	}
	if err != nil {
		return head, nil, err
	}
	return head, msg, nil
}

// ReadAnswer is like Read, but reads a reply: a *Reply or a *Msg.
func ReadAnswer(r io.Reader, max int32) (Header, any, error) {
	head, body, err := readFrame(r, max, nil)
	if err != nil {
		return head, nil, err
	}
	var msg any
	switch head.OpCode {
	case OpReply:
		msg, err = parseReply(body)
	case OpMsg:
		msg, err = parseMsg(head, body)
	default:
		err = malformed("op code %d is not a reply", head.OpCode)
	}
	if err != nil {
		return head, nil, err
	}
	return head, msg, nil
}

// trusted is the number of bytes that are allocated because of a header alone. Beyond that the buffer grows with the
// data received, so thousands of clients that announce 48 MB and send nothing use no memory.
const trusted = 16 << 10

func readFrame(r io.Reader, max int32, room func(size int) error) (Header, []byte, error) {
	var raw [HeaderSize]byte
	if _, err := io.ReadFull(r, raw[:]); err != nil {
		return Header{}, nil, err
	}
	head := Header{
		Length:     int32(binary.LittleEndian.Uint32(raw[0:])),
		RequestID:  int32(binary.LittleEndian.Uint32(raw[4:])),
		ResponseTo: int32(binary.LittleEndian.Uint32(raw[8:])),
		OpCode:     int32(binary.LittleEndian.Uint32(raw[12:])),
	}
	if head.Length < HeaderSize || head.Length > max {
		return head, nil, &Error{Reason: fmt.Sprintf("length %d is not between %d and %d", head.Length, HeaderSize, max)}
	}
	size := int(head.Length) - HeaderSize
	if size <= trusted {
		body := make([]byte, size)
		_, err := io.ReadFull(r, body)
		return head, body, midway(err)
	}
	body := make([]byte, trusted)
	if _, err := io.ReadFull(r, body); err != nil {
		return head, nil, midway(err)
	}
	if room != nil {
		if err := room(size); err != nil {
			return head, nil, err
		}
	}
	for have := len(body); have < size; have = len(body) {
		body = append(make([]byte, 0, min(2*have, size)), body...)
		body = body[:cap(body)]
		if _, err := io.ReadFull(r, body[have:]); err != nil {
			return head, nil, midway(err)
		}
	}
	return head, body, nil
}

// midway converts io.EOF within a message to io.ErrUnexpectedEOF.
func midway(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

func parseQuery(body []byte) (*Query, error) {
	p := parser{rest: body}
	q := &Query{Flags: p.int32(), Collection: p.cstring(), Skip: p.int32(), Limit: p.int32(), Query: p.document()}
	if len(p.rest) > 0 {
		q.Fields = p.document()
	}
	if err := p.end(); err != nil {
		return nil, err
	}
	return q, nil
}

func parseGetMore(body []byte) (*GetMore, error) {
	p := parser{rest: body}
	p.int32() // reserved
	g := &GetMore{Collection: p.cstring(), Limit: p.int32(), Cursor: p.int64()}
	if err := p.end(); err != nil {
		return nil, err
	}
	return g, nil
}

func parseKillCursors(body []byte) (*KillCursors, error) {
	p := parser{rest: body}
	p.int32() // reserved
	count := p.int32()
	if p.err == nil && int64(count)*8 != int64(len(p.rest)) {
		return nil, malformed("%d cursors announced, %d bytes of them sent", count, len(p.rest))
	}
	k := &KillCursors{}
	for ; p.err == nil && count > 0; count-- {
		k.Cursors = append(k.Cursors, p.int64())
	}
	if err := p.end(); err != nil {
		return nil, err
	}
	return k, nil
}

func parseReply(body []byte) (*Reply, error) {
	p := parser{rest: body}
	r := &Reply{Flags: p.int32(), Cursor: p.int64(), From: p.int32()}
	count := p.int32()
	for p.err == nil && len(p.rest) > 0 {
		r.Documents = append(r.Documents, p.document())
	}
	if err := p.end(); err != nil {
		return nil, err
	}
	if int(count) != len(r.Documents) {
		return nil, malformed("%d documents announced, %d sent", count, len(r.Documents))
	}
	return r, nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func parseMsg(head Header, body []byte) (*Msg, error) {
	p := parser{rest: body}
	m := &Msg{Flags: p.int32bits()}
	if unknown := m.Flags & msgRequired &^ (MsgChecksum | MsgMoreToCome); p.err == nil && unknown != 0 {
		return nil, malformed("unknown required flags %#x", unknown)
	}
	if m.Flags&MsgChecksum != 0 {
		if len(p.rest) < 4 {
			return nil, malformed("no room for the checksum")
		}
		at := len(body) - 4
		want := binary.LittleEndian.Uint32(body[at:])
		sum := crc32.Update(crc32.Checksum(appendHead(nil, head), castagnoli), castagnoli, body[:at])
		if sum != want {
			return nil, malformed("checksum is %08x, the message says %08x", sum, want)
		}
		p.rest = p.rest[:len(p.rest)-4]
	}
	for p.err == nil && len(p.rest) > 0 {
		switch kind := p.byte(); kind {
		case 0:
			if m.Body != nil {
				return nil, malformed("two bodies")
			}
			m.Body = p.document()
		case 1:
			s := p.sequence()
			for _, other := range m.Sequences {
				if p.err == nil && other.ID == s.ID {
					return nil, malformed("two sequences are named %q", s.ID)
				}
			}
			m.Sequences = append(m.Sequences, s)
		default:
			return nil, malformed("unknown section kind %d", kind)
		}
	}
	if err := p.end(); err != nil {
		return nil, err
	}
	if m.Body == nil {
		return nil, malformed("no body")
	}
	return m, nil
}

// A parser consumes fields from the front of rest. After the first one that doesn't fit, err is set and all further
// fields are zero.
type parser struct {
	rest []byte
	err  error
}

func (p *parser) take(n int) []byte {
	if p.err == nil && len(p.rest) < n {
		p.err = malformed("it ends within a field")
	}
	if p.err != nil {
		return nil
	}
	b := p.rest[:n:n]
	p.rest = p.rest[n:]
	return b
}

func (p *parser) byte() byte {
	if b := p.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (p *parser) int32bits() uint32 {
	if b := p.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (p *parser) int32() int32 { return int32(p.int32bits()) }

func (p *parser) int64() int64 {
	if b := p.take(8); b != nil {
		return int64(binary.LittleEndian.Uint64(b))
	}
	return 0
}

func (p *parser) cstring() string {
	n := bytes.IndexByte(p.rest, 0)
	if p.err == nil && n < 0 {
		p.err = malformed("a name has no end")
	}
	if p.err != nil {
		return ""
	}
	return string(p.take(n + 1)[:n])
}

// document consumes and validates a document.
func (p *parser) document() bsoncore.Document {
	if p.err != nil {
		return nil
	}
	n, err := validate(p.rest, 0)
	if err != nil {
		p.err = err
		return nil
	}
	return p.take(n)
}

func (p *parser) sequence() Sequence {
	before := len(p.rest)
	size := int64(p.int32())
	if p.err == nil && (size < 4 || size > int64(before)) {
		p.err = malformed("a sequence of %d bytes, %d are left", size, before)
	}
	if p.err != nil {
		return Sequence{}
	}
	q := parser{rest: p.take(int(size) - 4)}
	s := Sequence{ID: q.cstring()}
	for q.err == nil && len(q.rest) > 0 {
		s.Documents = append(s.Documents, q.document())
	}
	p.err = q.err
	return s
}

func (p *parser) end() error {
	if p.err == nil && len(p.rest) > 0 {
		p.err = malformed("%d bytes too many", len(p.rest))
	}
	return p.err
}
