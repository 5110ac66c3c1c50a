package mongo

import (
	"context"
	"sync/atomic"
)

// A condition must hold when a context's first transaction on a database is committed.
type condition struct {
	database string
	check    func() error
	met      atomic.Bool // a transaction was made
}

type conditionKey struct{}

// OnlyIf returns a context whose first transaction on the database is made only if check returns nil. From the start of
// check until that transaction is committed, this process commits no other transaction. If check fails, the transaction
// changes nothing and fails with its error. Later transactions with the context are not checked.
func (d *Database) OnlyIf(ctx context.Context, check func() error) context.Context {
	return context.WithValue(ctx, conditionKey{}, &condition{database: d.name, check: check})
}

// conditionOf returns a context's condition for a database, or nil if there is none that is still to be met.
func conditionOf(ctx context.Context, database string) *condition {
	c, _ := ctx.Value(conditionKey{}).(*condition)
	if c == nil || c.database != database || c.met.Load() {
		return nil
	}
	return c
}

// An unmetError wraps the error of a check that failed.
type unmetError struct{ error }

func (e *unmetError) Unwrap() error { return e.error }

// under calls run, which runs a transaction whose documents are locked. It is the innermost lock: run waits for nothing
// that other transactions hold.
func (l *docLocks) under(c *condition, run func() error) error {
	if c == nil {
		l.all.RLock()
		defer l.all.RUnlock()
		return run()
	}
	l.all.Lock()
	defer l.all.Unlock()
	if err := c.check(); err != nil {
		return &unmetError{err}
	}
	err := run()
	if err == nil {
		c.met.Store(true)
	}
	return err
}
