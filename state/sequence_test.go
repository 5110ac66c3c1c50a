package state_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/statetest"
)

func TestNumbersAfterFailedAdds(t *testing.T) {
	w := newWorld(t)
	s := w.deploy("mysql", statetest.MySQL, 1)
	w.started("mysql/0")
	url := s.CharmURL()
	w.st.Before(func() { w.ok(mustService(w, "mysql").Destroy(w.ctx, entity.Destruction{})) })
	_, err := s.AddUnits(w.ctx, 3, nil) // 1 to 3 are taken, and machines 1 to 3
	w.refused(err, entity.NotAlive, "service is not alive")
	w.ok(w.unit("mysql/0").DestroySelf(w.ctx))
	w.end("mysql/0")
	s, err = w.st.AddService(w.ctx, state.AddServiceParams{Name: "mysql", CharmURL: url, Units: 1})
	w.ok(err)
	names, err := s.AddUnits(w.ctx, 1, nil)
	w.ok(err)
	if want := []string{"mysql/5"}; !slices.Equal(names, want) {
		t.Errorf("after three failed units comes %s, want %s", names, want)
	}
	if m := w.unit("mysql/4").Machine(); m != "4" {
		t.Errorf("the machine is %s, want 4", m)
	}

	// Relations behave the same.
	w.deploy("wordpress", statetest.Wordpress, 0)
	w.st.Before(func() { w.ok(mustService(w, "wordpress").Destroy(w.ctx, entity.Destruction{})) })
	_, err = w.st.AddRelation(w.ctx, "wordpress", "mysql")
	w.refused(err, entity.NotFound, "")
	w.deploy("wordpress", statetest.Wordpress, 0)
	if r := w.relate("wordpress", "mysql"); r.ID() != 1 {
		t.Errorf("the relation is %d, want 1", r.ID())
	}
}

func TestConcurrentNumbersAreUnique(t *testing.T) {
	w := newWorld(t)
	s := w.deploy("mysql", statetest.MySQL, 0)
	const callers, each = 8, 3
	var mu sync.Mutex
	var all []string
	var group sync.WaitGroup
	for range callers {
		group.Go(func() {
			s, err := w.st.Service(w.ctx, s.Name())
			if err == nil {
				var names []string
				names, err = s.AddUnits(w.ctx, each, nil)
				mu.Lock()
				all = append(all, names...)
				mu.Unlock()
			}
			if err != nil && !errors.Is(err, entity.Contention) {
				t.Error(err)
			}
		})
	}
	group.Wait()
	slices.Sort(all)
	if n := len(all); n < each || len(slices.Compact(all)) != n {
		t.Errorf("%d units were added, by names %q", n, all)
	}
}

// Power is lost, and a random part of the unsynced writes with it. A number
// that a caller has seen is not given again.
func TestNumbersAfterPowerLoss(t *testing.T) {
	ctx := t.Context()
	seed := testSeed(t)
	rnd := rand.New(rand.NewPCG(seed, 0))
	fs := vfs.NewCrashableMem()
	store := openStore(t, fs)
	ctrl := statetest.OpenController(t, store, controller.Options{})
	end := func() { ctrl.Close(); closeStore(t, store) }
	st, err := ctrl.AddModel(ctx, controller.AddModelParams{Name: "m", Owner: statetest.Admin, Series: "jammy"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = st.AddService(ctx, state.AddServiceParams{Name: "mysql", CharmURL: statetest.Charm(t, st, statetest.MySQL)})
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]bool{}
	rounds := 4
	if testing.Short() {
		rounds = 2
	}
	for round := range rounds {
		s, err := st.Service(ctx, "mysql")
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			names, err := s.AddUnits(ctx, 1+rnd.IntN(2), nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range names {
				if told[name] {
					t.Fatalf("round %d: %s was given before", round, name)
				}
				told[name] = true
				u, err := st.Unit(ctx, name)
				if err != nil {
					t.Fatal(err)
				}
				if err := u.Destroy(ctx, entity.Destruction{}); err != nil { // never started: removed at once
					t.Fatal(err)
				}
			}
		}
		fs = fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rnd.IntN(100), RNG: rnd})
		uuid := st.UUID()
		end()
		store = openStore(t, fs)
		ctrl = statetest.OpenController(t, store, controller.Options{})
		if st, err = ctrl.Model(ctx, uuid); err != nil {
			t.Fatal(err)
		}
	}
	end()
}
