package state_test

import (
	"bytes"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"gopkg.in/mgo.v2/txn"

	"juju/state/entity"
	"juju/state/mongo"
)

// An interloper makes a change before the n-th message to the store since it
// was armed, counted from 1.
type interloper struct {
	mu    sync.Mutex
	on    bool
	count int
	at    int
	do    func()
	skips string // messages that contain this are not counted
}

func (i *interloper) tap(conn net.Conn) net.Conn { return &interrupted{conn, i} }

// arm starts counting; do runs once, before message at.
func (i *interloper) arm(at int, do func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.on, i.count, i.at, i.do = true, 0, at, do
}

// disarm stops counting, and returns how many messages were sent.
func (i *interloper) disarm() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.on = false
	return i.count
}

type interrupted struct {
	net.Conn
	i *interloper
}

func (c *interrupted) Write(b []byte) (int, error) {
	i := c.i
	i.mu.Lock()
	here := false
	if i.on && (i.skips == "" || !bytes.Contains(b, []byte(i.skips))) {
		i.count++
		here = i.count == i.at
		i.on = !here // its own messages are not counted
	}
	i.mu.Unlock()
	if here {
		i.do()
	}
	return c.Conn.Write(b)
}

// A change made between two reads of a mutator's first try has the same outcome
// as if it had come before the mutator or after it: the same error, and the
// same contents.
func TestConflictBetweenReadsIsAsIfTheOtherRanFirstOrLast(t *testing.T) {
	st := sharedStage(t)
	seed := testSeed(t)
	writes := conflictWrites(t, st)
	var tried atomic.Int64
	inParallel(t, quick(), mutator.String, func(t *testing.T, m mutator) {
		if m.mends || m.steps || m.logs || m.givesUp {
			return // it also reads between its transactions, so other outcomes are possible
		}
		rnd := rand.New(rand.NewPCG(seed, uint64(len(m.String()))))
		near := m.near(t, st, writes, rnd)
		if !soak {
			near = near[:min(len(near), 1)]
		}
		reads := m.reads(t, st)
		for _, c := range near {
			first, last := m.one(t, st, c, true), m.one(t, st, c, false)
			points := rnd.Perm(reads)
			if !soak {
				points = points[:min(len(points), 1)]
			}
			for _, n := range points {
				tried.Add(1)
				m.between(t, st, c, n+1, first, last)
			}
		}
	})
	t.Logf("%d combinations tried", tried.Load())
}

// reads returns how many messages the mutator sends to the store before its
// first transaction.
func (m mutator) reads(t *testing.T, st *stage) (n int) {
	var i interloper
	s := st.scene(t, i.tap)
	defer s.close()
	call := m.ready(s)
	s.tries(func(w *watch, _ *mongo.Database, _ []txn.Op) func() {
		if w.tries == 1 {
			n = i.disarm()
		}
		return nil
	})
	i.arm(0, nil)
	s.ok(call())
	s.unwatch()
	return n
}

// A meeting holds the errors of two conflicting calls, and the contents
// afterwards.
type meeting struct {
	mutator, other error
	contents       string
}

func (m mutator) one(t *testing.T, st *stage, c conflict, otherFirst bool) (o meeting) {
	s := st.scene(t, nil)
	defer s.close()
	call := m.ready(s)
	if otherFirst {
		o.other = c.do(s)
	}
	o.mutator = call()
	if !otherFirst {
		o.other = c.do(s)
	}
	o.contents = inside(s.contents(t.Context(), false))
	return o
}

func (o meeting) is(other meeting) bool {
	return sameError(o.mutator, other.mutator) && sameError(o.other, other.other) &&
		differ(o.contents, other.contents) == ""
}

func (m mutator) between(t *testing.T, st *stage, c conflict, n int, first, last meeting) {
	var (
		i   interloper
		got meeting
	)
	s := st.scene(t, i.tap)
	defer s.close()
	call := m.ready(s)
	i.arm(n, func() { got.other = c.do(s) })
	got.mutator = call()
	i.disarm()
	got.contents = inside(s.contents(t.Context(), false))
	s.checkIntact(t.Context())
	if !got.is(first) && !got.is(last) {
		t.Errorf("%s, before read %d: got %v and %v, had the other come first %v and %v, last %v and %v; from first:%s\nfrom last:%s",
			c.name, n, got.mutator, got.other, first.mutator, first.other, last.mutator, last.other,
			differ(got.contents, first.contents), differ(got.contents, last.contents))
	}
	if got.mutator != nil && entity.KindOf(got.mutator) == "" {
		t.Errorf("%s: an error of no kind: %v", c.name, got.mutator)
	}
}

// A rollout that ends between any two reads of its revert was either reverted or had ended.
func TestARolloutEndsWhileItIsReverted(t *testing.T) {
	st := sharedStage(t)
	m := on("Service.RevertRollout", "that is about to end", theService("mysql"), reverts, rolling, func(s *scene) {
		s.ok(s.unit("mysql/0").SetCharm(s.ctx, "local:jammy/mysql-1"))
	})
	for n := range m.reads(t, st) {
		var i interloper
		s := st.scene(t, i.tap)
		call := m.ready(s)
		i.arm(n+1, func() { s.ok(advances(s, s.service("mysql"))) })
		if err := call(); entity.KindOf(err) != entity.Invalid {
			t.Errorf("before read %d: got error %v of a rollout that has ended", n+1, err)
		}
		i.disarm()
		s.checkIntact(t.Context())
		s.close()
	}
}
