package mongo

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/entity"
)

// ErrNothing is what a builder returns when what it should do is done already.
var ErrNothing = errors.New("nothing to do")

// A Builder makes the operations of one try. It may run many times, so it takes
// no time and no random number; each time it reads what it needs afresh, and its
// operations assert exactly the facts that they were built from. What it does not find
// it may return as entity.NotFound, whichever document of several that is: it is
// asked again then. attempt counts from 0.
type Builder func(attempt int) ([]txn.Op, error)

const (
	slots = 8
	// misses is how often a builder is asked again that does not find something, and
	// elections how often a transaction is run again since the primary has changed.
	misses, elections = 10, 10
)

// A Runner runs the transactions of one database.
type Runner struct {
	name    string
	session *mgo.Session // for what is not a transaction
	barrier func(context.Context) error
	outage  *outage // nil of the embedded store, which has none
	slots   *slotQueue
	all     []*slot
	locks   *docLocks
	gate    gate // of all that uses the connections

	patience time.Duration
	// Hooks is what Options.Hooks returned for this runner, or nil.
	Hooks Hooks
}

// A slot is the right to have one transaction under way, and a connection for it.
type slot struct{ session *mgo.Session }

func newRunner(s *Store, name string) *Runner {
	r := &Runner{name: name, session: s.session.Copy(), barrier: s.Barrier, outage: s.outage,
		slots: &slotQueue{}, locks: s.locksOf(name), patience: s.options.Patience}
	if s.options.Hooks != nil {
		r.Hooks = s.options.Hooks()
	}
	for range slots {
		r.all = append(r.all, &slot{s.session.Copy()})
	}
	r.slots.free = append(r.slots.free, r.all...)
	return r
}

func (r *Runner) close() {
	for _, s := range r.all {
		s.session.Close()
	}
	r.session.Close()
}

// with calls f with the database on a connection of its own.
func (r *Runner) with(f func(*mgo.Database) error) error {
	if err := r.gate.enter(); err != nil {
		return err
	}
	defer r.gate.leave()
	session := r.session.Copy()
	defer session.Close()
	return r.outage.told(f(session.DB(r.name)))
}

// Run builds and runs a transaction until it is applied, and returns when it is
// on disk. It returns the builder's own error, or entity.Contention when the
// facts kept changing under it. A builder that has ErrNothing to do succeeds.
func (r *Runner) Run(ctx context.Context, build Builder) error {
	whole := requestOf(ctx)
	for range elections {
		ctx := Began(ctx)
		applied, err := r.try(ctx, build)
		// Also what was only read, or was refused, may rest on what another wrote.
		barrier := r.barrier(ctx)
		if errors.Is(barrier, ErrUnsure) && !applied {
			continue // what was read may be otherwise by now
		}
		if err == nil && !errors.Is(barrier, ErrUnsure) {
			err = barrier
		}
		if err == nil && applied && whole != nil {
			whole.applied.Store(true)
		}
		return err
	}
	return ErrUnsure
}

// A trial is a change that is tried until its facts hold still.
type trial struct {
	*Runner
	Tries
	// held are the documents of the last attempt. built says that its operations were
	// built while they were held: nobody in this process has changed the facts since.
	held  *holding
	built bool
}

// try reports whether it has applied a transaction.
func (r *Runner) try(ctx context.Context, build Builder) (applied bool, err error) {
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	if err := r.outage.refuses(); err != nil {
		return false, err
	}
	t := &trial{Runner: r, Tries: r.Tries()}
	defer t.letGo()
	var ops []txn.Op
	lost := 0
	for attempt := 0; t.Next(); attempt++ {
		var err error
		ops, err = settled(build, attempt)
		if errors.Is(err, ErrNothing) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		switch err := t.hooked(ctx, &ops, attempt > 0); {
		case err == nil:
			return true, nil
		case err == txn.ErrAborted && t.keeps():
			continue
		case err == txn.ErrAborted:
		case errors.Is(err, errLost):
			if lost++; lost == 1 {
				break // it may have been the pruner
			}
			if derr := r.damaged(ops); derr != nil {
				return false, derr
			}
		case passing(err):
			logger.Infof("a transaction of %s is tried again: %v", r.name, err)
		default:
			return false, fmt.Errorf("cannot run a transaction: %w", err)
		}
		t.letGo()
		if err := t.Pause(ctx); err != nil {
			return false, err
		}
	}
	hint := "Others are changing the same things just now; run the command again."
	if why := r.refused(ops).Why; why != "" {
		hint = "It was refused because of " + why + ". " + hint
	}
	return false, entity.WithHint(entity.Errorf(entity.Contention, "state changing too quickly; try again soon"), "%s", hint)
}

func (t *trial) letGo() {
	t.held.release()
	t.held = nil
}

// keeps reports whether the documents of an attempt whose facts had changed stay locked
// while its operations are built anew. What it read while it waited in line for them was
// out of date by the time it had them; what it reads now stays so. Without this eight
// who change the same few documents refuse each other for as long as a transaction
// takes. If they were locked then too, somebody outside this process changes them, and
// who waits for them here need not wait for that.
func (t *trial) keeps() bool { return !t.built && t.held != nil }

// settled runs a builder, and again when it does not find something: it may have read
// one document before others removed what that refers to, and the next after. What
// it does not find twice in a row is not there.
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

// hooked is once, through the next hook if there is one. A hook may run other
// transactions on the same documents, so they aren't locked before and after it.
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

// once runs ops while it holds their documents and a slot; a retry goes to the
// front of the queue for one. The documents stay locked.
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
	if err := r.outage.refuses(); err != nil {
		return err // those before us in line have met it
	}
	id := bson.NewObjectId()
	db := s.session.DB(r.name)
	if err = clearQueues(db, ops); err == nil {
		err = runOnce(db, ops, id)
	}
	if r.outage != nil && cutShort(err) {
		return r.settle(s.session, id, err)
	}
	// Its socket may be broken also when all went well: mgo/txn does not mind what
	// becomes of the last messages. The next transaction is given one that works.
	s.session.Refresh()
	return err
}

// passing recognises the failure that another try mends: the queue of a document is
// full for a moment.
func passing(err error) bool { return strings.Contains(err.Error(), "has too many transactions") }
