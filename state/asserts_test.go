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

// coverage holds the assertions that were seen, and those that were refused.
type coverage struct {
	sync.Mutex
	seen, refused map[assertion]bool
}

func newCoverage() *coverage {
	return &coverage{seen: map[assertion]bool{}, refused: map[assertion]bool{}}
}

// claim reports whether the caller is to falsify the assertion: the first
// caller to ask, or in a soak every caller that has not done so yet.
func (c *coverage) claim(a assertion, done map[assertion]bool) bool {
	c.Lock()
	defer c.Unlock()
	if done[a] || c.refused[a] && !soak {
		return false
	}
	done[a], c.refused[a] = true, true
	return true
}

// see records the assertions of a try.
func (c *coverage) see(mutator string, ops []txn.Op) {
	c.Lock()
	defer c.Unlock()
	for _, op := range ops {
		for _, a := range asserted(mutator, op) {
			c.seen[a] = true
		}
	}
}

// neverAlone holds the assertions that cannot fail alone, and why.
var neverAlone = map[string]string{}

// Each fact that a mutator asserts is made untrue, alone, just before the
// commit. The store refuses that try. Once the fact is true again, the next try
// does what it would have done undisturbed.
func TestEveryAssertFailsAlone(t *testing.T) {
	st := sharedStage(t)
	covered := newCoverage()
	inParallel(t, cast(), mutator.String, func(t *testing.T, m mutator) {
		want, tries, undisturbed := m.undisturbed(t, st, covered)
		done := map[assertion]bool{}
		for more := true; more; {
			s := st.scene(t, nil)
			call := m.ready(s)
			before := len(done)
			w := s.disturb(m, done, covered, &more)
			err := call()
			s.unwatch()
			if !sameError(err, undisturbed) {
				t.Fatalf("got %v, want %v as when undisturbed", err, undisturbed)
			}
			if d := differ(s.contents(t.Context(), true), want); d != "" {
				t.Fatalf("refused tries changed the outcome:%s", d)
			}
			if got := w.tries - (len(done) - before); got != tries {
				t.Fatalf("%d tries were committed, want %d", got, tries)
			}
			s.close()
		}
	})
	report(t, covered)
}

// undisturbed runs a mutator without interference. It returns the contents of
// the store afterwards, the number of tries, and the mutator's error.
func (m mutator) undisturbed(t *testing.T, st *stage, covered *coverage) (contents string, tries int, err error) {
	s := st.scene(t, nil)
	call := m.ready(s)
	before := s.contents(t.Context(), true)
	w := s.tries(func(_ *watch, _ *mongo.Database, ops []txn.Op) func() {
		covered.see(m.name, ops)
		return nil
	})
	err = call()
	s.unwatch()
	if err != nil {
		t.Errorf("undisturbed: %v", err)
	}
	contents = s.contents(t.Context(), true)
	if w.tries == 0 || contents == before && !m.secret {
		t.Error("the mutator changed nothing")
	}
	s.checkIntact(t.Context())
	return contents, w.tries, err
}

// inARow is how many tries of one transaction in a row are disturbed. Each
// pause between tries is twice as long as the last, so more would take too
// long.
const inARow = 3

// disturb falsifies one fact before each try, a new one each time, and restores
// it after the try. It sets more if facts are left for another run.
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
				undo := s.falsify(w.Context(), db, op, a.fact)
				if err := s.refuses(w.Context(), db, ops, op, a.fact); err != nil {
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

// report fails for assertions that never failed alone.
func report(t *testing.T, c *coverage) {
	t.Helper()
	for _, a := range slices.SortedFunc(maps.Keys(c.seen),
		func(a, b assertion) int { return strings.Compare(a.String(), b.String()) }) {
		switch why, excused := neverAlone[a.String()]; {
		case c.refused[a] && excused:
			t.Errorf("%v failed alone, although %s", a, why)
		case !c.refused[a] && !excused:
			t.Errorf("never failed: %v", a)
		}
	}
	t.Logf("%d assertions in %d mutators", len(c.seen), len(cast()))
}

// A fact that is untrue at every try ends in entity.Contention, and changes
// nothing.
func TestMutatorGivesUpUnderEndlessConflict(t *testing.T) {
	st := sharedStage(t)
	inParallel(t, firsts(), mutator.String, func(t *testing.T, m mutator) {
		if m.free {
			return
		}
		const patience = 200 * time.Millisecond
		s := st.sceneWith(t, nil, patience)
		call := m.ready(s)
		before := inside(s.contents(t.Context(), true))
		began := time.Now()
		w := s.tries(func(w *watch, db *mongo.Database, ops []txn.Op) func() {
			for _, op := range ops {
				if as := asserted(m.name, op); len(as) > 0 {
					return s.falsify(w.Context(), db, op, as[len(as)-1].fact)
				}
			}
			return nil
		})
		err := call()
		s.unwatch()
		if !m.mends {
			s.checkIntact(t.Context())
		}
		if m.logs { // it does the rest of its work
			if err != nil {
				t.Errorf("got %v", err)
			}
			return
		}
		if took := time.Since(began); !errors.Is(err, entity.Contention) || took < patience {
			t.Errorf("got %v (kind %q) after %d tries in %v, want contention after %v", err, entity.KindOf(err), w.tries, took,
				patience)
		}
		if d := differ(inside(s.contents(t.Context(), true)), before); d != "" {
			t.Errorf("it changed something:%s", d)
		}
	})
}
