package apiserver

import (
	"encoding/json"
	"testing"

	"juju/apiserver/params"
	"juju/state/entity"
	"juju/state/statetest"
)

// Users who may add machines must not get one whose agent is the controller's.
func TestUsersCannotAddManagers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	raw := w.raw("/model/"+w.server.controllerModel.UUID()+"/api").login(entity.UserTag(statetest.Admin),
		statetest.Password, "")
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
