package embedded

import (
	"bytes"
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"juju/state/mongo/embedded/mongoerr"
	"juju/state/mongo/embedded/pipeline"
	"juju/state/mongo/embedded/query"
	"juju/state/mongo/embedded/storage"
)

// A cursor is a query whose results are fetched in batches. It belongs to the server: any connection may fetch from it
// or kill it.
type cursor struct {
	id        int64
	namespace string
	session   string       // that opened it, or ""
	tx        *storage.Txn // that opened it, or nil
	mem       *ledger      // of what it keeps between batches; or nil
	sel       *selection
	record    []byte // the key of the document that sel returned last
	show      *query.Projection
	skip      int64
	left      int64    // documents that may still be returned; -1 for all
	fixed     [][]byte // a fixed list, instead of sel
	flow      *flow    // what an aggregation makes of sel, skip and left; or nil

	tail   *tail         // set for a tailable cursor
	stream *changeStream // set for a change stream
	await  bool

	durable bool // its batches may only have what is on disk

	// Guarded by the registry's lock.
	busy     bool
	used     time.Time
	forever  bool // never times out
	killed   chan struct{}
	isKilled bool
}

// A flow is the stream of documents that an aggregation returns.
type flow struct {
	next pipeline.Source
	late func() error // called periodically
}

// next appends the next document to dst, which is part of c's reply; ok is false at the end.
func (cur *cursor) next(c *conn, dst []byte) (_ []byte, ok bool, err error) {
	if cur.flow != nil {
		doc, err := cur.flow.next()
		if err == nil {
			err = c.room(len(doc))
		}
		return append(dst, doc...), doc != nil, err
	}
	if cur.left == 0 {
		return dst, false, nil
	}
	if cur.sel == nil {
		dst = append(dst, cur.fixed[0]...)
		cur.fixed = cur.fixed[1:]
		cur.left--
		return dst, true, nil
	}
	doc, err := cur.pick()
	for err == nil && doc != nil && !c.fits(len(doc)) {
		if doc, err = cur.again(c, len(doc)); err != nil || doc != nil {
			break
		}
		doc, err = cur.pick()
	}
	if err == nil {
		err = c.room(len(doc))
	}
	if err != nil || doc == nil {
		return dst, false, err
	}
	dst, err = cur.show.Append(dst, doc, cur.sel.position())
	return dst, true, err
}

// again waits until there is room for the document that pick has returned, without holding what the store has read for it,
// and reads it again. It returns nil if the document no longer matches.
func (cur *cursor) again(c *conn, size int) ([]byte, error) {
	record := bytes.Clone(cur.record)
	if err := cur.sel.pause(); err != nil {
		return nil, err
	}
	if err := c.await(size); err != nil {
		return nil, err
	}
	doc, ok, err := cur.sel.coll.Get(cur.sel.tx, nil, record, nil)
	if err == nil && (!ok || !cur.sel.filter.Match(doc)) {
		if cur.left >= 0 {
			cur.left++
		}
		return nil, nil
	}
	return doc, err
}

// pick returns the next document of the selection within skip and left, valid until the next call, and nil at the end.
func (cur *cursor) pick() ([]byte, error) {
	for cur.left != 0 {
		record, doc, err := cur.sel.next()
		if err != nil || doc == nil {
			return nil, err
		}
		cur.record = record
		if cur.skip > 0 {
			cur.skip--
			continue
		}
		if cur.left > 0 {
			cur.left--
		}
		return doc, nil
	}
	return nil, nil
}

// maxBatch is the size in bytes at which a batch is sent; its last document may exceed it.
const maxBatch = 4 << 20

// A batch is a sequence of documents for a reply: copies in data, or events of a change stream, which are shared with
// other streams.
type batch struct {
	data    []byte
	ends    []int
	shared  [][]byte
	durable bool // it may only be sent once they are on disk
}

// len returns the number of documents.
func (b *batch) len() int { return len(b.ends) + len(b.shared) }

func (b *batch) each(do func(i int, doc []byte)) {
	for i, doc := range b.shared {
		do(i, doc)
	}
	start := 0
	for i, end := range b.ends {
		do(i, b.data[start:end])
		start = end
	}
}

// fill reads up to n documents, or as many as fit if n is 0, and then releases the store's snapshot. more is
// set if there may be more documents.
func (cur *cursor) fill(c *conn, b *batch, n int64) (more bool, err error) {
	more = true
	if cur.sel != nil {
		cur.sel.lend(c)
		defer cur.sel.lend(nil)
	}
	for (n == 0 || int64(len(b.ends)) < n) && len(b.data) < maxBatch && !c.full {
		var ok bool
		if b.data, ok, err = cur.next(c, b.data); err != nil || !ok {
			more = false
			break
		}
		b.ends = append(b.ends, len(b.data))
	}
	if cur.sel != nil {
		if err := cur.sel.pause(); err != nil {
			return false, err
		}
	}
	return more && (cur.left != 0 || cur.flow != nil), err
}

// begin fills the first batch, with up to n documents. If there may be more, and single is not set, it registers the
// cursor; otherwise id is 0.
func (c *conn) begin(cur *cursor, b *batch, n int64, single bool) (id int64, err error) {
	more, err := cur.first(c, b, n)
	if err != nil || single || !more {
		cur.close()
		return 0, err
	}
	// The client's time limit applied only to the first request.
	if cur.sel != nil {
		cur.sel.late = c.s.ctx.Err
	}
	if cur.flow != nil {
		cur.flow.late = c.s.ctx.Err
	}
	c.sending = cur
	return c.s.cursors.add(cur), nil
}

