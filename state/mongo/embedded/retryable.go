package embedded

import (
	"bytes"

	"juju/state/mongo/embedded/mongoerr"
	"juju/state/mongo/embedded/storage"
)

// retryable runs a write that the client may send again because it hasn't seen the reply. The write is a transaction of
// its own, together with the record of its reply.
func (r *request) retryable(cmd command, number int64) error {
	one := r.session
	if retryable[cmd.name] == "" {
		return mongoerr.New(mongoerr.OperationNotSupportedInTransaction, "%s does not support a transaction number", cmd.name)
	}
	if number == one.number {
		if one.state != txnNone {
			return mongoerr.New(mongoerr.ConflictingOperationInProgress, "Transaction %d is not a retryable write", number)
		}
		record, err := r.s.store.Session(one.id)
		if err != nil {
			return err
		}
		if record == nil {
			return mongoerr.New(mongoerr.TransactionTooOld, "the session has ended")
		}
		r.out = append(r.out, record.Reply...)
		return r.concern()
	}
	one.abort()
	start := len(r.out)
	run := func() (*storage.SessionRecord, error) {
		r.out = r.out[:start]
		if err := cmd.run(r); err != nil {
			return nil, err
		}
		return &storage.SessionRecord{Session: one.id, Number: number, Reply: bytes.Clone(r.out[start:])}, nil
	}
	granted := int64(0)
	room := func(bytes int) error {
		err := r.conn.claim(int64(bytes))
		if err == nil {
			granted += int64(bytes)
		}
		return err
	}
	var record *storage.SessionRecord
	var err error
	if name, nerr := r.collection(); nerr == nil && r.isCapped(name) {
		// Transactions can't write to it.
		if record, err = run(); err == nil {
			err = r.s.store.Remember(record)
		}
	} else {
		err = r.s.store.Atomically(r.ctx, room, func(tx *storage.Txn) (_ *storage.SessionRecord, err error) {
			r.tx = tx
			r.conn.unclaim(granted) // by an attempt in vain
			granted = 0
			record, err = run()
			return record, err
		})
		r.tx = nil
	}
	if err == nil {
		one.number, one.state = number, txnNone
	}
	return err
}

func (r *request) isCapped(name string) bool {
	coll := r.s.store.Collection(r.db, name)
	return coll != nil && coll.Options().Capped
}
