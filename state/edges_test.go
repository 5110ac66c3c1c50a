package state_test

import (
	"strings"
	"testing"

	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/statetest"
)

// Edge cases of deployment, settings, constraints and ports.

func TestSubordinatesAreNotDeployedAlone(t *testing.T) {
	w := newWorld(t)
	s := w.deploy("logging", statetest.Logging, 0)
	_, err := s.AddUnits(w.ctx, 1, nil)
	w.refused(err, entity.Invalid, `cannot add unit to service "logging": service is a subordinate`)
	for _, c := range []struct {
		p    state.AddServiceParams
		want string
	}{
		{state.AddServiceParams{Units: 1}, `cannot add service "other": subordinate service must be deployed without units`},
		{state.AddServiceParams{Placement: statetest.To("0")},
			`cannot add service "other": subordinate service must be deployed without units`},
		{state.AddServiceParams{Constraints: statetest.Constraints("mem=1G")}, `cannot add service "other": subordinate service must be deployed without constraints`},
	} {
		c.p.Name, c.p.CharmURL = "other", s.CharmURL()
		_, err := w.st.AddService(w.ctx, c.p)
		w.refused(err, entity.Invalid, c.want)
	}
	_, err = w.st.Service(w.ctx, "other")
	w.gone("service", "other", err)
}

func TestUnitNumbersOutliveTheirService(t *testing.T) {
	w := newWorld(t)
	s := w.deploy("mysql", statetest.MySQL, 2)
	w.ok(w.unit("mysql/1").Destroy(w.ctx, entity.Destruction{}))
	names, err := s.AddUnits(w.ctx, 1, nil)
	w.ok(err)
	if names[0] != "mysql/2" {
		t.Errorf("the unit after mysql/1 is %s", names[0])
	}
	w.ok(w.unit("mysql/0").Destroy(w.ctx, entity.Destruction{}))
	w.ok(w.unit("mysql/2").Destroy(w.ctx, entity.Destruction{}))
	w.ok(s.Destroy(w.ctx, entity.Destruction{}))
	w.deploy("mysql", statetest.MySQL, 1)
	if _, err := w.st.Unit(w.ctx, "mysql/3"); err != nil {
		t.Errorf("the number of a removed unit was reused: %v", err)
	}
}

// A machine that has had a unit is never assigned another automatically, even
// once the unit is gone.
func TestUsedMachinesAreNotAssigned(t *testing.T) {
	w := newWorld(t)
	s := w.deploy("mysql", statetest.MySQL, 1)
	w.ok(w.unit("mysql/0").Destroy(w.ctx, entity.Destruction{}))
	names, err := s.AddUnits(w.ctx, 1, nil)
	w.ok(err)
	if m := w.unit(names[0]).Machine(); m != "1" {
		t.Errorf("the next unit is on machine %s, which has had a unit; want a new machine", m)
	}
}

func TestInvalidMachinesAreRefused(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		jobs []string
		want string
	}{
		{[]string{}, "cannot add a machine: no jobs specified"},
		{[]string{modeldb.JobHostUnits, modeldb.JobHostUnits}, "cannot add a machine: duplicate job: JobHostUnits"},
		{[]string{modeldb.JobManageModel, "JobManageEnviron"}, "cannot add a machine: duplicate job: JobManageEnviron"},
		{[]string{"JobDance"}, `cannot add a machine: unknown job "JobDance"`},
	} {
		_, err := w.st.AddMachine(w.ctx, state.AddMachineParams{Jobs: c.jobs})
		w.refused(err, entity.Invalid, c.want)
	}
	m, err := w.st.AddMachine(w.ctx, state.AddMachineParams{Jobs: []string{"JobManageEnviron"}})
	w.ok(err)
	if !m.IsManager() {
		t.Error("the old name of a job was taken for another job")
	}
	st, err := w.ctrl.AddModel(w.ctx, controller.AddModelParams{Name: "bare", Owner: statetest.Admin})
	w.ok(err)
	_, err = st.AddMachine(w.ctx, state.AddMachineParams{})
	w.refused(err, entity.Invalid, "cannot add a machine: no series specified")
	_, err = st.AddMachine(w.ctx, state.AddMachineParams{Series: "noble"})
	w.ok(err)
	for _, in := range []entity.Instance{{ID: "i"}, {Nonce: "n"}} {
		w.refused(m.SetProvisioned(w.ctx, in), entity.Invalid, "instance id and nonce cannot be empty")
	}
}

