package state_test

import (
	"strings"
	"testing"

	"juju/state"
	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/statetest"
)

// Units go where their placements say, those of one request too. What is added for them has the
// constraints of the service, and goes with them.
func TestPlacements(t *testing.T) {
	w := newWorld(t)
	for range 2 { // both clean
		_, err := w.st.AddMachine(w.ctx, state.AddMachineParams{Series: "jammy"})
		w.ok(err)
	}
	s := w.deploy("mysql", statetest.MySQL, 0)
	w.ok(s.SetConstraints(w.ctx, statetest.Constraints("mem=1G")))
	names, err := s.AddUnits(w.ctx, 6, statetest.To("lxd:0", "lxd:0", "lxd", "new", "zone=a"))
	w.ok(err)
	var on []string
	for _, name := range names {
		on = append(on, w.unit(name).Machine())
	}
	// No machine is clean and has what the service asks for, so the last unit gets a new one too.
	if got := strings.Join(on, " "); got != "0/lxd/0 0/lxd/1 5/lxd/0 2 3 4" {
		t.Errorf("the units are on %s", got)
	}
	for id, want := range map[string]entity.MachineInfo{
		"0/lxd/1": {Container: "lxd", Constraints: "mem=1024M"}, "5/lxd/0": {Container: "lxd", Constraints: "mem=1024M"},
		"5": {}, "2": {Constraints: "mem=1024M"}, "3": {Placement: "zone=a", Constraints: "mem=1024M"},
	} {
		info, err := w.machine(id).Info(w.ctx)
		w.ok(err)
		if info.Container != want.Container || info.Placement != want.Placement || info.Constraints != want.Constraints {
			t.Errorf("machine %s is %+v, want %+v", id, info, want)
		}
	}
	w.refused(w.machine("0").Destroy(w.ctx, entity.Destruction{}), entity.InUse,
		`machine 0 is hosting containers "0/lxd/0,0/lxd/1"`)
	w.ok(w.unit(names[1]).Destroy(w.ctx, cleanly))
	w.clean()
	w.checkLives(map[string]entity.Life{"0/lxd/1": entity.Gone, "0": entity.Alive})
	w.checkCounts()
	w.ok(s.Destroy(w.ctx, cleanly))
	w.clean()
	w.ok(w.machine("1").Destroy(w.ctx, entity.Destruction{}))
	for _, id := range []string{"0", "5"} { // no user's machine, and that of a container, go with a service
		w.ok(w.machine(id).Destroy(w.ctx, entity.Destruction{}))
	}
	w.empty()
}

// A clean machine is not taken for a unit when another unit's container goes there.
func TestTheHostOfANewContainerIsNotClean(t *testing.T) {
	w := newWorld(t)
	_, err := w.st.AddMachine(w.ctx, state.AddMachineParams{Series: "jammy"})
	w.ok(err)
	s := w.deploy("mysql", statetest.MySQL, 0)
	names, err := s.AddUnits(w.ctx, 2, []entity.Placement{{}, {Container: "lxd", Machine: "0"}})
	w.ok(err)
	if got := w.unit(names[0]).Machine(); got != "1" {
		t.Errorf("the unit without placement is on %s", got)
	}
}

func TestPlacementsThatAreRefused(t *testing.T) {
	w := newWorld(t)
	_, err := w.st.AddMachine(w.ctx, state.AddMachineParams{Series: "jammy", Jobs: []string{modeldb.JobManageModel}})
	w.ok(err)
	_, err = w.st.AddMachine(w.ctx, manualMachine())
	w.ok(err)
	dying, err := w.st.AddMachine(w.ctx, state.AddMachineParams{Series: "jammy"})
	w.ok(err)
	w.ok(dying.SetProvisioned(w.ctx, entity.Instance{ID: "i-2", Nonce: "n"}))
	w.ok(dying.Destroy(w.ctx, entity.Destruction{}))
	s := w.deploy("mysql", statetest.MySQL, 0)
	for to, want := range map[string]struct {
		kind entity.Kind
		text string
	}{
		"lxd:7":    {entity.NotFound, `machine 7 not found`},
		"lxd:0":    {entity.NotSupported, `machine 0 runs a controller, and cannot host containers`},
		"lxd:1":    {entity.NotSupported, `machine 1 is manual, and cannot host lxd containers`},
		"lxd:2":    {entity.NotAlive, `machine 2 is not alive`},
		"7":        {entity.NotFound, `machine 7 not found`},
		"ssh:a@db": {entity.Invalid, `to ssh:a@db: it is not a machine of the model`},
	} {
		_, err := s.AddUnits(w.ctx, 1, statetest.To(to))
		w.refused(err, want.kind, want.text)
		_, err = w.st.AddService(w.ctx, state.AddServiceParams{Name: "other", CharmURL: s.CharmURL(), Units: 1,
			Placement: statetest.To(to)})
		w.refused(err, want.kind, want.text)
		if at := statetest.At(to); at.Container != "" {
			_, err = w.st.AddMachine(w.ctx, state.AddMachineParams{Placement: at})
			w.refused(err, want.kind, want.text)
		}
	}
	two := statetest.To("lxd:0", "new")
	_, err = s.AddUnits(w.ctx, 1, two)
	w.refused(err, entity.Invalid, `more placements than units: 2 for 1`)
	_, err = w.st.AddService(w.ctx, state.AddServiceParams{Name: "other", CharmURL: s.CharmURL(), Units: 1, Placement: two})
	w.refused(err, entity.Invalid, `cannot add service "other": more placements than units: 2 for 1`)
	if _, err := w.st.Unit(w.ctx, "mysql/0"); !entity.IsNotFound(err) {
		t.Errorf("a refused placement added a unit: %v", err)
	}
}
