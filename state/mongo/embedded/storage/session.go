package storage

import (
	"bytes"
	"encoding/binary"
)

// A SessionRecord is what the store remembers of a client's session: the last transaction or retryable write, which
// the client may repeat because it hasn't seen the reply. It is written in the same batch as the changes.
type SessionRecord struct {
	Session []byte // the session's id
	Number  int64  // of the transaction or write
	Reply   []byte // of a retryable write; nil for a transaction
}

func sessionKey(id []byte) []byte { return append([]byte{keySession}, id...) }

func (r *SessionRecord) write(w writer) {
	if r != nil {
		_ = w.Set(sessionKey(r.Session), append(binary.BigEndian.AppendUint64(nil, uint64(r.Number)), r.Reply...), nil)
	}
}

// Session returns the record of a session, or nil.
func (s *Store) Session(id []byte) (r *SessionRecord, err error) {
	err = s.get(nil, sessionKey(id), func(v []byte) error {
		if len(v) >= 8 {
			r = &SessionRecord{Session: id, Number: int64(binary.BigEndian.Uint64(v)), Reply: append([]byte(nil), v[8:]...)}
		}
		return nil
	})
	return r, err
}

// Sessions returns the ids of all sessions with a record.
func (s *Store) Sessions() (ids [][]byte, err error) {
	err = s.each(keySession, func(id, _ []byte) error {
		ids = append(ids, bytes.Clone(id))
		return nil
	})
	return ids, err
}

// Remember saves the record of a session.
func (s *Store) Remember(r *SessionRecord) error {
	b := s.db.NewBatch()
	r.write(b)
	return s.commit(b)
}

// Forget removes the records of sessions that have ended.
func (s *Store) Forget(ids ...[]byte) error {
	if len(ids) == 0 {
		return nil
	}
	b := s.db.NewBatch()
	for _, id := range ids {
		_ = b.Delete(sessionKey(id), nil)
	}
	return s.commit(b)
}
