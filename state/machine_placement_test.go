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

// What is refused adds nothing, whatever was to be there.
func TestPlacementsThatAreRefused(t *testing.T) {
	w := newWorld(t)
	_, err := w.st.AddMachine(w.ctx, state.AddMachineParams{Series: "jammy", Jobs: []string{modeldb.JobManageModel}})
	w.ok(err)
	s := w.deploy("mysql", statetest.MySQL, 0)
	add := func(n int, to []entity.Placement) (units, service error) {
		_, units = s.AddUnits(w.ctx, n, to)
		_, service = w.st.AddService(w.ctx, state.AddServiceParams{Name: "other", CharmURL: s.CharmURL(), Units: n, Placement: to})
		return units, service
	}
	for to, want := range map[string]string{"lxd:0": "runs a controller, and cannot host containers", "ssh:a@db": "is not a machine of the model"} {
		units, service := add(1, statetest.To(to))
		w.refused(units, entity.KindOf(units), want)
		w.refused(service, entity.KindOf(service), want)
	}
	_, err = w.st.AddMachine(w.ctx, state.AddMachineParams{Placement: statetest.At("lxd:0")})
	w.refused(err, entity.NotSupported, "runs a controller, and cannot host containers")
	units, service := add(1, statetest.To("lxd:0", "new"))
	w.refused(units, entity.Invalid, `more placements than units: 2 for 1`)
	w.refused(service, entity.Invalid, `cannot add service "other": more placements than units: 2 for 1`)
	if _, err := w.st.Unit(w.ctx, "mysql/0"); !entity.IsNotFound(err) {
		t.Errorf("a refused placement added a unit: %v", err)
	}
}
