package state_test

import (
	"testing"

	"juju/state"
	"juju/state/entity"
	"juju/state/statetest"
)

// machineConstraints returns the constraints that a unit's machine was added
// with.
func (w *world) machineConstraints(id string) string {
	w.Helper()
	infos, err := w.st.Provisioning().MachineInfos(w.ctx, id)
	w.ok(err)
	if len(infos) != 1 {
		w.Fatalf("got %d machines %s, want one", len(infos), id)
	}
	return infos[0].Constraints
}

// One machine gets the first constraints, two get the second.
func TestLaterConstraintsAffectOnlyNewUnits(t *testing.T) {
	w := newWorld(t)
	url := statetest.Charm(t, w.st, statetest.Wordpress)
	s, err := w.st.AddService(w.ctx, state.AddServiceParams{Name: "wordpress", CharmURL: url, Units: 1,
		Constraints: statetest.Constraints("mem=2G")})
	w.ok(err)
	w.ok(s.SetConstraints(w.ctx, statetest.Constraints("mem=3G")))
	_, err = s.AddUnits(w.ctx, 2, nil)
	w.ok(err)
	for id, want := range map[string]string{"0": "mem=2048M", "1": "mem=3072M", "2": "mem=3072M"} {
		if got := w.machineConstraints(id); got != want {
			t.Errorf("machine %s was added with %q, want %q", id, got, want)
		}
	}
	got, err := s.Constraints(w.ctx)
	w.ok(err)
	if got.String() != "mem=3072M" {
		t.Errorf("the service has constraints %q", got)
	}
	w.ok(s.SetConstraints(w.ctx, statetest.Constraints("")))
	if got, err = s.Constraints(w.ctx); err != nil || !got.IsEmpty() {
		t.Errorf("after clearing, constraints are %q (%v)", got, err)
	}
}

func TestServiceConstraintsFallBackToTheModels(t *testing.T) {
	w := newWorld(t)
	w.ok(w.st.Settings().SetConstraints(w.ctx, statetest.Constraints("mem=2G arch=amd64 tags=fast")))
	s := w.deploy("mysql", statetest.MySQL, 0)
	for i, c := range []struct{ own, want string }{
		{"", "arch=amd64 mem=2048M tags=fast"},
		{"mem=4G cores=2", "arch=amd64 cores=2 mem=4096M tags=fast"},
		{"mem= tags=", "arch=amd64 mem= tags="},
		{"instance-type=large", "arch=amd64 instance-type=large tags=fast"}, // which determines the memory
	} {
		w.ok(s.SetConstraints(w.ctx, statetest.Constraints(c.own)))
		names, err := s.AddUnits(w.ctx, 1, nil)
		w.ok(err)
		if got := w.machineConstraints(w.unit(names[0]).Machine()); got != c.want {
			t.Errorf("%d: unit of a service with %q has %q, want %q", i, c.own, got, c.want)
		}
	}
	m, err := w.st.AddMachine(w.ctx, state.AddMachineParams{})
	w.ok(err)
	if got := w.machineConstraints(m.ID()); got != "arch=amd64 mem=2048M tags=fast" {
		t.Errorf("a machine without a unit has %q", got)
	}
	m, err = w.st.AddMachine(w.ctx, state.AddMachineParams{Constraints: statetest.Constraints("mem=1G")})
	w.ok(err)
	if got := w.machineConstraints(m.ID()); got != "arch=amd64 mem=1024M tags=fast" {
		t.Errorf("a machine with its own memory has %q", got)
	}
	w.ok(w.st.Settings().SetConstraints(w.ctx, statetest.Constraints("")))
	if got, err := w.st.Settings().Constraints(w.ctx); err != nil || !got.IsEmpty() {
		t.Errorf("the model has constraints %q (%v)", got, err)
	}
	if got := w.machineConstraints("0"); got != "arch=amd64 mem=2048M tags=fast" {
		t.Errorf("the old machine has %q now", got)
	}
}

