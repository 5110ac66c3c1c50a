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

// endAndClean runs a started, Dying unit to its end, and then the cleaner.
func (w *world) endAndClean(name string) {
	w.Helper()
	w.end(name)
	w.clean()
}

// checkLives checks the lives of machines; entity.Gone stands for a machine that is
// removed.
func (w *world) checkLives(want map[string]entity.Life) {
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

// A unit destroyed with its machine takes a machine that was created for units,
// once nothing else is on it. A machine that a user added stays, and so does
// one with anything on it.
func TestMachineGoesWithItsUnit(t *testing.T) {
	w := newWorld(t)
	added, err := w.st.AddMachine(w.ctx, state.AddMachineParams{Series: "jammy"})
	w.ok(err)
	w.deploy("mysql", statetest.MySQL, 4) // on the machine added above, and on 1 to 3
	w.deploy("riak", statetest.Riak, 0)
	for _, id := range []string{"0", "1", "2", "3"} {
		w.provision(id)
	}
	riak, err := w.st.Service(w.ctx, "riak")
	w.ok(err)
	if _, err := riak.AddUnits(w.ctx, 1, statetest.To("2")); err != nil {
		t.Fatal(err)
	}
	_, err = w.st.AddMachine(w.ctx, state.AddMachineParams{Series: "jammy", Placement: statetest.At("lxd:3")})
	w.ok(err)
	for i := range 4 {
		name := fmt.Sprintf("mysql/%d", i)
		u := w.started(name)
		w.ok(u.Destroy(w.ctx, cleanly))
		w.clean()
		w.checkLives(map[string]entity.Life{u.Machine(): entity.Alive}) // until the unit is removed
		w.endAndClean(name)
	}
	w.checkLives(map[string]entity.Life{added.ID(): entity.Alive, "1": entity.Dying, "2": entity.Alive, "3": entity.Alive})

	// Both units want the machine to go; it goes with the last of them.
	w.started("riak/0")
	w.ok(w.unit("riak/0").Destroy(w.ctx, plain))
	w.ok(w.unit("riak/0").Destroy(w.ctx, cleanly)) // asked for after the first destruction
	w.endAndClean("riak/0")
	w.checkLives(map[string]entity.Life{"2": entity.Dying})
}

// By default the machine stays when its unit goes.
func TestMachineOutlivesItsUnitByDefault(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 2)
	w.started("mysql/0")
	w.ok(w.unit("mysql/0").Destroy(w.ctx, plain))
	w.endAndClean("mysql/0")
	w.ok(w.unit("mysql/1").Destroy(w.ctx, plain)) // removed at once
	w.clean()
	w.checkLives(map[string]entity.Life{"0": entity.Alive, "1": entity.Alive})
}

// A machine that two units share goes with the last of them.
func TestSharedMachineGoesWithItsLastUnit(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 1)
	w.deploy("riak", statetest.Riak, 0)
	riak, err := w.st.Service(w.ctx, "riak")
	w.ok(err)
	_, err = riak.AddUnits(w.ctx, 1, statetest.To("0"))
	w.ok(err)
	w.started("mysql/0")
	w.started("riak/0")
	w.ok(w.unit("mysql/0").Destroy(w.ctx, cleanly))
	w.ok(w.unit("riak/0").Destroy(w.ctx, cleanly))
	w.end("mysql/0")
	w.end("riak/0")
	w.clean()
	w.checkLives(map[string]entity.Life{"0": entity.Gone}) // it had no instance
}

// A service destroyed with its machines takes the machines of all its units:
// those whose agents end them, those that never started, and those that were
// Dying before.
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
	w.ok(w.unit("mysql/1").DestroySelf(w.ctx)) // before the cleaner gets to it
	for i := range 3 {
		w.clean()
		w.endAndClean(fmt.Sprintf("mysql/%d", i))
	}
	_, err = w.st.Service(w.ctx, "mysql")
	w.gone("service", "mysql", err)
	w.checkLives(map[string]entity.Life{"0": entity.Dying, "1": entity.Dying, "2": entity.Dying, "3": entity.Gone})
	for i := range 3 {
		m, err := w.st.Machine(w.ctx, fmt.Sprint(i))
		w.ok(err)
		w.ok(m.EnsureDead(w.ctx))
		w.ok(m.Remove(w.ctx))
	}
	w.empty()
}

