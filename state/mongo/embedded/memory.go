package embedded

import (
	"context"
	"time"

	"juju/state/budget"
	"juju/state/mongo/embedded/mongoerr"
	"juju/state/mongo/embedded/storage"
	"juju/state/mongo/embedded/wire"
)

// defaultMemory is the default of Options.Memory.
const defaultMemory = 256 << 20

const (
	// freeBytes is what a connection or a cursor may hold without being counted.
	freeBytes = 64 << 10
	// memoryStep is how much is claimed at a time.
	memoryStep = 1 << 20
	// replyCopies is the number of copies of a document while a reply is made: in the batch and in the reply.
	replyCopies = 2
	// frameCopies is that of a document that is written: in the request, and on its way into the store.
	frameCopies = 2
)

// newBudget returns the budget of all that a server holds for its clients. What is idle for a second, because its client
// sends or reads slowly, is ended while others wait for memory: the largest first.
func newBudget(total int64) *budget.Budget {
	return budget.New(budget.Limits{Total: total, Share: total, Wait: 30 * time.Second, Grace: time.Second})
}

// noMemory returns the error of a request whose wait for memory until ctx has failed.
func noMemory(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	return mongoerr.New(mongoerr.ExceededMemoryLimit, "%v", err)
}

// claim counts bytes of the request in progress. It waits until there is memory for them, or the client is gone.
func (c *conn) claim(bytes int64) error {
	if !c.hold.TryGrow(bytes) {
		ctx, cancel := c.whileConnected()
		defer cancel()
		if err := c.hold.Grow(ctx, bytes); err != nil {
			return noMemory(c.until, err)
		}
	}
	c.claimed += bytes
	return nil
}

// whileConnected returns a context of the request in progress that also ends when the client disconnects.
func (c *conn) whileConnected() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(c.until)
	arrived, next := c.more(), c.ahead
	c.reading.Go(func() {
		select {
		case <-arrived:
			if next.err != nil {
				cancel(next.err)
			}
		case <-ctx.Done():
		}
	})
	return ctx, func() { cancel(nil) }
}

// unclaim undoes claim.
func (c *conn) unclaim(bytes int64) {
	c.hold.Force(-bytes)
	c.claimed -= bytes
}

// read reads the next message into m. A large one waits for memory first, and its client may not be slow while others
// wait.
func (c *conn) read(m *message) {
	m.head, m.body, m.err = wire.ReadWithin(c.r, wire.MaxMessage, func(size int) error {
		if size <= freeBytes {
			return nil
		}
		m.claimed = frameCopies * int64(size)
		c.hold.Idle()
		return c.hold.Grow(c.ctx, m.claimed)
	})
}

// room is called before n bytes of a document are added to the reply. The first large one waits for memory while the
// request holds none. So that requests that have a part of what they need don't wait for each other, the reply ends early
// if there is no memory for more.
func (c *conn) room(n int) error {
	c.replied += replyCopies * int64(n)
	need := c.replied - c.granted
	if c.replied <= freeBytes || need <= 0 {
		return nil
	}
	step := max(need, memoryStep)
	switch {
	case c.granted > 0 && c.hold.TryGrow(step):
		c.claimed += step
	case c.granted > 0 && n <= memoryStep:
		c.hold.Force(step)
		c.claimed += step
		c.full = true
	default:
		if err := c.claim(step); err != nil {
			return err
		}
	}
	c.granted += step
	return nil
}

// fits reports whether room need not wait for n bytes.
func (c *conn) fits(n int) bool {
	total := c.replied + replyCopies*int64(n)
	need := total - c.granted
	if total <= freeBytes || need <= 0 || c.granted > 0 && n <= memoryStep {
		return true
	}
	step := max(need, memoryStep)
	if !c.hold.TryGrow(step) {
		return false
	}
	c.claimed += step
	c.granted += step
	return true
}

// await waits until room need not wait for n bytes, and counts another copy of them, which is read first.
func (c *conn) await(n int) error {
	c.replied += int64(n)
	need := c.replied + replyCopies*int64(n) - c.granted
	if need <= 0 {
		return nil
	}
	err := c.claim(need)
	if err == nil {
		c.granted += need
	}
	return err
}

// replying counts what a finished reply takes until its client has read it, instead of what the request took.
func (c *conn) replying(size int64) error {
	c.trim()
	if size <= freeBytes {
		size = 0
	}
	late := size > c.claimed // it was not claimed while it was made
	c.hold.Force(size - c.claimed)
	c.claimed = size
	if late {
		return noMemory(c.ctx, c.hold.Settle(c.ctx))
	}
	return nil
}

// release counts nothing any more, when a request is done.
func (c *conn) release() {
	if c.claimed != 0 {
		c.unclaim(c.claimed)
	}
	c.replied, c.granted, c.full = 0, 0, false
}

// A ledger counts the memory of a cursor, such as documents that it has sorted. The cursor is killed if it is idle while
// others need the memory.
type ledger struct {
	s   *Server
	cur *cursor // nil if it is that of one request

	used, granted int64
	// Once it has much: hold counts that, and ctx ends when others need the memory.
	hold   *budget.Hold
	ctx    context.Context
	cancel context.CancelCauseFunc
}

func (s *Server) ledger(cur *cursor) *ledger { return &ledger{s: s, cur: cur} }

// keep counts bytes, or fewer if they are negative. It waits until there is memory for them.
func (l *ledger) keep(bytes int) error {
	l.used += int64(bytes)
	need := l.used - l.granted
	if l.used <= freeBytes || need <= 0 {
		return nil
	}
	if l.hold == nil {
		l.ctx, l.cancel = context.WithCancelCause(l.s.ctx)
		l.hold = l.s.budget.Open(l, func(err error) {
			l.cancel(err)
			l.s.cursors.end(l.cur)
		})
	}
	step := max(need, memoryStep)
	if err := l.hold.Grow(l.ctx, step); err != nil {
		return noMemory(l.s.ctx, err)
	}
	l.granted += step
	return nil
}

// close counts nothing any more.
func (l *ledger) close() {
	if l != nil && l.hold != nil {
		l.cancel(nil)
		l.hold.Close()
	}
}

// idle says whether the cursor waits for its client.
func (l *ledger) idle(is bool) {
	switch {
	case l == nil:
	case is:
		l.hold.Idle()
	default:
		l.hold.Busy()
	}
}

// begin starts the session's transaction. It is aborted when it is too old, or when others need its memory and its client
// is slow. The caller holds mu.
func (sess *session) begin(s *Server) {
	var txn *storage.Txn
	expiry := time.AfterFunc(txnLifetime, func() {
		sess.mu.Lock()
		defer sess.mu.Unlock()
		if sess.txn == txn {
			sess.abort()
		}
	})
	ctx, cancel := context.WithCancelCause(s.ctx)
	hold := s.budget.Open(sess, func(err error) {
		cancel(err)
		expiry.Reset(0)
	})
	number := sess.number
	txn = s.store.Begin(func(bytes int) error {
		err := hold.Grow(ctx, int64(bytes))
		switch {
		case err == nil || s.ctx.Err() != nil:
			return err
		case int64(bytes) > hold.Left():
			return mongoerr.New(mongoerr.TransactionTooLarge, "Transaction %d is too large: %v", number, err)
		}
		return mongoerr.New(mongoerr.NoSuchTransaction, "Transaction %d has been aborted: %v", number, err)
	})
	txn.By = storage.Transaction{Session: sess.id, Number: number}
	sess.txn, sess.expiry, sess.hold = txn, expiry, hold
	sess.free = func() {
		cancel(nil)
		hold.Close()
	}
}