// first reads the first batch; more is set if there may be more documents.
func (cur *cursor) first(c *conn, b *batch, n int64) (more bool, err error) {
	switch {
	case cur.tail != nil:
		err = cur.tail.read(c, cur, b, n)
		return cur.left != 0, err
	case cur.stream != nil:
		return true, cur.stream.read(c, b, n)
	case n > 0:
		return cur.fill(c, b, n)
	case cur.sel != nil:
		cur.sel.lend(nil)
		return true, cur.sel.pause()
	}
	return true, nil
}

// close releases what the cursor has.
func (cur *cursor) close() {
	cur.mem.close()
	if cur.stream != nil {
		cur.stream.events.Close()
	}
}

// waitFor waits for changed. more is false if the wait ends for another reason: the time is over, the cursor is killed,
// the server closes, or the client disconnects or sends another message.
func (cur *cursor) waitFor(c *conn, changed <-chan struct{}, over <-chan time.Time) (more bool, err error) {
	select {
	case <-changed:
		return true, nil
	case <-over:
		return false, nil
	case <-cur.killed:
		return false, mongoerr.New(mongoerr.CursorNotFound, "cursor id %d was killed", cur.id)
	case <-c.more():
		if cur.stream != nil {
			return false, c.ahead.err // a client that is gone resumes with another stream
		}
		return false, nil
	case <-c.ctx.Done():
		return false, context.Cause(c.ctx)
	}
}

// cursors is the registry of open cursors.
type cursors struct {
	mu      sync.Mutex
	open    map[int64]*cursor
	timeout time.Duration
	reaper  *time.Timer
	closed  bool
	total   int64 // opened since the start
}

// maxCursors limits the number of open cursors; beyond it the least recently used one is closed.
const maxCursors = 10_000

func (cs *cursors) init(timeout time.Duration) {
	cs.open, cs.timeout = map[int64]*cursor{}, timeout
}

// add registers a cursor and gives it an id.
func (cs *cursors) add(cur *cursor) int64 {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if len(cs.open) >= maxCursors {
		cs.evict()
	}
	for cur.id == 0 || cs.open[cur.id] != nil {
		cur.id = rand.Int64()
	}
	cur.used, cur.killed = time.Now(), make(chan struct{})
	cur.mem.idle(true)
	cs.open[cur.id] = cur
	cs.total++
	if cs.reaper == nil && !cs.closed {
		cs.reaper = time.AfterFunc(cs.timeout, cs.reap)
	}
	return cur.id
}

// evict closes the least recently used idle cursor.
func (cs *cursors) evict() {
	var oldest *cursor
	for _, cur := range cs.open {
		if !cur.busy && (oldest == nil || cur.used.Before(oldest.used)) {
			oldest = cur
		}
	}
	if oldest != nil {
		cs.remove(oldest)
	}
}

func (cs *cursors) remove(cur *cursor) {
	delete(cs.open, cur.id)
	if !cur.isKilled {
		cur.isKilled = true
		close(cur.killed)
		cur.close()
	}
}

// reap closes cursors that have been unused for the timeout.
func (cs *cursors) reap() {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.reaper = nil
	for _, cur := range cs.open {
		if !cur.busy && !cur.forever && time.Since(cur.used) >= cs.timeout {
			cs.remove(cur)
		}
	}
	if len(cs.open) > 0 && !cs.closed {
		cs.reaper = time.AfterFunc(cs.timeout/2, cs.reap)
	}
}

// take reserves a cursor for one fetch, after which the caller must release it.
func (cs *cursors) take(tx *storage.Txn, id int64, namespace string) (*cursor, error) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cur := cs.open[id]
	switch {
	case cur == nil:
		return nil, mongoerr.New(mongoerr.CursorNotFound, "cursor id %d not found", id)
	case cur.namespace != namespace:
		return nil, mongoerr.New(mongoerr.Unauthorized,
			"Requested getMore on namespace '%s', but cursor belongs to a different namespace %s", namespace, cur.namespace)
	case cur.tx != tx:
		return nil, mongoerr.New(mongoerr.CursorOfTransaction,
			"Cannot run getMore on cursor %d outside the transaction that created it", id)
	case cur.busy:
		return nil, mongoerr.New(mongoerr.CursorInUse, "cursor with id %d is in use", id)
	}
	cur.busy = true
	cur.mem.idle(false)
	return cur, nil
}

func (cs *cursors) release(cur *cursor, more bool) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cur.busy, cur.used = false, time.Now()
	cur.mem.idle(true)
	if !more {
		cs.remove(cur)
	}
}

// kill closes a cursor and interrupts its wait for documents. It reports whether the cursor existed.
func (cs *cursors) kill(id int64) bool {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cur := cs.open[id]
	if cur != nil {
		cs.remove(cur)
	}
	return cur != nil
}

// end closes a cursor if it is idle.
func (cs *cursors) end(cur *cursor) {
	cs.endIf(func(one *cursor) bool { return one == cur && !cur.busy })
}

// endIf closes the cursors that match.
func (cs *cursors) endIf(match func(*cursor) bool) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for _, cur := range cs.open {
		if match(cur) {
			cs.remove(cur)
		}
	}
}

func (cs *cursors) counts() (open int, total int64) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return len(cs.open), cs.total
}

func (cs *cursors) close() {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.closed = true
	if cs.reaper != nil {
		cs.reaper.Stop()
	}
	for _, cur := range cs.open {
		cs.remove(cur)
	}
}
