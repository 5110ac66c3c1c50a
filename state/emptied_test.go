package state_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"juju/state"
	"juju/state/entity"
	"juju/state/statetest"
)

// endsAlone takes a started unit that is Dying to its end, and does what that leaves to
// the cleaner.
func (w *world) endsAlone(name string) {
	w.Helper()
	w.end(name)
	w.cleaned()
}

// lives wants machines to be in these lives; Gone is a machine that is not there.
func (w *world) lives(want map[string]entity.Life) {
	w.Helper()
	for id, life := range want {
		is := entity.Gone
		if m, err := w.st.Machine(w.ctx, id); err == nil {
			is = m.Life()
		}
		if is != life {
			w.Errorf("machine %s is %v, want %v", id, is, life)
		}
	}
}

func (w *world) provision(id string) {
	w.Helper()
	m, err := w.st.Machine(w.ctx, id)
	w.ok(err)
	w.ok(m.SetProvisioned(w.ctx, entity.Instance{ID: "i-" + id, Nonce: "n"}))
}

// A unit takes its machine along if that was made for units and nothing else is left on
// it; whatever a user has added by itself stays, and so does what holds something.
func TestMachineGoesWithItsUnit(t *testing.T) {
	w := newWorld(t)
	added, err := w.st.AddMachine(w.ctx, state.AddMachineParams{Series: "jammy"})
	w.ok(err)
	w.deploy("mysql", statetest.MySQL, 4) // on the machine that was added, and on 1 to 3
	w.deploy("riak", statetest.Riak, 0)
	for _, id := range []string{"0", "1", "2", "3"} {
		w.provision(id)
	}
	riak, err := w.st.Service(w.ctx, "riak")
	w.ok(err)
	if _, err := riak.AddUnits(w.ctx, 1, []string{"2"}); err != nil {
		t.Fatal(err)
	}
	_, err = w.st.AddMachine(w.ctx, state.AddMachineParams{Series: "jammy", Container: "lxd", Host: "3"})
	w.ok(err)
	for i := range 4 {
		name := fmt.Sprintf("mysql/%d", i)
		u := w.started(name)
		w.ok(u.Destroy(w.ctx, cleanly))
		w.cleaned()
		w.lives(map[string]entity.Life{u.Machine(): entity.Alive}) // as long as the unit is there
		w.endsAlone(name)
	}
	w.lives(map[string]entity.Life{added.ID(): entity.Alive, "1": entity.Dying, "2": entity.Alive, "3": entity.Alive})

	// The last one on a machine takes it along, whichever wanted that first.
	w.started("riak/0")
	w.ok(w.unit("riak/0").Destroy(w.ctx, plain))
	w.ok(w.unit("riak/0").Destroy(w.ctx, cleanly)) // an afterthought
	w.endsAlone("riak/0")
	w.lives(map[string]entity.Life{"2": entity.Dying})
}

// Without being told to, a unit leaves its machine.
func TestMachineOutlivesItsUnitByDefault(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 2)
	w.started("mysql/0")
	w.ok(w.unit("mysql/0").Destroy(w.ctx, plain))
	w.endsAlone("mysql/0")
	w.ok(w.unit("mysql/1").Destroy(w.ctx, plain)) // it goes at once
	w.cleaned()
	w.lives(map[string]entity.Life{"0": entity.Alive, "1": entity.Alive})
}

// Where two units share a machine, the last to go takes it along.
func TestSharedMachineGoesWithItsLastUnit(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 1)
	w.deploy("riak", statetest.Riak, 0)
	riak, err := w.st.Service(w.ctx, "riak")
	w.ok(err)
	_, err = riak.AddUnits(w.ctx, 1, []string{"0"})
	w.ok(err)
	w.started("mysql/0")
	w.started("riak/0")
	w.ok(w.unit("mysql/0").Destroy(w.ctx, cleanly))
	w.ok(w.unit("riak/0").Destroy(w.ctx, cleanly))
	w.end("mysql/0")
	w.end("riak/0")
	w.cleaned()
	w.lives(map[string]entity.Life{"0": entity.Gone}) // it had no instance
}

