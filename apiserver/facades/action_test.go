package facades_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"juju/apiserver/client"
	"juju/apiserver/params"
	"juju/state"
	"juju/state/entity"
	"juju/state/statetest"
)

// A user runs an action and commands, and finds them again. The tasks that are refused do not keep the others from
// being added, and a unit that is named twice runs a command once.
func TestActionsAndCommands(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	url := statetest.Charm(t, w.st, `{name: busy, summary: s, description: d}`, "actions.yaml", "look: {}")
	_, err := w.st.AddService(ctx, state.AddServiceParams{Name: "busy", CharmURL: url, Units: 3})
	w.ok(err)
	c := w.admin().client()

	action, tasks, err := c.EnqueueActions(ctx, "look", nil, "busy/7", "busy/1")
	w.ok(err)
	if len(tasks) != 2 || !errors.Is(tasks[0].Err, entity.NotFound) || tasks[1].Err != nil {
		t.Fatalf("an action of two units, of which one does not exist: %+v", tasks)
	}
	look := tasks[1].Task
	if look.Receiver != "busy/1" || look.Name != "look" || look.Status != entity.TaskPending {
		t.Errorf("the action is %+v", look)
	}
	receivers := func(args client.RunArgs, want ...string) (operation string) {
		t.Helper()
		args.Command = "true"
		operation, tasks, err := c.RunCommand(ctx, args)
		w.ok(err)
		var got []string
		for _, task := range tasks {
			w.ok(task.Err)
			got = append(got, task.Task.Receiver)
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%+v runs on %q, want %q", args, got, want)
		}
		return operation
	}
	command := receivers(client.RunArgs{Units: []string{"busy/1"}, Services: []string{"busy"}, Machines: []string{"2"}},
		"2", "busy/0", "busy/1", "busy/2")
	all := receivers(client.RunArgs{All: true}, "0", "1", "2")

	if ids, err := c.FindTasks(ctx, look.ID); err != nil || !slices.Equal(ids, []string{look.ID}) {
		t.Errorf("with the id of task %s one finds %q, %v", look.ID, ids, err)
	}
	list := func(limit *int) (ids []string, more bool) {
		t.Helper()
		var result params.OperationResults
		w.ok(w.admin().do("Action", 7, "ListOperations", params.OperationQueryArgs{Limit: limit}, &result))
		for _, r := range result.Results {
			ids = append(ids, r.Operation().ID)
		}
		return ids, result.Truncated
	}
	if ids, more := list(nil); !slices.Equal(ids, []string{action, command, all}) || more {
		t.Errorf("without a limit there are the operations %q, more %v; want %q", ids, more, []string{action, command, all})
	}
	one := 1
	if ids, more := list(&one); !slices.Equal(ids, []string{all}) || !more {
		t.Errorf("the newest operation is %q, more %v; want %q", ids, more, all)
	}
}

// Requests about tasks name tasks, operations and services that there are; a query selects operations by what they have.
func TestRequestsAboutTasks(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	c := w.admin()
	const none = `task "99" not found` + "\n" + "unit-mysql-0 is not a task"
	c.says(
		step{"Action 7 Run", `{"commands":"true","units":["mysql/0"],"machines":["3"],"timeout":1000000000}`, `{"operation":"operation-1",…`},
		step{"Action 7 Run", `{"commands":"true","units":["wordpress/1"]}`, `{"operation":"operation-4",…`},
		step{"Action 7 Run", `{"commands":"true","applications":["nosuch"]}`, `service "nosuch" not found → To see what is in the model: juju status`},
		step{"Action 7 Actions", `{"entities":[{"tag":"action-99"},{"tag":"unit-mysql-0"}]}`, none},
		step{"Action 7 Cancel", `{"entities":[{"tag":"action-99"},{"tag":"unit-mysql-0"}]}`, none},
		step{"Action 7 Cancel", `{"entities":[{"tag":"action-5"}]}`, `{"action":{"tag":"action-5",…`},
		step{"Action 7 Operations", `{"entities":[{"tag":"operation-99"}]}`, `operation "99" not found`},
		step{"Action 7 ApplicationsCharmsActions", `{"entities":[{"tag":"application-nosuch"},{"tag":"application-mysql"}]}`,
			`service "nosuch" not found → To see what is in the model: juju status` + "\n" + `{"application-tag":"application-mysql"}`},
	)
	for query, want := range map[string]string{
		`{}`: "1 4", `{"status":["pending"]}`: "1", `{"status":["cancelled"]}`: "4", `{"status":["completed"]}`: "", `{"units":["mysql/0"]}`: "1",
		`{"units":["mysql/9"]}`: "", `{"machines":["3"]}`: "1", `{"applications":["wordpress"]}`: "4", `{"applications":["nosuch"]}`: "",
		`{"actions":["juju-run"]}`: "1 4", `{"actions":["other"]}`: "", `{"limit":0}`: "1 4",
	} {
		var result params.OperationResults
		w.ok(c.do("Action", 7, "ListOperations", json.RawMessage(query), &result))
		var got []string
		for _, r := range result.Results {
			got = append(got, r.Operation().ID)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s selects %v, want %s", query, got, want)
		}
	}
}
