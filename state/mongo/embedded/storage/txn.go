package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"juju/state/mongo/embedded/mongoerr"
)

// A Txn is a transaction. It reads a snapshot of the store with its own changes on top; nobody else sees these until
// Commit applies them in one batch. It holds each document and unique key that it has changed until it ends: another
// transaction can't change it, and a write outside transactions waits. A Txn is for one goroutine at a time.
type Txn struct {
	By      Transaction // for its events; zero if no client began it
	store   *Store
	snap    *pebble.Snapshot
	catalog int64             // the store's count of catalog changes at the snapshot
	written int64             // the store's count of batches at the snapshot
	changes map[string][]byte // by key; nil for a key that it has removed
	events  []*Event
	bytes   int // of keys and values in changes
	said    int // bytes of what events say
	room    func(bytes int) error
	granted int // by room
	held    []hold
	locked  []*Collection // those it has changed, whose mu it has read-locked
	done    chan struct{} // closed when it has ended
}

// A stripe is the lock of the keys that hash to it, and records which of them transactions hold.
type stripe struct {
	sync.Mutex
	held map[string]*Txn
}

// A hold is a key that a transaction holds until it ends.
type hold struct {
	stripe *stripe
	key    string
}

// maxTxn limits the bytes of the documents that a transaction changes and of its statements, as MongoDB does before 4.2.
const maxTxn = 16_793_600

// roomStep is the memory in bytes that a transaction asks for at a time.
const roomStep = 64 << 10

// lockPatience is how long a transaction waits for a collection whose indexes are being changed.
const lockPatience = 5 * time.Millisecond

// Begin starts a transaction. The caller must end it with Commit or Abort. Unless room is nil, the transaction calls it
// before it takes more memory, with the bytes; its error fails the change.
func (s *Store) Begin(room func(bytes int) error) *Txn {
	catalog, written := s.catalog.Load(), s.sync.written.Load() // before the snapshot, so that no change in between is missed
	return &Txn{store: s, snap: s.db.NewSnapshot(), catalog: catalog, written: written,
		changes: map[string][]byte{}, room: room, done: make(chan struct{})}
}

// altered records a change to a collection or its indexes, after it was committed.
func (s *Store) altered(c *Collection) { c.altered.Store(s.catalog.Add(1)) }

// Check fails if a collection or its indexes have changed since the transaction's snapshot, or if it no longer exists.
func (tx *Txn) Check(c *Collection) error {
	if c.altered.Load() > tx.catalog || c.dropped.Load() {
		return mongoerr.New(mongoerr.SnapshotUnavailable,
			"Unable to read from a snapshot due to pending collection catalog changes; please retry the operation.")
	}
	return nil
}

// OnlyReads reports whether the transaction has changed nothing, and so holds nothing that others wait for.
func (tx *Txn) OnlyReads() bool { return len(tx.changes) == 0 && len(tx.held) == 0 }

// A writer collects changes to keys: a batch, or a transaction.
type writer interface {
	Set(key, value []byte, _ *pebble.WriteOptions) error
	Delete(key []byte, _ *pebble.WriteOptions) error
}

// Set changes a key in the transaction's view.
func (tx *Txn) Set(key, value []byte, _ *pebble.WriteOptions) error {
	tx.change(key, append(make([]byte, 0, len(value)), value...))
	return nil
}

// Delete removes a key from the transaction's view.
func (tx *Txn) Delete(key []byte, _ *pebble.WriteOptions) error {
	tx.change(key, nil)
	return nil
}

func (tx *Txn) change(key, value []byte) {
	old, changed := tx.changes[string(key)]
	if !changed {
		tx.bytes += len(key)
	}
	tx.bytes += len(value) - len(old)
	tx.changes[string(key)] = value
}

// Get returns the value of a key in the transaction's view, like a pebble.Reader.
func (tx *Txn) Get(key []byte) ([]byte, io.Closer, error) {
	if value, changed := tx.changes[string(key)]; !changed {
		return tx.snap.Get(key)
	} else if value != nil {
		return value, io.NopCloser(nil), nil
	}
	return nil, nil, pebble.ErrNotFound
}

// modify is Modify for a transaction.
func (tx *Txn) modify(c *Collection, record []byte, decide func(old []byte) (Change, error)) error {
	if c.opts.Capped {
		return tx.refuseCapped(c)
	}
	if err := tx.lock(c); err != nil {
		return err
	}
	return tx.store.get(tx, record, func(old []byte) error {
		ch, err := decide(old)
		if err != nil || ch.none() {
			return err
		}
		if err := tx.hold(&tx.store.locks, record); err != nil {
			return err
		}
		w := indexings.Get().(*indexing)
		defer w.release()
		if err := w.prepare(c, tx, tx, c.secondary(), record[spaceSize:], old, ch.New); err != nil {
			return err
		}
		return tx.record(c, record, old, ch)
	})
}

// record adds a change of a document.
func (tx *Txn) record(c *Collection, record, old []byte, ch Change) error {
	if err := tx.reserve(2 * len(ch.New)); err != nil {
		return err
	}
	event := c.event(old, ch)
	event.By = tx.By
	if event.New != nil {
		tx.change(record, event.New) // they share it
	} else {
		ch.write(tx, record, old)
	}
	tx.events = append(tx.events, event)
	tx.said += event.payload()
	if size := max(tx.bytes, tx.said); size > maxTxn {
		return mongoerr.New(mongoerr.TransactionTooLarge,
			"Total size of all transaction operations must be less than %d. Actual size is %d",
			maxTxn, size)
	}
	return nil
}