// A service takes along the machines of all its units: of those whose agents end them,
// of those that never started, and of those that were on their way out already.
func TestMachinesGoWithTheirService(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 4)
	for i := range 3 {
		w.provision(fmt.Sprint(i))
		w.started(fmt.Sprintf("mysql/%d", i))
	}
	w.ok(w.unit("mysql/0").Destroy(w.ctx, plain))
	svc, err := w.st.Service(w.ctx, "mysql")
	w.ok(err)
	w.ok(svc.Destroy(w.ctx, cleanly))
	w.ok(w.unit("mysql/1").DestroySelf(w.ctx)) // before the cleaner comes to it
	for i := range 3 {
		w.cleaned()
		w.endsAlone(fmt.Sprintf("mysql/%d", i))
	}
	_, err = w.st.Service(w.ctx, "mysql")
	w.gone("service", "mysql", err)
	w.lives(map[string]entity.Life{"0": entity.Dying, "1": entity.Dying, "2": entity.Dying, "3": entity.Gone})
	for i := range 3 {
		m, err := w.st.Machine(w.ctx, fmt.Sprint(i))
		w.ok(err)
		w.ok(m.EnsureDead(w.ctx))
		w.ok(m.Remove(w.ctx))
	}
	w.empty()
}

// The machine goes as strongly as the unit: nobody waits for its agent either.
func TestMachineGoesByForceWithAForcedUnit(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 1)
	w.provision("0")
	w.started("mysql/0")
	w.ok(w.unit("mysql/0").Destroy(w.ctx, atLastCleanly))
	for range 3 {
		if _, _, err := w.st.Cleaner().Cleanup(w.ctx); err != nil {
			t.Fatal(err)
		}
	}
	w.lives(map[string]entity.Life{"0": entity.Dead}) // its instance is the cloud's to stop
}

// What is placed on the machine in the very moment in which it is about to go keeps it.
func TestNewUnitKeepsTheMachine(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 1)
	w.deploy("riak", statetest.Riak, 0)
	w.provision("0")
	w.started("mysql/0")
	w.ok(w.unit("mysql/0").Destroy(w.ctx, cleanly))
	w.end("mysql/0")
	riak, err := w.st.Service(w.ctx, "riak")
	w.ok(err)
	w.st.Before(func() {
		_, err := riak.AddUnits(w.ctx, 1, []string{"0"})
		w.ok(err)
	})
	w.cleaned()
	w.lives(map[string]entity.Life{"0": entity.Alive})
}

// Users are told which machines are left.
func TestMachinesLeft(t *testing.T) {
	w := newWorld(t)
	_, err := w.st.AddMachine(w.ctx, state.AddMachineParams{Series: "jammy"})
	w.ok(err)
	w.deploy("mysql", statetest.MySQL, 3)
	w.deploy("riak", statetest.Riak, 0)
	svc, err := w.st.Service(w.ctx, "mysql")
	w.ok(err)
	riak, err := w.st.Service(w.ctx, "riak")
	w.ok(err)
	_, err = riak.AddUnits(w.ctx, 1, []string{"2"})
	w.ok(err)
	for _, c := range []struct {
		how  entity.Destruction
		want []string
	}{{plain, []string{"0", "1"}}, {cleanly, []string{"0"}}} {
		left, many, err := svc.MachinesLeft(w.ctx, c.how)
		w.ok(err)
		if !slices.Equal(left, c.want) || many {
			t.Errorf("%+v leaves %v, want %v", c.how, left, c.want)
		}
	}
	for i, want := range []string{"0", "1", ""} {
		u := w.started(fmt.Sprintf("mysql/%d", i))
		w.ok(u.Destroy(w.ctx, plain))
		left, err := u.MachineLeft(w.ctx, plain)
		w.ok(err)
		if left != want {
			t.Errorf("%s leaves %q, want %q", u.Name(), left, want)
		}
	}
	if _, err := svc.AddUnits(w.ctx, 100, nil); err != nil {
		t.Fatal(err)
	}
	if left, many, err := svc.MachinesLeft(w.ctx, plain); err != nil || !many || left != nil {
		t.Errorf("%v %v %v", left, many, err)
	}
}

