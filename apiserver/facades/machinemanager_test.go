package facades_test

import (
	"encoding/json"
	"errors"
	"testing"

	"juju/apiserver/params"
	"juju/state/entity"
	"juju/state/statetest"
)

// Users who may add machines must not get one whose agent is the controller's.
func TestUsersCannotAddManagers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	raw := w.user(statetest.Admin, w.backend.ControllerModel.UUID())
	for _, test := range []struct {
		jobs []string
		want entity.Kind
		text string
	}{
		{[]string{}, entity.Invalid, "cannot add a machine: no jobs specified"},
		{[]string{params.JobHostUnits, params.JobHostUnits}, entity.Invalid,
			"cannot add a machine: duplicate job: JobHostUnits"},
		{[]string{params.JobManageModel}, entity.NotSupported,
			`cannot add a machine with job "JobManageModel": not supported yet`},
		{[]string{params.JobHostUnits, "JobManageEnviron"}, entity.NotSupported,
			`cannot add a machine with job "JobManageEnviron": not supported yet`},
		{[]string{params.JobHostUnits}, "", ""},
	} {
		var results params.AddMachinesResults
		reply := raw.call("MachineManager", 10, "AddMachines",
			params.AddMachines{MachineParams: []params.AddMachineParams{{Jobs: test.jobs}}})
		if err := reply.Err(); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(reply.Response, &results); err != nil {
			t.Fatal(err)
		}
		err := params.FromError(results.Machines[0].Error)
		if entity.KindOf(err) != test.want || err != nil && err.Error() != test.text {
			t.Errorf("%q: %v, want %q", test.jobs, err, test.text)
		}
	}
}

// Juju's clients ask for containers by a type, by a parent or by both. What is only for manual machines is refused for
// others.
func TestAddMachinesAsJujusClientsDo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin := w.admin()
	add := func(p params.AddMachineParams) (string, error) {
		t.Helper()
		var results params.AddMachinesResults
		w.ok(admin.do("MachineManager", 10, "AddMachines", params.AddMachines{MachineParams: []params.AddMachineParams{p}}, &results))
		return results.Machines[0].Machine, params.FromError(results.Machines[0].Error)
	}
	for _, test := range []struct {
		machine params.AddMachineParams
		id      string
	}{
		{params.AddMachineParams{}, "0"},
		{params.AddMachineParams{ContainerType: "lxd"}, "1/lxd/0"},
		{params.AddMachineParams{ParentID: "0"}, "0/lxd/0"},
		{params.AddMachineParams{ContainerType: "kvm", ParentID: "1"}, "1/kvm/0"},
	} {
		if id, err := add(test.machine); id != test.id || err != nil {
			t.Errorf("%+v becomes machine %s (%v), want %s", test.machine, id, err, test.id)
		}
	}
	for _, machine := range []params.AddMachineParams{
		{Nonce: "n"}, {Addresses: []params.Address{{Value: "10.0.0.7"}}}, {Hardware: params.HardwareCharacteristics{Cores: 2}},
	} {
		if id, err := add(machine); !errors.Is(err, entity.Invalid) || err.Error() !=
			"cannot add a machine: nonce, addresses and hardware need an instance id" {
			t.Errorf("%+v becomes machine %s (%v)", machine, id, err)
		}
	}
}
