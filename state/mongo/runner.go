package mongo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/trace"
	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/txn"

	"juju/state/entity"
	"juju/state/mongo/mgotxn"
	"juju/state/mongo/outage"
	"juju/state/mongo/servertxn"
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
	store   outage.Availability
	engine  engine
	meter   Meter
	traced  *traced // nil if watchers don't learn the spans of transactions
	slots   *slotQueue
	locks   *docLocks
	gate    gate // for all uses of the connections

	patience time.Duration
	// Hooks is the result of Options.Hooks for this runner, or nil.
	Hooks Hooks
}

func newRunner(s *Store, name string) *Runner {
	r := &Runner{name: name, session: s.session.Copy(), barrier: s.Barrier, store: s.backend, meter: s.options.Meter,
		locks: s.locksOf(name), patience: s.options.Patience}
	if s.options.Hooks != nil {
		r.Hooks = s.options.Hooks(name)
	}
	r.engine = mgoEngine{mgotxn.Engine{Database: name, Store: s.backend}}
	if s.transactions {
		if s.options.Traces {
			r.traced = &traced{}
		}
		r.engine = &serverEngine{servertxn.Engine{Database: name, Store: s.backend, Concern: s.backend.concern(),
			MayCommit: s.mayCommit, Committing: func(ctx context.Context, session []byte, number int64) {
				r.traced.note(trace.SpanContextFromContext(ctx), transaction{string(session), number})
			}}}
	}
	r.slots = &slotQueue{most: s.backend.slots(), connect: r.session.Copy, begin: r.engine.begin}
	return r
}

func (r *Runner) close() {
	if used := r.slots.close(); r.store.Err() == nil {
		r.engine.end(r.session, used)
	}
	r.session.Close()
}

// with calls f with the database, on a separate connection, unless ctx has ended. A request that has been sent is waited for:
// mgo can't cancel it.
func (r *Runner) with(ctx context.Context, f func(*mgo.Database) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := r.store.Err(); err != nil {
		return err
	}
	if err := r.gate.enter(); err != nil {
		return err
	}
	defer r.gate.leave()
	session := r.session.Copy()
	defer session.Close()
	began := time.Now()
	defer r.store.Watch()()
	return r.store.Wrap(f(session.DB(r.name)), began)
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
		if !applied || !r.engine.isFinal() {
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
	if err := r.store.Err(); err != nil {
		return false, err
	}
	defer t.unlock()
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
		switch err := t.intercepted(ctx, &ops, attempt > 0); {
		case err == nil:
			return true, nil
		case errors.As(err, &unmet):
			return false, unmet.error
		case errors.Is(err, txn.ErrAborted):
			if err := fence.check(ctx, r); err != nil {
				return false, err
			}
			span.AddEvent("aborted")
			if t.keepsLocks() {
				continue
			}
		case errors.Is(err, mgotxn.ErrLost):
			if lost++; lost == 1 {
				break // the pruner may have caused it
			}
			if derr := r.damaged(ctx, ops); derr != nil {
				return false, derr
			}
		case errors.Is(err, servertxn.ErrConflicted):
			span.AddEvent("conflicted")
		case errors.Is(err, entity.StoreAway):
			return false, err
		case mgotxn.IsQueueFull(err):
			logger.Infof("retrying a transaction of %s: %v", r.name, err)
		default:
			return false, fmt.Errorf("cannot run a transaction: %w", outage.Classify(err))
		}
		t.unlock()
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

// unlock unlocks the documents of the last attempt.
func (t *trial) unlock() {
	t.held.release()
	t.held = nil
}

// keepsLocks reports whether the documents of a failed attempt stay locked while its operations are rebuilt. What the
// builder read while it waited for the locks was out of date by the time it had them; what it reads now stays valid.
// Without this, eight callers that change the same few documents make each other fail for as long as a transaction
// takes. If the documents were already locked during the build, another process changes them, and other callers of this
// process need not wait for that.
func (t *trial) keepsLocks() bool { return !t.built && t.held != nil }

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

// intercepted calls once, through the next hook if there is one. A hook may run other transactions on the same
// documents, so they aren't locked before and after it.
func (t *trial) intercepted(ctx context.Context, ops *[]txn.Op, retry bool) error {
	var hook Hook
	if t.Hooks != nil {
		hook = t.Hooks.Next()
	}
	if hook == nil {
		return t.once(ctx, *ops, retry)
	}
	t.unlock()
	return hook(*ops, func(changed []txn.Op) error {
		defer t.unlock()
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
		t.unlock()
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
	if err := r.store.Err(); err != nil {
		return err // earlier callers ran into the outage
	}
	defer r.store.Watch()()
	return r.locks.under(conditionOf(ctx, r.name), func() error { return r.engine.run(ctx, s, ops) })
}
