package state_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"gopkg.in/mgo.v2/txn"

	"juju/state/entity"
	"juju/state/mongo"
)

// A point is a moment in the conversation with the store: before the n-th
// message since the cutter was armed, counted from 1, or, with after, once its
// answer has arrived and before the client reads it.
type point struct {
	message int
	after   bool
}

// A cutter counts the messages on all connections of a store, and cuts a
// connection at a point.
type cutter struct {
	mu     sync.Mutex
	on     bool
	at     point
	count  int
	ends   bool          // the cut ends all connections, as the end of the process would
	gone   bool          // all connections have ended
	before func()        // runs before the cut, if set
	ended  chan struct{} // made by the cut, closed once mgo knows of it
}

func (c *cutter) tap(conn net.Conn) net.Conn { return &cuttable{Conn: conn, c: c} }

// arm starts counting, and sets the point to cut at; point{} only counts.
func (c *cutter) arm(at point) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.on, c.at, c.count = true, at, 0
}

// disarm stops counting, and returns how many messages were sent.
func (c *cutter) disarm() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.on = false
	return c.count
}

// wait returns once mgo no longer hands out the connection that was cut.
func (c *cutter) wait() {
	c.mu.Lock()
	ended := c.ended
	c.mu.Unlock()
	if ended != nil {
		<-ended
	}
}

type cuttable struct {
	net.Conn
	c     *cutter
	mu    sync.Mutex
	waits bool          // cut when the answer arrives
	ended chan struct{} // set once the connection was cut
}

// cut cuts the connection, at both ends.
func (c *cuttable) cut() {
	k := c.c
	if k.before != nil {
		k.before()
	}
	k.mu.Lock()
	k.gone, k.ended = k.ends, make(chan struct{})
	k.mu.Unlock()
	c.mu.Lock()
	c.ended = k.ended
	c.mu.Unlock()
	c.Conn.Close()
}

// Close is called by mgo once it finds that the connection is cut.
func (c *cuttable) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended != nil {
		close(c.ended)
		c.ended = nil
	}
	return c.Conn.Close()
}

func (c *cuttable) Write(b []byte) (int, error) {
	k := c.c
	k.mu.Lock()
	gone, here := k.gone, false
	if k.on {
		k.count++
		here = k.count == k.at.message
	}
	after := k.at.after
	k.mu.Unlock()
	switch {
	case here && after:
		c.mu.Lock()
		c.waits = true
		c.mu.Unlock()
	case here:
		c.cut()
		return 0, io.ErrClosedPipe
	case gone:
		c.Conn.Close()
		return 0, io.ErrClosedPipe
	}
	return c.Conn.Write(b)
}

func (c *cuttable) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.mu.Lock()
	here := c.waits && n > 0
	c.mu.Unlock()
	if here {
		c.cut()
		return 0, io.EOF
	}
	return n, err
}

// A record holds the contents after each transaction of a mutator that runs
// undisturbed, from before the first one.
type record struct {
	states   []string
	final    string // without numbers from sequences
	messages int
	later    int64 // how far the clock was advanced before the call
}

func (m mutator) record(t *testing.T, st *stage) record {
	var c cutter
	s := st.scene(t, c.tap)
	call := m.ready(s)
	r := record{states: []string{inside(s.contents(t.Context(), true))}, later: s.later.Load()}
	c.arm(point{})
	s.ok(call())
	r.messages = c.disarm()
	r.states = append(r.states, inside(s.contents(t.Context(), true)))
	s.finish(m, call)
	r.final = inside(s.contents(t.Context(), false))
	if m.logs || m.givesUp {
		return r
	}
	// Run it once more, for the contents between its transactions.
	between := st.scene(t, nil)
	call = m.ready(between)
	between.tries(func(_ *watch, _ *mongo.Database, _ []txn.Op) func() {
		return func() { r.states = append(r.states, inside(between.contents(t.Context(), true))) }
	})
	between.ok(call())
	between.unwatch()
	return r
}

// finish repeats a call that does part of its work each time, until it has done
// all.
func (s *scene) finish(m mutator, call func() error) {
	s.Helper()
	for range 8 {
		if m.logs {
			s.ok(call())
		}
	}
}

// Wherever the conversation with the store breaks off, a change is made
// completely or not at all, and can be made again.
func TestCutConnection(t *testing.T) {
	st := sharedStage(t)
	seed := testSeed(t)
	inParallel(t, quick(), mutator.String, func(t *testing.T, m mutator) {
		r := m.record(t, st)
		rnd := rand.New(rand.NewPCG(seed, uint64(len(m.String()))))
		for _, at := range points(rnd, r.messages, false, true) {
			only := rnd.IntN(2) == 0
			for _, ends := range []bool{false, true} {
				alone := m.logs || m.givesUp
				if ends && alone {
					continue // the mutator carries on without them; see TestKilledProcess
				}
				if soak || ends == only || alone {
					m.cutAt(t, st, r, at, ends)
				}
			}
		}
	})
}

