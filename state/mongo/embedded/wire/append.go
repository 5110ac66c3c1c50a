package wire

import (
	"encoding/binary"
	"hash/crc32"

	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"
)

// AppendReply appends r as an OP_REPLY.
func AppendReply(dst []byte, requestID, responseTo int32, r Reply) []byte {
	start := len(dst)
	dst = appendHead(dst, Header{RequestID: requestID, ResponseTo: responseTo, OpCode: OpReply})
	dst = appendInt32(dst, r.Flags)
	dst = appendInt64(dst, r.Cursor)
	dst = appendInt32(dst, r.From)
	dst = appendInt32(dst, int32(len(r.Documents)))
	for _, doc := range r.Documents {
		dst = append(dst, doc...)
	}
	return finish(dst, start)
}

// AppendMsg appends an OP_MSG that has only a body: a command or its reply.
func AppendMsg(dst []byte, requestID, responseTo int32, body bsoncore.Document) []byte {
	return AppendSections(dst, requestID, responseTo, Msg{Body: body})
}

// MsgHead is the number of bytes of an OP_MSG before its body.
const MsgHead = HeaderSize + 4 + 1

// PutMsgHead makes an OP_MSG of a body behind MsgHead free bytes. More bytes of the body will follow.
func PutMsgHead(msg []byte, requestID, responseTo int32, more int) {
	head := appendHead(msg[:0], Header{Length: int32(len(msg) + more), RequestID: requestID, ResponseTo: responseTo, OpCode: OpMsg})
	_ = append(appendInt32(head, 0), 0)
}

// AppendSections appends m as an OP_MSG with all its sections, and with a checksum if its flags request one.
func AppendSections(dst []byte, requestID, responseTo int32, m Msg) []byte {
	start := len(dst)
	dst = appendHead(dst, Header{RequestID: requestID, ResponseTo: responseTo, OpCode: OpMsg})
	dst = binary.LittleEndian.AppendUint32(dst, m.Flags)
	dst = append(dst, 0)
	dst = append(dst, m.Body...)
	for _, s := range m.Sequences {
		dst = append(dst, 1)
		at := len(dst)
		dst = appendCString(appendInt32(dst, 0), s.ID)
		for _, doc := range s.Documents {
			dst = append(dst, doc...)
		}
		binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-at))
	}
	if m.Flags&MsgChecksum == 0 {
		return finish(dst, start)
	}
	// The checksum covers the length, which includes the checksum.
	binary.LittleEndian.PutUint32(dst[start:], uint32(len(dst)+4-start))
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli))
}

// AppendQuery appends q as an OP_QUERY.
func AppendQuery(dst []byte, requestID int32, q Query) []byte {
	start := len(dst)
	dst = appendHead(dst, Header{RequestID: requestID, OpCode: OpQuery})
	dst = appendCString(appendInt32(dst, q.Flags), q.Collection)
	dst = appendInt32(appendInt32(dst, q.Skip), q.Limit)
	dst = append(dst, q.Query...)
	dst = append(dst, q.Fields...)
	return finish(dst, start)
}

func appendHead(dst []byte, h Header) []byte {
	dst = appendInt32(appendInt32(dst, h.Length), h.RequestID)
	return appendInt32(appendInt32(dst, h.ResponseTo), h.OpCode)
}

// finish writes the length of the message that starts at start and ends here.
func finish(dst []byte, start int) []byte {
	binary.LittleEndian.PutUint32(dst[start:], uint32(len(dst)-start))
	return dst
}

func appendInt32(dst []byte, v int32) []byte { return binary.LittleEndian.AppendUint32(dst, uint32(v)) }
func appendInt64(dst []byte, v int64) []byte { return binary.LittleEndian.AppendUint64(dst, uint64(v)) }

func appendCString(dst []byte, s string) []byte { return append(append(dst, s...), 0) }