// AddUnits sees constraints that change between its reads and its commit.
func TestConstraintsChangeDuringAddUnit(t *testing.T) {
	w := newWorld(t)
	s := w.deploy("mysql", statetest.MySQL, 0)
	w.st.Before(func() { w.ok(mustService(w, "mysql").SetConstraints(w.ctx, statetest.Constraints("mem=3G"))) })
	_, err := s.AddUnits(w.ctx, 1, nil)
	w.ok(err)
	w.st.Before(func() { w.ok(w.st.Settings().SetConstraints(w.ctx, statetest.Constraints("cores=4"))) })
	_, err = s.AddUnits(w.ctx, 1, nil)
	w.ok(err)
	w.st.Before(func() { w.ok(w.st.Settings().SetConstraints(w.ctx, statetest.Constraints("cores=8"))) })
	_, err = w.st.AddMachine(w.ctx, state.AddMachineParams{})
	w.ok(err)
	for id, want := range map[string]string{"0": "mem=3072M", "1": "cores=4 mem=3072M", "2": "cores=8"} {
		if got := w.machineConstraints(id); got != want {
			t.Errorf("machine %s was added with %q, want %q", id, got, want)
		}
	}
	// Both of two concurrent writers succeed, and one of them is the last.
	w.st.Before(func() { w.ok(mustService(w, "mysql").SetConstraints(w.ctx, statetest.Constraints("mem=5G"))) })
	w.ok(s.SetConstraints(w.ctx, statetest.Constraints("mem=6G")))
	w.st.Before(func() { w.ok(w.st.Settings().SetConstraints(w.ctx, statetest.Constraints(""))) })
	w.ok(w.st.Settings().SetConstraints(w.ctx, statetest.Constraints("cores=1")))
	own, err := s.Constraints(w.ctx)
	w.ok(err)
	if all, err := w.st.Settings().Constraints(w.ctx); err != nil || own.String() != "mem=6144M" || all.String() != "cores=1" {
		t.Errorf("constraints are %q and %q (%v)", own, all, err)
	}
}

func TestInvalidConstraintsAreRefused(t *testing.T) {
	w := newWorld(t)
	s := w.deploy("mysql", statetest.MySQL, 1)
	w.ok(s.SetConstraints(w.ctx, statetest.Constraints("mem=1G")))
	w.refused(w.st.Settings().SetConstraints(w.ctx, statetest.Constraints("instance-type=x mem=1G")), entity.Invalid,
		`ambiguous constraints: "instance-type" overlaps with "mem"`)
	_, err := w.st.AddMachine(w.ctx, state.AddMachineParams{Constraints: statetest.Constraints("instance-type=x cores=1")})
	w.refused(err, entity.Invalid, `cannot add a machine: ambiguous constraints: "instance-type" overlaps with "cores"`)
	url := s.CharmURL()
	_, err = w.st.AddService(w.ctx, state.AddServiceParams{Name: "other", CharmURL: url,
		Constraints: statetest.Constraints("instance-type=x mem=1G")})
	w.refused(err, entity.Invalid, `cannot add service "other": ambiguous constraints`)
	if got, err := s.Constraints(w.ctx); err != nil || got.String() != "mem=1024M" {
		t.Errorf("after a refused change, constraints are %q (%v)", got, err)
	}
	w.started("mysql/0")
	w.ok(s.Destroy(w.ctx, entity.Destruction{}))
	w.refused(s.SetConstraints(w.ctx, statetest.Constraints("mem=2G")), entity.NotAlive, `cannot set constraints: service "mysql" is not alive`)
	w.ok(w.unit("mysql/0").DestroySelf(w.ctx))
	w.end("mysql/0")
	w.refused(s.SetConstraints(w.ctx, statetest.Constraints("mem=2G")), entity.NotFound, `service "mysql" not found`)
}

func TestModelsConstraintsCountWhereAServiceSetsNone(t *testing.T) {
	w := newWorld(t)
	w.ok(w.st.Settings().SetConstraints(w.ctx, statetest.Constraints("mem=1G cores=2")))
	url := statetest.Charm(t, w.st, statetest.MySQL)
	for name, own := range map[string]string{"own": "mem=4G", "plain": ""} {
		_, err := w.st.AddService(w.ctx, state.AddServiceParams{Name: name, CharmURL: url, Units: 1, Constraints: statetest.Constraints(own)})
		w.ok(err)
	}
	for unit, want := range map[string]string{"own/0": "cores=2 mem=4096M", "plain/0": "cores=2 mem=1024M"} {
		if got := w.machineConstraints(w.unit(unit).Machine()); got != want {
			t.Errorf("the machine of unit %s has constraints %q, want %q", unit, got, want)
		}
	}
	m, err := w.st.AddMachine(w.ctx, state.AddMachineParams{})
	w.ok(err)
	if got := w.machineConstraints(m.ID()); got != "cores=2 mem=1024M" {
		t.Errorf("the machine that a user adds has constraints %q", got)
	}
	m, err = w.st.AddMachine(w.ctx, state.AddMachineParams{Constraints: statetest.Constraints("mem=8G")})
	w.ok(err)
	if got := w.machineConstraints(m.ID()); got != "cores=2 mem=8192M" {
		t.Errorf("the machine that a user adds with mem=8G has constraints %q", got)
	}
}