// Some messages are sent by the way, and the sender does not learn that one was
// lost. The next caller must not get the broken connection either.
func TestNextCallAfterACutReconnects(t *testing.T) {
	st := sharedStage(t)
	m := mutators[slices.IndexFunc(mutators, func(m mutator) bool { return m.name == "Unit.SetStatus" })]
	r := m.record(t, st)
	every := 1
	if testing.Short() {
		every = 8
	}
	for n := rand.IntN(every); n < r.messages; n += every {
		m.cutAt(t, st, r, point{n + 1, false}, false)
	}
}

// maxPoints bounds the points that a soak tests for one mutator, different ones
// in each run. All of them would take hours, and 60 took more than two.
const maxPoints = 20

// points returns the points to test before and after a number of messages, in
// random order: in a soak up to maxPoints, otherwise one.
func points(rnd *rand.Rand, messages int, after ...bool) (all []point) {
	for n := range messages {
		for _, a := range after {
			all = append(all, point{n + 1, a})
		}
	}
	limit := 1
	if soak {
		limit = maxPoints
	}
	rnd.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:min(len(all), limit)]
}

// cutAt cuts one connection at a point, or with ends all of them, and then
// opens the store anew.
func (m mutator) cutAt(t *testing.T, st *stage, r record, at point, ends bool) {
	c := cutter{ends: ends}
	s := st.scene(t, c.tap)
	defer s.end()
	call := m.ready(s)
	c.arm(at)
	err := call()
	c.disarm()
	c.wait()
	told := err == nil && !m.logs
	if ends {
		s.close()
		s.open(t, nil)
	} else {
		s.resume()
	}
	if !s.verify(t.Context(), m, r, told) {
		t.Fatalf("cut at message %d of %d (after it: %v; all end: %v); the call returned %v", at.message, r.messages,
			at.after, ends, err)
	}
	if s.repeat(t.Context(), m, r, call, ends); t.Failed() {
		t.Fatalf("repeated after a cut at message %d of %d (after it: %v; all end: %v); the first call returned %v",
			at.message, r.messages, at.after, ends, err)
	}
}

// resume completes unfinished transactions, as the controller does with old
// ones. The scene's clock stands, and a soak takes hours.
func (s *scene) resume() {
	s.Helper()
	const week = 7 * 24 * time.Hour
	s.later.Add(int64(week))
	s.ok(s.st.Transactions().ResumeTransactions(s.ctx))
	s.ok(s.ctrl.ResumeTransactions(s.ctx))
	s.later.Add(-int64(week))
}

// verify reports whether the store is consistent and the mutator is not half
// done: the contents are those of some moment of the undisturbed run, and of
// its end if the call returned success (told).
func (s *scene) verify(ctx context.Context, m mutator, r record, told bool) bool {
	s.Helper()
	if m.leaves {
		_, err := s.ctrl.Check(s.ctx, true)
		s.ok(err)
	}
	if !m.mends {
		s.checkIntact(ctx)
	}
	is := inside(s.contents(ctx, true))
	switch {
	case told && is != r.states[1]:
		s.Errorf("a reported change is lost:%s", differ(is, r.states[1]))
	case !m.logs && !m.givesUp && !slices.Contains(r.states, is):
		s.Errorf("half done; differs from the beginning by:%s\nand from the end by:%s", differ(is, r.states[0]),
			differ(is, r.states[1]))
	}
	return !s.Failed()
}

// repeat repeats the call, and checks that it ends as an undisturbed one does.
func (s *scene) repeat(ctx context.Context, m mutator, r record, call func() error, anew bool) {
	s.Helper()
	done := inside(s.contents(ctx, true)) == r.states[1]
	if anew {
		if done {
			return
		}
		call = m.take(s)
	}
	err := call()
	if err != nil && entity.KindOf(err) == "" {
		s.Errorf("an error of no kind: %v", err)
	}
	s.finish(m, call)
	if m.leaves {
		_, err := s.ctrl.Check(s.ctx, true)
		s.ok(err)
	}
	s.checkIntact(ctx)
	if done || m.givesUp || errors.Is(err, entity.AlreadyExists) {
		return // it was done, perhaps without what follows
	}
	if d := differ(inside(s.contents(ctx, false)), r.final); d != "" {
		s.Errorf("repeated, the outcome differs (%v):%s", err, d)
	}
}
