// Package wiretest encodes messages of MongoDB's wire protocol that old drivers send and our binaries only read.
package wiretest

import (
	"encoding/binary"

	"juju/state/mongo/embedded/wire"
)

// AppendGetMore appends g as an OP_GET_MORE.
func AppendGetMore(dst []byte, requestID int32, g wire.GetMore) []byte {
	body := append(appendInt32(nil, 0), g.Collection...)
	body = appendInt32(append(body, 0), g.Limit)
	return message(dst, requestID, wire.OpGetMore, appendInt64(body, g.Cursor))
}

// AppendKillCursors appends k as an OP_KILL_CURSORS.
func AppendKillCursors(dst []byte, requestID int32, k wire.KillCursors) []byte {
	body := appendInt32(appendInt32(nil, 0), int32(len(k.Cursors)))
	for _, id := range k.Cursors {
		body = appendInt64(body, id)
	}
	return message(dst, requestID, wire.OpKillCursors, body)
}

func message(dst []byte, requestID, opCode int32, body []byte) []byte {
	const head = 16
	dst = appendInt32(appendInt32(dst, int32(head+len(body))), requestID)
	dst = appendInt32(appendInt32(dst, 0), opCode)
	return append(dst, body...)
}

func appendInt32(dst []byte, v int32) []byte { return binary.LittleEndian.AppendUint32(dst, uint32(v)) }
func appendInt64(dst []byte, v int64) []byte { return binary.LittleEndian.AppendUint64(dst, uint64(v)) }
