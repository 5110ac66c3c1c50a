package facades_test

import (
	"errors"
	"slices"
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