// reserve asks for the memory of what the transaction has and of a change with that many bytes.
func (tx *Txn) reserve(bytes int) error {
	need := tx.bytes + tx.said + bytes + eventOverhead*(1+len(tx.events)+len(tx.changes)) - tx.granted
	if tx.room == nil || need <= 0 {
		return nil
	}
	need = max(need, roomStep)
	if err := tx.room(need); err != nil {
		return err
	}
	tx.granted += need
	return nil
}

func (tx *Txn) refuseCapped(c *Collection) error {
	return mongoerr.New(mongoerr.OperationNotSupportedInTransaction,
		"Collection '%s' is a capped collection. Writes in transactions are not allowed on capped collections.",
		c.Namespace())
}

// lock keeps the collection and its indexes from changing until the transaction ends.
func (tx *Txn) lock(c *Collection) error {
	for _, locked := range tx.locked {
		if locked == c {
			return nil
		}
	}
	// A collection may wait for this transaction to change its indexes, while this one waits for another collection.
	for began := time.Now(); !c.mu.TryRLock(); time.Sleep(lockPatience / 20) {
		if time.Since(began) > lockPatience {
			return mongoerr.New(mongoerr.LockTimeout, "Unable to acquire a lock on '%s' within %v", c.Namespace(), lockPatience)
		}
	}
	tx.locked = append(tx.locked, c)
	return tx.Check(c)
}

// hold makes the transaction the only one that may change a key. It fails if another transaction holds the key, or if
// the key has changed since the snapshot.
func (tx *Txn) hold(table *[512]stripe, key []byte) error {
	st := &table[tx.store.stripe(key)]
	st.Lock()
	defer st.Unlock()
	switch by := st.held[string(key)]; by {
	case nil:
	case tx:
		return nil
	default:
		return &heldError{by}
	}
	// A batch that changed the key was counted before its writer gave up the stripe or the key.
	if tx.store.sync.written.Load() != tx.written {
		if err := tx.compare(key); err != nil {
			return err
		}
	}
	if st.held == nil {
		st.held = map[string]*Txn{}
	}
	st.held[string(key)] = tx
	tx.held = append(tx.held, hold{st, string(key)})
	return nil
}

// compare fails if a key has changed since the snapshot.
func (tx *Txn) compare(key []byte) error {
	return tx.store.get(nil, key, func(now []byte) error {
		then, closer, err := tx.snap.Get(key)
		switch {
		case errors.Is(err, pebble.ErrNotFound):
			if now != nil {
				return errConflict
			}
			return nil
		case err != nil:
			return fmt.Errorf("cannot read store: %w", damaged(err))
		case now == nil || !bytes.Equal(then, now):
			_ = closer.Close() // it never fails
			return errConflict
		}
		return closer.Close()
	})
}

var errConflict = mongoerr.New(mongoerr.WriteConflict, "WriteConflict")

// A heldError is the WriteConflict of a write to a key that another transaction holds.
type heldError struct{ by *Txn }

// Error returns the text of a WriteConflict.
func (e *heldError) Error() string { return errConflict.Error() }

// Unwrap returns the WriteConflict.
func (e *heldError) Unwrap() error { return errConflict }

// patiently repeats a write outside transactions until no transaction holds what it changes, or ctx ends. It does not
// begin one if the store has failed: a write that is stuck in the disk keeps its locks.
func (s *Store) patiently(ctx context.Context, write func() error) error {
	for {
		if err := s.failed(); err != nil {
			return err
		}
		err := write()
		var held *heldError
		if !errors.As(err, &held) {
			return err
		}
		select {
		case <-held.by.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.ended:
			return s.failed()
		case <-s.quit:
			return ErrClosed
		}
	}
}

// Atomically runs write in transactions of its own, each with the record that write returns, until one of them doesn't
// conflict with others, or ctx ends while they wait. Other errors abort the transaction and are returned. room is that of
// Begin.
func (s *Store) Atomically(ctx context.Context, room func(bytes int) error,
	write func(*Txn) (*SessionRecord, error)) error {
	for {
		err := s.patiently(ctx, func() error {
			tx := s.Begin(room)
			record, err := write(tx)
			if err != nil {
				tx.Abort()
				return err
			}
			return tx.Commit(record)
		})
		if !mongoerr.IsTransient(err) {
			return err
		}
	}
}

// Quit makes writes that wait for a transaction fail, before the store is closed.
func (s *Store) Quit() { close(s.quit) }

// Commit applies the transaction's changes, and record if it isn't nil, in one batch, and ends the transaction. Like
// other writes, they are on disk after a barrier.
func (tx *Txn) Commit(record *SessionRecord) error {
	defer tx.end()
	if len(tx.changes) == 0 && record == nil {
		return nil
	}
	b := tx.store.db.NewBatchWithSize(tx.bytes + 64*len(tx.changes))
	for key, value := range tx.changes {
		if value == nil {
			_ = b.Delete([]byte(key), nil)
		} else {
			_ = b.Set([]byte(key), value, nil)
		}
	}
	record.write(b)
	if err := tx.store.commit(b); err != nil {
		return err
	}
	tx.store.feed.add(func() []*Event { return tx.events })
	return nil
}

// Abort ends the transaction and discards its changes.
func (tx *Txn) Abort() { tx.end() }

func (tx *Txn) end() {
	for _, h := range tx.held {
		h.stripe.Lock()
		delete(h.stripe.held, h.key)
		h.stripe.Unlock()
	}
	for _, c := range tx.locked {
		c.mu.RUnlock()
	}
	tx.changes, tx.events = nil, nil // a cursor may refer to the transaction for long
	_ = tx.snap.Close()              // it never fails
	close(tx.done)
}