// The machine is destroyed with the unit's strength, so its agent is not waited
// for either.
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
	w.checkLives(map[string]entity.Life{"0": entity.Dead}) // until the cloud has stopped its instance
}

// A unit placed on the machine just before the cleaner destroys it keeps it.
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
		_, err := riak.AddUnits(w.ctx, 1, statetest.To("0"))
		w.ok(err)
	})
	w.clean()
	w.checkLives(map[string]entity.Life{"0": entity.Alive})
}

// The result names the machines that stay.
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
	_, err = riak.AddUnits(w.ctx, 1, statetest.To("2"))
	w.ok(err)
	for _, c := range []struct {
		how  entity.Destruction
		want []string
	}{{plain, []string{"0", "1"}}, {cleanly, []string{"0"}}} {
		left, many, err := svc.MachinesLeft(w.ctx, c.how)
		w.ok(err)
		if !slices.Equal(left, c.want) || many {
			t.Errorf("%+v: MachinesLeft is %v, want %v", c.how, left, c.want)
		}
	}
	for i, want := range []string{"0", "1", ""} {
		u := w.started(fmt.Sprintf("mysql/%d", i))
		w.ok(u.Destroy(w.ctx, plain))
		left, err := u.MachineLeft(w.ctx, plain)
		w.ok(err)
		if left != want {
			t.Errorf("%s: MachineLeft is %q, want %q", u.Name(), left, want)
		}
	}
	if _, err := svc.AddUnits(w.ctx, 100, nil); err != nil {
		t.Fatal(err)
	}
	if left, many, err := svc.MachinesLeft(w.ctx, plain); err != nil || !many || left != nil {
		t.Errorf("%v %v %v", left, many, err)
	}
}

// A destruction with machines that arrives while the unit is being removed is
// not lost, whether it is of the unit or of its service.
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
			w.clean()
			w.ok(u.EnsureDead(w.ctx))
			w.st.Before(func() { ask(w) })
			w.ok(u.Remove(w.ctx))
			w.clean()
			w.checkLives(map[string]entity.Life{"0": entity.Gone, "1": entity.Alive})
		})
	}
}

// Asking for the machines to go in a second destruction adds no cleanups to
// those of the first.
func TestDestroyWithMachinesAfterDestroy(t *testing.T) {
	w := newWorld(t)
	s := w.deploy("mysql", statetest.MySQL, 2)
	u := w.started("mysql/0")
	w.started("mysql/1")
	owed := func(want int) {
		t.Helper()
		counts, err := w.st.Counts(t.Context())
		w.ok(err)
		if n := counts["cleanups"]; n != want {
			t.Errorf("%d cleanups are left, want %d", n, want)
		}
	}
	w.ok(u.Destroy(w.ctx, plain))
	w.clean()
	w.ok(u.Destroy(w.ctx, cleanly))
	owed(0)
	w.ok(s.Destroy(w.ctx, plain))
	w.clean()
	w.ok(s.Destroy(w.ctx, cleanly))
	owed(0)
	// A higher strength still propagates.
	w.ok(s.Destroy(w.ctx, entity.Destruction{Strength: entity.Lenient, Machines: true}))
	owed(1)
	w.clean()
	w.endAndClean("mysql/0")
	w.endAndClean("mysql/1")
	w.checkLives(map[string]entity.Life{"0": entity.Gone, "1": entity.Gone})
}