func TestEmptyStringIsAValue(t *testing.T) {
	w := newWorld(t)
	url := statetest.Charm(t, w.st, statetest.MySQL, "config.yaml", options)
	s, err := w.st.AddService(w.ctx, state.AddServiceParams{Name: "mysql", CharmURL: url})
	w.ok(err)
	w.ok(s.SetConfig(w.ctx, map[string]any{"title": ""}))
	set, err := s.ConfigSettings(w.ctx)
	w.ok(err)
	if v, there := set["title"]; !there || v != "" {
		t.Errorf("an empty string is stored as %#v", set)
	}
	w.refused(s.SetConfig(w.ctx, map[string]any{"title": "x", "port": ""}), entity.Invalid,
		`option "port" expected int, got ""`)
}

// Opening a port that is already open succeeds and writes nothing.
func TestOpeningOpenPortsWritesNothing(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 1)
	u := w.started("mysql/0")
	http := entity.HookChanges{OpenPorts: []entity.PortRange{{From: 80, To: 80, Protocol: "tcp"}}}
	w.ok(u.CommitHook(w.ctx, http))
	before, err := w.st.Counts(t.Context())
	w.ok(err)
	w.ok(u.CommitHook(w.ctx, http))
	after, err := w.st.Counts(t.Context())
	w.ok(err)
	if before["txns"] != after["txns"] {
		t.Error("opening an open port ran a transaction")
	}
}

func TestExposeAndPorts(t *testing.T) {
	w := newWorld(t)
	s := w.deploy("mysql", statetest.MySQL, 2)
	u := w.started("mysql/0")
	w.ok(s.Expose(w.ctx, nil))
	for _, unit := range w.status().Services[0].Units {
		if len(unit.OpenedPorts) > 0 {
			t.Errorf("%s has %v open, which no hook opened", unit.Name, unit.OpenedPorts)
		}
	}
	w.ok(u.CommitHook(w.ctx, entity.HookChanges{OpenPorts: []entity.PortRange{{From: 80, To: 80, Protocol: "tcp"}}}))
	w.ok(s.Unexpose(w.ctx))
	if ports := w.status().Services[0].Units[0].OpenedPorts; len(ports) != 1 {
		t.Errorf("after unexpose the unit has %v on record", ports)
	}
	w.ok(w.unit("mysql/0").Destroy(w.ctx, entity.Destruction{}))
	w.end("mysql/0")
	dump, err := w.st.Dump(w.ctx)
	w.ok(err)
	for _, doc := range dump["ports"] {
		if want := `"ports":[]`; !strings.Contains(string(doc), want) {
			t.Errorf("a removed unit has ports open: %s", doc)
		}
	}
}

// An unsupported key does not hide a conflict between other keys.
func TestUnsupportedConstraintHidesNoConflict(t *testing.T) {
	w := newWorld(t)
	s := w.deploy("mysql", statetest.MySQL, 0)
	w.refused(s.SetConstraints(w.ctx, statetest.Constraints("virt-type=kvm instance-type=x mem=1G")), entity.Invalid,
		`ambiguous constraints: "instance-type" overlaps with "mem"`)
	w.ok(s.SetConstraints(w.ctx, statetest.Constraints("virt-type=kvm mem=1G")))
}

func TestSubordinatesHaveNoConstraints(t *testing.T) {
	w := newWorld(t)
	s := w.deploy("logging", statetest.Logging, 0)
	const want = "constraints do not apply to subordinate services"
	w.refused(s.SetConstraints(w.ctx, statetest.Constraints("mem=1G")), entity.Invalid, want)
	_, err := s.Constraints(w.ctx)
	w.refused(err, entity.Invalid, want)
	if hint := entity.Hint(err); hint == "" {
		t.Error("the error has no hint")
	}
}
