package state_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gopkg.in/mgo.v2/txn"

	"juju/state/entity"
	"juju/state/mongo"
)

// coverage is which assertions there are, and which have been refused.
type coverage struct {
	sync.Mutex
	seen, refused map[assertion]bool
}

func newCoverage() *coverage {
	return &coverage{seen: map[assertion]bool{}, refused: map[assertion]bool{}}
}

// claim says who makes a fact untrue: the first who asks, or in a soak whoever has
// not done so yet.
func (c *coverage) claim(a assertion, done map[assertion]bool) bool {
	c.Lock()
	defer c.Unlock()
	if done[a] || c.refused[a] && !soak {
		return false
	}
	done[a], c.refused[a] = true, true
	return true
}

// see notes the assertions of a try.
func (c *coverage) see(mutator string, ops []txn.Op) {
	c.Lock()
	defer c.Unlock()
	for _, op := range ops {
		for _, a := range asserted(mutator, op) {
			c.seen[a] = true
		}
	}
}

// neverAlone are the assertions that can't be the one that fails, and why.
var neverAlone = map[string]string{}

// Each fact that a mutator's transactions rest on is made untrue, alone, just before
// the commit: the store refuses that try, and when the fact is true again the next
// one does what it would have done.
func TestEveryAssertFailsAlone(t *testing.T) {
	st := aStage(t)
	covered := newCoverage()
	atOnce(t, cast(), mutator.String, func(t *testing.T, m mutator) {
		want, tries, undisturbed := m.undisturbed(t, st, covered)
		done := map[assertion]bool{}
		for more := true; more; {
			s := st.scene(t, nil)
			call := m.ready(s)
			before := len(done)
			w := s.disturb(m, done, covered, &more)
			err := call()
			s.unwatched()
			if !sameError(err, undisturbed) {
				t.Fatalf("got %v, undisturbed %v", err, undisturbed)
			}
			if d := differ(s.contents(true), want); d != "" {
				t.Fatalf("after tries that were refused there is something else:%s", d)
			}
			if got := w.tries - (len(done) - before); got != tries {
				t.Fatalf("%d tries were not refused, want %d", got, tries)
			}
			s.close()
		}
	})
	report(t, covered)
}

// undisturbed runs a mutator that nothing interferes with. It returns what is there
// afterwards, how many tries it took, and the mutator's error.
func (m mutator) undisturbed(t *testing.T, st *stage, covered *coverage) (contents string, tries int, err error) {
	s := st.scene(t, nil)
	call := m.ready(s)
	before := s.contents(true)
	w := s.tries(func(_ *watch, _ *mongo.Database, ops []txn.Op) func() {
		covered.see(m.name, ops)
		return nil
	})
	err = call()
	s.unwatched()
	if err != nil {
		t.Errorf("undisturbed: %v", err)
	}
	contents = s.contents(true)
	if w.tries == 0 || contents == before && !m.secret {
		t.Error("it does nothing")
	}
	s.intact()
	return contents, w.tries, err
}

// inARow is how many tries of one transaction are disturbed: each is followed by a
// pause that is twice as long.
const inARow = 3

// disturb makes, before each try, a fact untrue that was not yet; after the try it is
// true again. It sets more when it has left some for another time.
func (s *scene) disturb(m mutator, done map[assertion]bool, covered *coverage, more *bool) *watch {
	row := 0
	*more = false
	return s.tries(func(w *watch, db *mongo.Database, ops []txn.Op) func() {
		covered.see(m.name, ops)
		if row == inARow {
			row, *more = 0, true
			return nil
		}
		for _, op := range ops {
			for _, a := range asserted(m.name, op) {
				if !covered.claim(a, done) {
					continue
				}
				undo := s.falsify(db, op, a.fact)
				if err := s.refuses(db, ops, op, a.fact); err != nil {
					s.Errorf("%v (%v): %v", a, op.Id, err)
				}
				row++
				return undo
			}
		}
		row = 0
		return nil
	})
}

func sameError(a, b error) bool {
	if a == nil || b == nil {
		return a == b
	}
	return entity.KindOf(a) == entity.KindOf(b)
}

// report fails for assertions that were not the one that failed.
func report(t *testing.T, c *coverage) {
	t.Helper()
	for _, a := range slices.SortedFunc(maps.Keys(c.seen), func(a, b assertion) int { return strings.Compare(a.String(), b.String()) }) {
		switch why, excused := neverAlone[a.String()]; {
		case c.refused[a] && excused:
			t.Errorf("%v has failed alone, though %s", a, why)
		case !c.refused[a] && !excused:
			t.Errorf("never failed: %v", a)
		}
	}
	t.Logf("%d assertions of %d mutators", len(c.seen), len(cast()))
}

// For ever: a fact that is untrue again at each try ends in entity.Contention, and
// nothing has changed.
func TestMutatorGivesUpUnderEndlessConflict(t *testing.T) {
	st := aStage(t)
	atOnce(t, firsts(), mutator.String, func(t *testing.T, m mutator) {
		if m.free {
			return
		}
		const patience = 200 * time.Millisecond
		s := st.sceneWith(t, nil, patience)
		call := m.ready(s)
		before := inside(s.contents(true))
		began := time.Now()
		w := s.tries(func(w *watch, db *mongo.Database, ops []txn.Op) func() {
			for _, op := range ops {
				if as := asserted(m.name, op); len(as) > 0 {
					return s.falsify(db, op, as[len(as)-1].fact)
				}
			}
			return nil
		})
		err := call()
		s.unwatched()
		if !m.mends {
			s.intact()
		}
		if m.logs { // what it is not kept from it does
			if err != nil {
				t.Errorf("got %v", err)
			}
			return
		}
		if took := time.Since(began); !errors.Is(err, entity.Contention) || took < patience {
			t.Errorf("got %v (kind %q) after %d tries in %v, want contention after %v", err, entity.KindOf(err), w.tries, took, patience)
		}
		if d := differ(inside(s.contents(true)), before); d != "" {
			t.Errorf("it has changed something:%s", d)
		}
	})
}
