package state_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gopkg.in/mgo.v2/txn"

	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/simulationtest"
	"juju/state/statetest"
)

// A sim runs random actions on a real state and on the reference model, and
// compares the results.
type sim struct {
	testing.TB
	ctx    context.Context
	store  *mongo.Store
	ctrl   *controller.Controller
	st     *state.State
	rnd    *rand.Rand
	clock  *atomic.Int64                    // milliseconds
	charms map[string]*simulationtest.Charm // by URL
	// revisions are the charms that a service can have; it is deployed with the first more often than with others.
	revisions map[string][]*simulationtest.Charm
	ghosts    int // ids of peer relations that were gone at once, all negative

	model   *simulationtest.Model
	shadow  *shadow
	history *history
	agents  map[string]*simAgent // of units and machines, by tag
	by      string               // who is acting
	cover   *rowCounts
	fault   func([]txn.Op) []txn.Op
	ports   int

	epochs map[string]int64 // by which units claim to lead
	ids    int              // how many secrets were made

	connections int // how many relations of another model have used an offer

	gives     simGives // what deploy has asked for, by service
	attaching []string // storage for the unit that is being added

	steps  int
	story  []string // the latest steps
	raced  bool     // another action might have come between
	hosted bool     // the model has no managers, and is destroyed in the end
	calm   bool     // no actor acts out of turn
	busy   int      // how many entities there are before more are removed than added
	// One in racing steps has another action between its reads and its commit;
	// cleaning of a hundred steps are the cleaner's, tasking are about tasks, rolling about upgrades, relating about
	// relations, offering about other models, and hiding about secrets, beyond those that always are.
	racing, cleaning, tasking, rolling, relating, offering, hiding int
}

// simCharms maps services to their charms.
var simCharms = map[string]string{
	"db": statetest.MySQL, "db2": statetest.MySQL, "web": statetest.Wordpress, "ring": statetest.Riak,
	"log": `{name: log, summary: s, description: d, subordinate: true,
  requires: {info: {interface: juju-info, scope: container}, too: {interface: mysql, scope: container}}}`,
	"col": collector, "ship": storing, "disk": disk,
}

// simGives is the storage that services were deployed with.
type simGives map[string]map[string]entity.StorageConstraints

// simRelations are the possible relations: their endpoints, and whether they
// have container scope.
var simRelations = []struct {
	a, b      string
	container bool
}{
	{"web:db", "db:server", false}, {"web:db", "db2:server", false},
	{"log:info", "db:juju-info", true}, {"log:too", "db:server", true}, {"log:info", "web:juju-info", true},
	{"log:info", "ring:juju-info", true}, {"col:info", "db:juju-info", true}, {"ship:info", "db:juju-info", true},
	{"ship:feed", "col:feed", true}, {"ship:info", "disk:juju-info", true},
	{"web:db", "far:server", false}, {"web:db", "far2:server", false},
}

var simServices = []string{"db", "db2", "web", "ring", "log", "col", "ship", "disk", "disk"}

func isSubordinate(service string) bool {
	return service == "log" || service == "col" || service == "ship"
}

func newSim(t testing.TB, seed uint64) *sim {
	t.Helper()
	return newSimOn(t, seed, mongo.Options{})
}