// What is asked for while the unit is just being removed is not forgotten, whether it
// is asked of the unit or of its service.
func TestDestroyWithMachinesDuringRemoval(t *testing.T) {
	for name, ask := range map[string]func(*world){
		"of the unit": func(w *world) { w.ok(w.unit("mysql/0").Destroy(w.ctx, cleanly)) },
		"of the service": func(w *world) {
			svc, err := w.st.Service(w.ctx, "mysql")
			w.ok(err)
			w.ok(svc.Destroy(w.ctx, cleanly))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.deploy("mysql", statetest.MySQL, 2)
			u := w.started("mysql/0")
			w.started("mysql/1")
			svc, err := w.st.Service(w.ctx, "mysql")
			w.ok(err)
			w.ok(svc.Destroy(w.ctx, plain))
			w.cleaned()
			w.ok(u.EnsureDead(w.ctx))
			w.st.Before(func() { ask(w) })
			w.ok(u.Remove(w.ctx))
			w.cleaned()
			w.lives(map[string]entity.Life{"0": entity.Gone, "1": entity.Alive})
		})
	}
}

// Who asks later for the machines to go too leaves the cleaner nothing that the first
// destruction has not left it.
func TestDestroyWithMachinesAfterDestroy(t *testing.T) {
	w := newWorld(t)
	s := w.deploy("mysql", statetest.MySQL, 2)
	u := w.started("mysql/0")
	w.started("mysql/1")
	owed := func(want int) {
		t.Helper()
		counts, err := w.st.Counts()
		w.ok(err)
		if n := counts["cleanups"]; n != want {
			t.Errorf("%d cleanups are owed, want %d", n, want)
		}
	}
	w.ok(u.Destroy(w.ctx, plain))
	w.cleaned()
	w.ok(u.Destroy(w.ctx, cleanly))
	owed(0)
	w.ok(s.Destroy(w.ctx, plain))
	w.cleaned()
	w.ok(s.Destroy(w.ctx, cleanly))
	owed(0)
	// What is stronger too reaches downward, as ever.
	w.ok(s.Destroy(w.ctx, entity.Destruction{Strength: entity.Lenient, Machines: true}))
	owed(1)
	w.cleaned()
	w.endsAlone("mysql/0")
	w.endsAlone("mysql/1")
	w.lives(map[string]entity.Life{"0": entity.Gone, "1": entity.Gone})
}

// Of units that leave a machine at the same time the strongest destruction decides how
// it goes, whichever the cleaner comes to first.
func TestMachineGoesByTheStrongestDestruction(t *testing.T) {
	strongly := entity.Destruction{Strength: entity.Force, Timeout: time.Hour, Machines: true}
	for name, how := range map[string][2]entity.Destruction{"the first": {strongly, cleanly}, "the second": {cleanly, strongly}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			s := w.deploy("mysql", statetest.MySQL, 1)
			w.provision("0")
			_, err := s.AddUnits(w.ctx, 1, []string{"0"})
			w.ok(err)
			for i, unit := range []string{"mysql/0", "mysql/1"} {
				w.started(unit)
				w.ok(w.unit(unit).Destroy(w.ctx, how[i]))
			}
			w.end("mysql/0")
			w.end("mysql/1")
			w.cleaned()
			e := w.explained("0", "the agent of machine 0 must set it dead")
			if e.Life != entity.Dying || e.Strength != entity.Force {
				t.Errorf("the machine is %v %v, want dying by force", e.Life, e.Strength)
			}
		})
	}
}
