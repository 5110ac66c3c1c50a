package mongo

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
)

// Where the document of the barrier is: in a database of its own, for it is none of
// the state's.
const (
	barrierDB = "juju-barrier"
	barrierC  = "barrier"
)

// ErrUnsure is what a barrier of a MongoDB fails with when the primary may have
// become another, or begun anew, since the request began that the barrier is for.
// What it has read need not be so any more: a primary that steps down takes back
// what the majority had not got from it. Transactions that were run are not
// concerned, for each step of theirs waited for the majority.
var ErrUnsure = entity.Errorf(entity.Unavailable,
	"cannot be sure of what was read: the primary of the MongoDB has changed; try again")

type requestKey struct{}

// moments counts what must be known to have come before or after what else: requests
// that begin and primaries that are seen to have changed.
var moments atomic.Int64

// A request is what a barrier knows of who passes it.
type request struct {
	began int64 // a moment
	// applied says that a transaction of it was applied, each of whose steps the majority
	// has, and for whose facts a barrier was passed. Who is told of that need not be told
	// to try again: it would be done twice.
	applied atomic.Bool
}

// Began says that a request begins, to the barrier that is passed with its context
// or one made of it. Without that a barrier is for what was read just before it.
func Began(ctx context.Context) context.Context {
	return context.WithValue(ctx, requestKey{}, &request{began: moments.Add(1)})
}

// requestOf returns the request that a context is of, or nil.
func requestOf(ctx context.Context) *request {
	r, _ := ctx.Value(requestKey{}).(*request)
	return r
}

// flights carries those who wait for the barrier of a MongoDB. One write that the
// majority has in its journals covers all that its primary has done before; it is
// shared by all who wait when it begins.
type flights struct {
	wait    time.Duration // of one write for the majority
	outage  *outage
	probe   *mgo.Session // the outage's own: mgo locks one while it looks for a primary
	session *mgo.Session // keeps its connection while there is nothing wrong with it

	mu      sync.Mutex
	next    *flight // what the next write will carry
	running bool
	closed  bool
	changed int64 // the moment when it was last seen that the primary may be another
	done    sync.WaitGroup

	// The running goroutine's.
	primary string // the election that the last one's primary was made by; "" is not known
	sure    bool   // the connection is that of the last one
}

// A flight is those who wait for one write.
type flight struct {
	landed chan struct{}
	err    error
}

func newFlights(session *mgo.Session, wait time.Duration) *flights {
	f := &flights{session: session, wait: wait, sure: true}
	f.probe = session.Copy()
	f.outage = newOutage(func() error {
		f.probe.Refresh()
		_, err := f.write(f.probe)
		return err
	})
	return f
}

// barrier returns when all that was answered before the call is in the journals of
// the majority. When ctx ends it returns early, with its cause.
func (f *flights) barrier(ctx context.Context) error {
	who := requestOf(ctx)
	if who == nil {
		who = &request{began: moments.Add(1)}
	}
	if err := f.outage.refuses(); err != nil {
		return err
	}
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return fmt.Errorf("the store is closed")
	}
	mine := f.next
	if mine == nil {
		mine = &flight{landed: make(chan struct{})}
		f.next = mine
		if !f.running {
			f.running = true
			f.done.Go(f.run)
		}
	}
	f.mu.Unlock()
	select {
	case <-mine.landed:
		if mine.err == nil && !who.applied.Load() && f.changedSince(who.began) {
			return ErrUnsure
		}
		return mine.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (f *flights) changedSince(moment int64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.changed > moment
}

// run writes for as long as somebody waits.
func (f *flights) run() {
	for {
		f.mu.Lock()
		now := f.next
		f.next = nil
		f.running = now != nil
		f.mu.Unlock()
		if now == nil {
			return
		}
		now.err = f.fly()
		close(now.landed)
	}
}

// fly writes once, and again while a primary is being elected.
func (f *flights) fly() error {
	var by string
	err := f.outage.sitOut(func() (err error) {
		by, err = f.write(f.session)
		if err != nil {
			f.sure = false
			f.session.Refresh()
		}
		return err
	})
	if err != nil {
		return err
	}
	if !f.sure || f.primary != by && f.primary != "" {
		f.mu.Lock()
		f.changed = moments.Add(1)
		f.mu.Unlock()
	}
	f.primary, f.sure = by, true
	return nil
}

// write counts the document up, and returns which election made the primary, as
// far as the server is one of a replica set.
func (f *flights) write(session *mgo.Session) (election string, err error) {
	var result struct {
		Election bson.ObjectId `bson:"electionId,omitempty"`
		Errors   []struct {
			Code   int
			ErrMsg string
		} `bson:"writeErrors"`
		Concern struct {
			Code   int
			ErrMsg string
		} `bson:"writeConcernError"`
	}
	err = session.DB(barrierDB).Run(bson.D{
		{"update", barrierC},
		{"updates", []bson.D{{{"q", bson.D{{"_id", barrierC}}}, {"u", bson.D{{"$inc", bson.D{{"n", int64(1)}}}}}, {"upsert", true}}}},
		{"writeConcern", bson.D{{"w", "majority"}, {"j", true}, {"wtimeout", int(f.wait / time.Millisecond)}}},
	}, &result)
	if err != nil {
		return "", err
	}
	for _, e := range append(result.Errors, result.Concern) {
		if e.Code == 11000 {
			return f.write(session) // somebody else has just made the document
		}
		if e.Code != 0 {
			return "", &mgo.QueryError{Code: e.Code, Message: e.ErrMsg}
		}
	}
	return result.Election.Hex(), nil
}

// close waits for the last of them.
func (f *flights) close() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.outage.close()
	f.done.Wait()
	f.session.Close()
	f.probe.Close()
}
