package mongo

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/mongo/outage"
	"juju/state/mongo/servertxn"
)

// The barrier's document is in a separate database, because it is not part of the state.
const (
	barrierDB = "juju-barrier"
	barrierC  = "barrier"
)

// errUnsure is the error of a barrier on a MongoDB when the primary may have changed or restarted since the
// request began. The data that the request read may have been rolled back: a primary that steps down rolls
// back writes that didn't reach the majority. Applied transactions aren't affected, because each of their
// steps waited for the majority.
var errUnsure = entity.Errorf(entity.Unavailable, "%w", entity.Errorf(entity.StoreUnsure,
	"cannot be sure of what was read: the primary of the MongoDB has changed; try again"))

type requestKey struct{}

// moments orders events: the starts of requests, and detected changes of the primary.
var moments atomic.Int64

// A request records when a caller's work began and whether it has changed anything, which decides how its barriers may
// fail.
type request struct {
	began int64 // a moment
	// applied is set once a transaction of the request has been applied: the majority has each of its steps,
	// and a barrier has covered the facts it depends on. From then on the request must not fail with
	// errUnsure, or the client would repeat a completed change.
	applied atomic.Bool
	// note is called once, when a transaction of the request has been applied, before the barrier that covers it.
	note func()
}

// Began marks the start of a request. A barrier called with the returned context, or one derived from it, covers
// everything that the request has read. Without it, a barrier covers only reads just before the call.
func Began(ctx context.Context) context.Context {
	return context.WithValue(ctx, requestKey{}, &request{began: moments.Add(1)})
}

// Noting returns the context of the same request, whose first applied transaction calls note before the barrier that Run
// passes: what note writes is on disk with the transaction. The context must be one that Began has returned.
func Noting(ctx context.Context, note func()) context.Context {
	return context.WithValue(ctx, requestKey{}, &request{began: requestOf(ctx).began, note: sync.OnceFunc(note)})
}

// requestOf returns the request of a context, or nil.
func requestOf(ctx context.Context) *request {
	r, _ := ctx.Value(requestKey{}).(*request)
	return r
}

// groupCommit implements the barrier of a MongoDB. One write journaled by the majority covers everything its
// primary did before it, so all callers waiting when a write begins share it.
type groupCommit struct {
	wait    time.Duration // how long one write may wait for the majority
	outage  *outage.Outage
	probe   *mgo.Session // only for the outage: mgo locks a session while it searches for a primary
	session *mgo.Session // keeps its connection until an error

	mu      sync.Mutex
	next    *group // the callers covered by the next write
	running bool
	closed  bool
	changed int64 // the moment at which a change of the primary was last detected
	done    sync.WaitGroup

	// Used only by the goroutine of run.
	primary string // the election id of the last write's primary; "" if unknown
	sure    bool   // the connection is still the one of the last write
}

// A group is the callers waiting for one write.
type group struct {
	done chan struct{}
	err  error
}

func newGroupCommit(session *mgo.Session, wait, answer time.Duration, cut func()) *groupCommit {
	g := &groupCommit{session: session, wait: wait, sure: true}
	g.probe = session.Copy()
	g.outage = outage.New(outage.Options{Probe: func() error {
		g.probe.Refresh()
		_, err := g.write(g.probe)
		return err
	}, ProbeTime: wait, Bound: answer, Cut: cut})
	return g
}

// barrier returns once the majority has journaled everything acknowledged before the call. If ctx ends it
// returns early, with the cause.
func (g *groupCommit) barrier(ctx context.Context) error {
	who := requestOf(ctx)
	if who == nil {
		who = &request{began: moments.Add(1)}
	}
	if err := g.outage.Err(); err != nil {
		return err
	}
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return errors.New("the store is closed")
	}
	mine := g.next
	if mine == nil {
		mine = &group{done: make(chan struct{})}
		g.next = mine
		if !g.running {
			g.running = true
			g.done.Go(g.run)
		}
	}
	g.mu.Unlock()
	select {
	case <-mine.done:
		if mine.err == nil && !who.applied.Load() && g.changedSince(who.began) {
			return errUnsure
		}
		return mine.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (g *groupCommit) changedSince(moment int64) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.changed > moment
}

// run keeps writing while callers are waiting.
func (g *groupCommit) run() {
	for {
		g.mu.Lock()
		now := g.next
		g.next = nil
		g.running = now != nil
		g.mu.Unlock()
		if now == nil {
			return
		}
		now.err = g.commit()
		close(now.done)
	}
}

// commit writes once, and retries while a primary is being elected.
func (g *groupCommit) commit() error {
	var by string
	err := g.outage.Retry(context.Background(), func() (err error) {
		by, err = g.write(g.session)
		if err != nil {
			g.sure = false
			g.session.Refresh()
		}
		return err
	})
	if err != nil {
		return err
	}
	g.outage.Confirmed()
	if !g.sure || g.primary != by && g.primary != "" {
		g.mu.Lock()
		g.changed = moments.Add(1)
		g.mu.Unlock()
	}
	g.primary, g.sure = by, true
	return nil
}

// write increments the document's counter. It returns the id of the primary's election, or "" for a server outside a
// replica set.
func (g *groupCommit) write(session *mgo.Session) (election string, err error) {
	var result struct {
		Election bson.ObjectId       `bson:"electionId,omitempty"`
		Errors   []servertxn.Refused `bson:"writeErrors"`
		Concern  servertxn.Refused   `bson:"writeConcernError"`
	}
	err = session.DB(barrierDB).Run(bson.D{
		{"update", barrierC},
		{"updates", []bson.D{{{"q", bson.D{{"_id", barrierC}}}, {"u", bson.D{{"$inc", bson.D{{"n", int64(1)}}}}}, {"upsert", true}}}},
		majorityConcern(g.wait),
	}, &result)
	if err != nil {
		return "", err
	}
	for _, e := range append(result.Errors, result.Concern) {
		if e.Code == 11000 {
			return g.write(session) // another process has just created the document
		}
		if err := e.Err(); err != nil {
			return "", err
		}
	}
	return result.Election.Hex(), nil
}

// close waits for the last write.
func (g *groupCommit) close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.outage.Close()
	g.done.Wait()
	g.session.Close()
	g.probe.Close()
}
