package controller

import (
	"slices"
	"strings"
	"testing"

	"juju/state"
	"juju/state/constraints"
	"juju/state/entity"
	"juju/state/statetest"
)

// asked returns the constraints of the instances that the cloud was asked to start, and did, in alphabetical order.
func (s *system) asked() (all []string) {
	for _, op := range s.cloud.Ops() {
		if op.Method == "StartInstance" && op.Err == nil {
			all = append(all, op.Constraints)
		}
	}
	slices.Sort(all)
	return all
}

// A user deploys with some constraints, sets others, and adds two units, without waiting for anything: one machine is
// provisioned with the first set, and two with the second.
func TestEachMachineHasTheConstraintsOfItsUnitsTime(t *testing.T) {
	t.Parallel()
	s := newSystem(t, Options{})
	s.ok(s.st.Settings().SetConstraints(s.ctx, statetest.Constraints("arch=amd64 mem=1G")))
	svc, err := s.st.AddService(s.ctx, state.AddServiceParams{Name: "wordpress", Units: 1, Constraints: statetest.Constraints("mem=2G"),
		CharmURL: statetest.Charm(t, s.st, statetest.Wordpress)})
	s.ok(err)
	s.ok(svc.SetConstraints(s.ctx, statetest.Constraints("mem=3G")))
	_, err = svc.AddUnits(s.ctx, 2, nil)
	s.ok(err)
	s.ok(svc.SetConstraints(s.ctx, statetest.Constraints("mem=4G")))
	s.until("three idle units", func(m *entity.ModelStatus) bool { idle, _ := units(m); return idle == 3 })
	want := []string{"arch=amd64 mem=2048M", "arch=amd64 mem=3072M", "arch=amd64 mem=3072M"}
	if got := s.asked(); !slices.Equal(got, want) {
		t.Errorf("the cloud was asked for %q, want %q", got, want)
	}
}

// A machine that the cloud can't have has a status that says why, and no instance. Everything else goes on. What the
// user does about it takes effect: other constraints, or the end of the machine or its unit.
func TestAMachineThatTheCloudCannotHave(t *testing.T) {
	t.Parallel()
	s := newSystem(t, Options{Provisioner: quick})
	const why = "cannot start an instance: invalid constraint value: arch=s390x\nvalid values are: [amd64 arm64]"
	failed := func(m entity.MachineStatus) bool {
		return m.Status.Status == entity.StatusError && m.Status.Message == why && m.InstanceID == ""
	}
	for range 2 {
		_, err := s.st.AddMachine(s.ctx, state.AddMachineParams{Constraints: statetest.Constraints("arch=s390x mem=9G")})
		s.ok(err)
	}
	for name, p := range map[string]state.AddServiceParams{
		// More than the machines above were asked for with: it gets one of its own, even before they fail.
		"mysql":     {Constraints: statetest.Constraints("arch=s390x mem=10G"), CharmURL: statetest.Charm(t, s.st, statetest.MySQL)},
		"wordpress": {Constraints: statetest.Constraints("arch=arm64"), CharmURL: statetest.Charm(t, s.st, statetest.Wordpress)},
	} {
		p.Name, p.Units = name, 1
		_, err := s.st.AddService(s.ctx, p)
		s.ok(err)
	}
	s.until("three machines in error, and one unit at work", func(m *entity.ModelStatus) bool {
		n := 0
		for _, machine := range m.Machines {
			if failed(machine) {
				n++
			}
		}
		idle, _ := units(m)
		return n == 3 && idle == 1
	})
	machine := func(id string) *state.Machine {
		t.Helper()
		m, err := s.st.Machine(s.ctx, id)
		s.ok(err)
		return m
	}
	s.ok(machine("1").Destroy(s.ctx, entity.Destruction{}))
	unit, err := s.st.Unit(s.ctx, "mysql/0")
	s.ok(err)
	s.ok(unit.Destroy(s.ctx, entity.Destruction{}))
	s.ok(machine(unit.Machine()).Destroy(s.ctx, entity.Destruction{}))
	// Without other constraints it fails again.
	s.ok(machine("0").RetryProvisioning(s.ctx, nil))
	s.until("machine 0 in error, and the one of wordpress", func(m *entity.ModelStatus) bool {
		return len(m.Machines) == 2 && failed(m.Machines[0])
	})
	demand, err := constraints.Parse("mem=2G cpu-power=400")
	s.ok(err)
	s.ok(machine("0").RetryProvisioning(s.ctx, &demand))
	s.until("machine 0", func(m *entity.ModelStatus) bool {
		return m.Machines[0].Status.Status == entity.StatusStarted
	})
	if got := strings.Join(s.asked(), ", "); got != "arch=arm64, cpu-power=400 mem=2048M" {
		t.Errorf("the cloud was asked for %q", got)
	}
}