// When units leave a machine at the same time, it goes with the highest
// strength among them, whichever unit the cleaner handles first.
func TestMachineGoesByTheStrongestDestruction(t *testing.T) {
	strongly := entity.Destruction{Strength: entity.Force, Timeout: time.Hour, Machines: true}
	for name, how := range map[string][2]entity.Destruction{"the first": {strongly, cleanly},
		"the second": {cleanly, strongly}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			s := w.deploy("mysql", statetest.MySQL, 1)
			w.provision("0")
			_, err := s.AddUnits(w.ctx, 1, statetest.To("0"))
			w.ok(err)
			for i, unit := range []string{"mysql/0", "mysql/1"} {
				w.started(unit)
				w.ok(w.unit(unit).Destroy(w.ctx, how[i]))
			}
			w.end("mysql/0")
			w.end("mysql/1")
			w.clean()
			e := w.checkExplain("0", "the agent of machine 0 must set it dead")
			if e.Life != entity.Dying || e.Strength != entity.Force {
				t.Errorf("the machine is %v %v, want dying by force", e.Life, e.Strength)
			}
		})
	}
}

// A host goes with the last units of it and its containers, whichever unit has the lower number.
func TestHostGoesAfterItsContainers(t *testing.T) {
	w := newWorld(t)
	s := w.deploy("mysql", statetest.MySQL, 1)
	w.provision("0")
	_, err := s.AddUnits(w.ctx, 1, statetest.To("lxd:0"))
	w.ok(err)
	for _, unit := range []string{"mysql/0", "mysql/1"} {
		w.started(unit)
		w.ok(w.unit(unit).Destroy(w.ctx, cleanly))
		w.end(unit)
	}
	w.clean()
	w.checkLives(map[string]entity.Life{"0": entity.Dying, "0/lxd/0": entity.Gone})
}

// What the cleaner owes to a service that is gone does not reach the next one of its name: here
// the unit would go, and its machine with it, less strongly than the user has asked.
func TestNextServiceOwesNothingForTheLastOne(t *testing.T) {
	w := newWorld(t)
	first := w.deploy("mysql", statetest.MySQL, 1)
	w.provision("0")
	w.started("mysql/0")
	w.ok(first.Destroy(w.ctx, entity.Destruction{Strength: entity.Lenient}))
	w.ok(w.unit("mysql/0").DestroySelf(w.ctx))
	w.end("mysql/0")
	_, err := w.st.Service(w.ctx, "mysql")
	w.gone("service", "mysql", err)

	next := w.deploy("mysql", statetest.MySQL, 1)
	machine := w.unit("mysql/1").Machine()
	w.provision(machine)
	w.ok(next.Destroy(w.ctx, entity.Destruction{Strength: entity.Force, Timeout: time.Hour, Machines: true}))
	w.clean()
	var doc struct {
		Life     entity.Life
		Strength entity.Strength
	}
	w.ok(w.st.DB().Get(t.Context(), "machines", machine, &doc, "machine"))
	if doc.Life != entity.Dying || doc.Strength != entity.Force {
		t.Errorf("machine %s is %s, destroyed with strength %s; want force", machine, doc.Life, doc.Strength)
	}
}

// A unit that comes to a machine keeps the machine from going with one that was destroyed with
// force, even if the cleaner finds the model destroyed too, and the new unit gone: the
// machine goes with the model, plainly, as if the cleaner had run before.
func TestModelsEndComesAfterMachinesThatUnitsLeave(t *testing.T) {
	w := newWorld(t)
	s := w.deploy("mysql", statetest.MySQL, 1)
	w.provision("0")
	w.started("mysql/0")
	w.ok(w.unit("mysql/0").Destroy(w.ctx, entity.Destruction{Strength: entity.Force, Timeout: time.Hour, Machines: true}))
	_, err := s.AddUnits(w.ctx, 1, statetest.To("0"))
	w.ok(err)
	w.end("mysql/0")
	w.ok(w.st.Destroy(w.ctx, plain))
	w.clean()
	e := w.checkExplain("0", "the agent of machine 0 must set it dead")
	if e.Life != entity.Dying || e.Strength != entity.Plain {
		t.Errorf("the machine is %v %v, want dying plain", e.Life, e.Strength)
	}
}
