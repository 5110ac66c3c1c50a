package storage

import (
	"encoding/binary"
	"errors"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"juju/state/mongo/embedded/mongoerr"
)

// capped is the state of a capped collection. Its record keys are consecutive numbers from first, the number of the
// oldest document, to next, the number of the next document.
type capped struct {
	mu          sync.Mutex
	known       bool
	first, next uint64
	bytes       int64

	changed chan struct{} // closed at the next change; nil if nobody waits
}

// numbered returns the record key of a capped collection's document number n.
func (c *Collection) numbered(n uint64) []byte {
	return binary.BigEndian.AppendUint64(spaceKey(nil, c.space), n)
}

// learn reads the first and next numbers and the size from the collection, once.
func (c *Collection) learn() error {
	if c.capped.known {
		return nil
	}
	it, err := c.store.db.NewIter(&pebble.IterOptions{LowerBound: spaceKey(nil, c.space), UpperBound: spaceKey(nil, c.space+1)})
	if err != nil {
		return err
	}
	c.capped.first, c.capped.next, c.capped.bytes = 1, 1, 0
	for ok := it.First(); ok; ok = it.Next() {
		n := Number(it.Key())
		if c.capped.bytes == 0 {
			c.capped.first = n
		}
		c.capped.next = n + 1
		c.capped.bytes += int64(len(it.Value()))
	}
	c.capped.known = it.Error() == nil
	return errors.Join(damaged(it.Error()), it.Close())
}

// push appends a document to a capped collection and removes the oldest ones. Pushes are serialised, so a reader that
// has seen a number never misses a smaller one.
func (c *Collection) push(doc []byte) error {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.dropped.Load() {
		return ErrDropped
	}
	if int64(len(doc)) > c.opts.Size {
		return mongoerr.New(mongoerr.CannotGrowCapped, "object to insert exceeds cappedMaxSize of %d bytes", c.opts.Size)
	}
	k := &c.capped
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := c.learn(); err != nil {
		return err
	}
	b := c.store.db.NewBatch()
	record := c.numbered(k.next)
	first, bytes := k.first, k.bytes
	w := indexings.Get().(*indexing)
	defer w.release()
	if err := w.prepare(c, nil, b, c.secondary(), record[spaceSize:], nil, doc); err != nil {
		return errors.Join(err, b.Close())
	}
	for first < k.next && (bytes+int64(len(doc)) > c.opts.Size || c.opts.Max > 0 && int64(k.next-first) >= c.opts.Max) {
		n, err := c.evict(b, c.numbered(first))
		if err != nil {
			return errors.Join(err, b.Close())
		}
		first, bytes = first+1, bytes-n
	}
	if err := c.finish(b, record, nil, Change{New: doc}); err != nil {
		return err
	}
	k.first, k.next, k.bytes = first, k.next+1, bytes+int64(len(doc))
	c.wakeLocked()
	return nil
}

// evict adds the removal of an old document to b, and returns its size.
func (c *Collection) evict(b *pebble.Batch, record []byte) (int64, error) {
	old, ok, err := c.store.appendGet(nil, nil, record, nil)
	if err != nil || !ok {
		return 0, err
	}
	for _, ix := range c.secondary() {
		var e entries
		if _, err := e.fill(ix, old, record[spaceSize:]); err != nil {
			return 0, err
		}
		for _, key := range e.list {
			_ = b.Delete(key, nil)
		}
	}
	return int64(len(old)), b.Delete(record, nil)
}

// Changed returns a channel that is closed at the next insert into a capped collection, or when it is
// dropped.
func (c *Collection) Changed() <-chan struct{} {
	c.capped.mu.Lock()
	defer c.capped.mu.Unlock()
	if c.dropped.Load() {
		done := make(chan struct{})
		close(done)
		return done
	}
	if c.capped.changed == nil {
		c.capped.changed = make(chan struct{})
	}
	return c.capped.changed
}

func (c *Collection) wake() {
	c.capped.mu.Lock()
	defer c.capped.mu.Unlock()
	c.wakeLocked()
}

func (c *Collection) wakeLocked() {
	if c.capped.changed != nil {
		close(c.capped.changed)
		c.capped.changed = nil
	}
}

// Extent returns the number of a capped collection's oldest document, and the number of the next one to be
// inserted.
func (c *Collection) Extent() (first, next uint64, err error) {
	c.capped.mu.Lock()
	defer c.capped.mu.Unlock()
	err = c.learn()
	return c.capped.first, c.capped.next, err
}

// Number returns the number in a capped collection's record key.
func Number(record []byte) uint64 { return binary.BigEndian.Uint64(record[spaceSize:]) }
