package mongo

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"
	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/entity"
	"juju/state/tracing"
)

// ErrNothing is returned by a builder if there is nothing to do.
var ErrNothing = errors.New("nothing to do")

// A Builder builds the operations of one attempt at a transaction. It may be called many times, so it must
// not depend on the clock or on random numbers. Each time it rereads what it needs, and its operations assert
// exactly the facts they were built from. If it can't find a document it may return entity.NotFound; then it
// is called again. attempt counts from 0.
type Builder func(attempt int) ([]txn.Op, error)

const (
	// misses limits the calls of a builder that can't find a document, and elections limits the runs of a
	// transaction while the primary changes.
	misses, elections = 10, 10
)

// A Runner runs the transactions of one database.
type Runner struct {
	name    string
	session *mgo.Session // for everything but transactions
	barrier func(context.Context) error
	outage  *outage // nil for the embedded store, which has none
	// mayCommit is asked before a transaction of the server is committed.
	mayCommit func(context.Context) error
	meter     Meter
	traced    *traced // nil if watchers don't learn the spans of transactions
	slots     *slotQueue
	locks     *docLocks
	gate      gate // for all uses of the connections

	patience time.Duration
	wait     time.Duration // how long a commit may wait for the majority
	majority bool          // a transaction is committed by the majority
	// Hooks is the result of Options.Hooks for this runner, or nil.
	Hooks Hooks
}

func newRunner(s *Store, name string) *Runner {
	r := &Runner{name: name, session: s.session.Copy(), barrier: s.Barrier, outage: s.outage, mayCommit: s.mayCommit, meter: s.options.Meter,
		locks: s.locksOf(name), patience: s.options.Patience, wait: s.wait, majority: s.transactions && s.outage != nil}
	if s.options.Hooks != nil {
		r.Hooks = s.options.Hooks(name)
	}
	r.slots = &slotQueue{most: embeddedSlots, connect: r.session.Copy, server: func() *serverSession { return nil }}
	if s.server == nil {
		r.slots.most = remoteSlots
	}
	if s.transactions {
		r.slots.server = newServerSession
		if s.options.Traces {
			r.traced = &traced{}
		}
	}
	return r
}

func (r *Runner) close() {
	r.endSessions(r.slots.close())
	r.session.Close()
}

// with calls f with the database, on a separate connection, unless ctx has ended. A request that has been sent is waited for:
// mgo can't cancel it.
func (r *Runner) with(ctx context.Context, f func(*mgo.Database) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := r.outage.refuses(); err != nil {
		return err
	}
	if err := r.gate.enter(); err != nil {
		return err
	}
	defer r.gate.leave()
	session := r.session.Copy()
	defer session.Close()
	began := time.Now()
	defer r.outage.watch()()
	return r.outage.told(f(session.DB(r.name)), began)
}

// Run builds and runs a transaction until it is applied, and returns once it is on disk. It returns the
// builder's own error, entity.Contention if the facts keep changing, and nil if the builder has nothing to
// do.
func (r *Runner) Run(ctx context.Context, build Builder) error {
	whole := requestOf(ctx)
	for range elections {
		ctx := Began(ctx)
		applied, err := r.try(ctx, build)
		if applied {
			Moved(ctx)
		}
		if applied && whole != nil && whole.note != nil {
			whole.note()
		}
		// A result of reads only, or an error, may depend on the writes of others. What a transaction asserted is as
		// safe as its commit.
		var barrier error
		if !applied || !r.majority {
			barrier = r.barrier(ctx)
		}
		if errors.Is(barrier, errUnsure) && !applied {
			continue // the data read may have been rolled back
		}
		if err == nil && !errors.Is(barrier, errUnsure) {
			err = barrier
		}
		if err == nil && applied && whole != nil {
			whole.applied.Store(true)
		}
		return err
	}
	return errUnsure
}

// A trial is a transaction that is attempted until the facts it asserts hold.
type trial struct {
	*Runner
	Tries
	// held are the documents of the last attempt. built is set if its operations were built while the documents were
	// locked, so no other transaction of this process has changed the facts since.
	held  *holding
	built bool
}