func newSimOn(t testing.TB, seed uint64, o mongo.Options) *sim {
	t.Helper()
	store := statetest.Store(t, o)
	s := &sim{TB: t, ctx: t.Context(), store: store, rnd: rand.New(rand.NewPCG(seed, 1)), clock: &atomic.Int64{},
		charms: map[string]*simulationtest.Charm{}, revisions: map[string][]*simulationtest.Charm{}}
	s.busy, s.racing, s.cleaning = one(s, []int{15, 30, 45}), one(s, []int{3, 5, 10}), one(s, []int{1, 3, 6})
	s.tasking, s.rolling, s.hiding = 2, one(s, []int{3, 8, 20}), one(s, []int{2, 8, 20})
	s.clock.Store(time.Now().UnixMilli())
	err := controller.Initialize(s.ctx, store, controller.InitParams{Name: "test", Cloud: "dummy", Series: "jammy",
		User:     statetest.Admin,
		Password: statetest.Password}, s.options())
	if err != nil {
		t.Fatal(err)
	}
	if s.ctrl, err = controller.Open(s.ctx, store, s.options()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.ctrl.Close()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := s.begin(); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *sim) options() controller.Options {
	return controller.Options{Now: s.now, PasswordCost: statetest.PasswordCost, SecretKey: statetest.SecretKey}
}

func (s *sim) now() time.Time { return time.UnixMilli(s.clock.Load()).UTC() }

// watch records every operation, after planting the fault if there is one.
func (s *sim) watch() {
	s.st.RewriteOps(func(ops []txn.Op) []txn.Op {
		if s.fault != nil {
			ops = s.fault(ops)
		}
		if s.cover != nil {
			s.cover.see(s, ops)
		}
		s.shadow.see(ops)
		return ops
	})
}

// restart closes the controller and opens another on the same store.
func (s *sim) restart() error {
	uuid := s.st.UUID()
	s.ctrl.Close()
	var err error
	if s.ctrl, err = controller.Open(s.ctx, s.store, s.options()); err != nil {
		return err
	}
	if s.st, err = s.ctrl.Model(s.ctx, uuid); err != nil {
		return err
	}
	s.watch()
	s.model.Restart()
	return nil
}

// A simAction is one action on state and on the model. The model says which
// answers of state are right.
type simAction struct {
	what   string
	by     string
	run    func() error
	expect func(err error) (simulationtest.Answer, error)
	// may lists the errors that are right in concurrent runs, where the order is
	// unknown, besides entity.NotFound and entity.Contention.
	may []entity.Kind
	// alone is set if it is more than one transaction, so that no other action can be told to have come before.
	alone bool
	// rival picks a conflicting action for the same time.
	rival func() *simAction
}

// do runs an action on both, and before, if set, between the reads and the
// commit of state. The outcome is as if before had come first.
func (s *sim) do(a *simAction, before *simAction) error {
	s.tell(a, before)
	s.model.Now = s.now()
	fired := false
	s.raced = before != nil
	var berr error
	if before != nil {
		s.st.Before(func() {
			fired, s.by = true, before.by
			berr = before.run()
			s.by = a.by
		})
	}
	if s.cover != nil {
		s.cover.next()
	}
	s.by = a.by
	err := a.run()
	if before != nil && !fired {
		s.st.Before(nil)
	}
	if err := s.shadow.refresh(s.ctx, s.st); err != nil {
		return err
	}
	if fired {
		s.story[len(s.story)-1] += " (it did)"
		began := s.model.Owed()
		if err := s.judge(before, berr); err != nil {
			return err
		}
		defer s.model.PutOff(began, s.model.Owed())
	}
	if err := s.judge(a, err); err != nil {
		return err
	}
	if err := s.compare(); err != nil {
		return err
	}
	return s.checkSomeRead()
}

// judge runs an action on the model that state has done, and compares the
// answers.
func (s *sim) judge(a *simAction, err error) (wrong error) {
	defer func() {
		if r := recover(); r != nil {
			if text, ok := r.(string); ok {
				wrong = fmt.Errorf("%s: %s", a.what, text)
				return
			}
			panic(r)
		}
	}()
	want, wrong := a.expect(err)
	if wrong != nil {
		return fmt.Errorf("%s: %w", a.what, wrong)
	}
	kind := entity.KindOf(err)
	if err != nil && kind == "" {
		return fmt.Errorf("%s: an error of no kind: %w", a.what, err)
	}
	if !want.Allows(kind) {
		return fmt.Errorf("%s: got error %w (kind %q), want one of %q", a.what, err, kind, []entity.Kind(want))
	}
	return nil
}

// compare compares state with the model, and checks the invariants.
func (s *sim) compare() error {
	wrong := s.shadow.check()
	wrong = append(wrong, s.history.check(s.shadow)...)
	want, got := s.model.Facts(), s.shadow.facts()
	for key, fact := range want {
		if got[key] != fact {
			wrong = append(wrong, fmt.Sprintf("%s is %q, want %q", key, got[key], fact))
		}
	}
	for key, fact := range got {
		if want[key] == "" {
			wrong = append(wrong, fmt.Sprintf("%s is %q, want it gone", key, fact))
		}
	}
	if n := len(s.shadow.docs["leftovers"]); n != s.model.Leftovers {
		wrong = append(wrong, fmt.Sprintf("got %d leftovers, want %d", n, s.model.Leftovers))
	}
	if len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "\n"))
	}
	return nil
}

// readAll compares the database with the shadow.
func (s *sim) readAll() error {
	stale, err := s.shadow.readAll(s.ctx, s.st)
	if err == nil && len(stale) > 0 {
		err = fmt.Errorf("changed without a transaction: %v", stale)
	}
	if err != nil {
		return err
	}
	return s.compare()
}

// tell records the latest actions.
func (s *sim) tell(a, before *simAction) {
	s.steps++
	line := fmt.Sprintf("%d %s: %s", s.steps, a.by, a.what)
	if before != nil {
		line += fmt.Sprintf(" [before its commit %s: %s]", before.by, before.what)
	}
	if s.story = append(s.story, line); len(s.story) > 60 && os.Getenv("JUJU_SIM_STORY") == "" {
		s.story = s.story[1:]
	}
}

// run takes steps, and returns what went wrong and what led to it.
func (s *sim) run(steps int) error {
	for end := s.steps + steps; s.steps < end; {
		if err := s.step(); err != nil {
			return fmt.Errorf("at step %d:\n%w", s.steps, err)
		}
		if s.steps%50 == 0 {
			if err := cmp.Or(s.checkExplain(), s.checkSecrets()); err != nil {
				return fmt.Errorf("at step %d:\n%w", s.steps, err)
			}
		}
		if s.steps%200 == 0 {
			if err := s.readAll(); err != nil {
				return fmt.Errorf("at step %d:\n%w", s.steps, err)
			}
		}
		if s.steps%1000 == 0 {
			if _, err := s.st.Transactions().PruneTransactions(s.ctx, 0); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *sim) step() error {
	s.clock.Add(1)
	a, err := s.any()
	if err != nil || a == nil {
		return err
	}
	if a.alone || a.by == "cleaner" || a.by == simRollouts || s.rnd.IntN(s.racing) > 0 {
		return s.do(a, nil)
	}
	if a.rival != nil && s.rnd.IntN(3) > 0 {
		return s.do(a, a.rival())
	}
	before, err := s.any()
	if err != nil {
		return err
	}
	if before != nil && (before.by == "cleaner" || before.by == "time") {
		before = nil
	}
	return s.do(a, before)
}