// try attempts a transaction, and reports whether it was applied.
func (r *Runner) try(ctx context.Context, build Builder) (applied bool, err error) {
	t := &trial{Runner: r, Tries: r.Tries()}
	ctx, span := tracing.Start(ctx, "transaction")
	defer func() { r.ended(span, outcomeOf(ctx, applied, err), t.tries, err) }()
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	if err := r.outage.refuses(); err != nil {
		return false, err
	}
	defer t.letGo()
	var ops []txn.Op
	fence := fenceOf(ctx, r.name)
	lost := 0
	var unmet *unmetError
	for attempt := 0; t.Next(); attempt++ {
		var err error
		ops, err = settled(build, attempt)
		if errors.Is(err, ErrNothing) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		ops = fence.add(ops)
		switch err := t.hooked(ctx, &ops, attempt > 0); {
		case err == nil:
			return true, nil
		case errors.As(err, &unmet):
			return false, unmet.error
		case err == txn.ErrAborted:
			if err := fence.check(ctx, r); err != nil {
				return false, err
			}
			span.AddEvent("aborted")
			if t.keeps() {
				continue
			}
		case errors.Is(err, errLost):
			if lost++; lost == 1 {
				break // the pruner may have caused it
			}
			if derr := r.damaged(ctx, ops); derr != nil {
				return false, derr
			}
		case errors.Is(err, errConflicted):
			span.AddEvent("conflicted")
		case errors.Is(err, entity.StoreAway):
			return false, err
		case passing(err):
			logger.Infof("retrying a transaction of %s: %v", r.name, err)
		default:
			return false, fmt.Errorf("cannot run a transaction: %w", known(err))
		}
		t.letGo()
		if err := t.Pause(ctx); err != nil {
			return false, err
		}
	}
	return false, Contention(r.refused(ctx, ops).Why)
}

// Contention returns the entity.Contention error of a change that is abandoned because others keep changing the facts
// it depends on. why, which may be "", is the conflict.
func Contention(why string) error {
	hint := "Others are changing the same things just now; run the command again."
	if why != "" {
		hint = "It was refused because of " + why + ". " + hint
	}
	return entity.WithHint(entity.Errorf(entity.Contention, "state changing too quickly; try again soon"), "%s", hint)
}

func (t *trial) letGo() {
	t.held.release()
	t.held = nil
}

// keeps reports whether the documents of a failed attempt stay locked while its operations are rebuilt. What the
// builder read while it waited for the locks was out of date by the time it had them; what it reads now stays valid.
// Without this, eight callers that change the same few documents make each other fail for as long as a transaction
// takes. If the documents were already locked during the build, another process changes them, and other callers of this
// process need not wait for that.
func (t *trial) keeps() bool { return !t.built && t.held != nil }

// settled calls a builder, and calls it again if it can't find a document: it may have read one document
// before others removed it together with the one it refers to. A document that it can't find twice in a row
// doesn't exist.
func settled(build Builder, attempt int) (ops []txn.Op, err error) {
	missed := ""
	for range misses {
		ops, err = build(attempt)
		if !errors.Is(err, entity.NotFound) || err.Error() == missed {
			break
		}
		missed = err.Error()
	}
	return ops, err
}

// hooked calls once, through the next hook if there is one. A hook may run other transactions on the same
// documents, so they aren't locked before and after it.
func (t *trial) hooked(ctx context.Context, ops *[]txn.Op, retry bool) error {
	var hook Hook
	if t.Hooks != nil {
		hook = t.Hooks.Next()
	}
	if hook == nil {
		return t.once(ctx, *ops, retry)
	}
	t.letGo()
	return hook(*ops, func(changed []txn.Op) error {
		defer t.letGo()
		*ops = changed
		return t.once(ctx, changed, retry)
	})
}

// once runs ops while holding their documents and a slot; a retry goes to the front of the slot queue. The
// documents stay locked afterwards.
func (t *trial) once(ctx context.Context, ops []txn.Op, retry bool) error {
	r := t.Runner
	if err := r.gate.enter(); err != nil {
		return err
	}
	defer r.gate.leave()
	inLine := time.Now()
	if t.built = t.held.covers(ops); !t.built {
		t.letGo()
		var err error
		if t.held, err = r.locks.acquire(ctx, ops); err != nil {
			return err
		}
	}
	s, err := r.slots.acquire(ctx, retry)
	if err != nil {
		return err
	}
	t.waited += time.Since(inLine)
	defer r.slots.release(s)
	s.span = trace.SpanContextFromContext(ctx)
	if err := r.outage.refuses(); err != nil {
		return err // earlier callers ran into the outage
	}
	defer r.outage.watch()()
	return r.locks.under(conditionOf(ctx, r.name), func() error { return r.runOn(ctx, s, ops) })
}

// runOn runs ops on a slot.
func (r *Runner) runOn(ctx context.Context, s *slot, ops []txn.Op) (err error) {
	if s.server != nil {
		return r.runOnServer(ctx, s, ops)
	}
	id := bson.NewObjectId()
	db := s.session.DB(r.name)
	if err = clearQueues(db, ops); err == nil {
		err = runOnce(db, ops, id)
	}
	if r.outage != nil && cutShort(err) {
		return r.settle(s.session, id, err)
	}
	// The socket may be broken even on success, because mgo/txn ignores the errors of its last messages.
	// Refresh gives the next transaction a working one.
	s.session.Refresh()
	return err
}

// passing reports whether an error is transient: a document's queue is momentarily full.
func passing(err error) bool { return strings.Contains(err.Error(), "has too many transactions") }
