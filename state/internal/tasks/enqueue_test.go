package tasks_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltest"
	"juju/state/internal/tasks"
	"juju/state/limits"
)

const busyActions = `
backup:
  params: {level: {type: integer, maximum: 9, default: 5}, out: {type: string}}
  execution-group: disk
look: {parallel: true}
`

// newModel returns a model with the service busy, whose charm has actions and which has the units busy/0, which runs it, and
// busy/1, which has no charm yet; with mysql/0, whose charm has none; and with machine 0.
func newModel(t *testing.T, docs ...any) *modeltest.Model {
	t.Helper()
	m := modeltest.New(t, modeldb.Service{Name: "busy", CharmURL: "local:busy-1"}, modeldb.Service{Name: "mysql", CharmURL: "local:mysql-1"},
		modeldb.Unit{Name: "busy/0", Service: "busy", CharmURL: "local:busy-1"}, modeldb.Unit{Name: "busy/1", Service: "busy"},
		modeldb.Unit{Name: "mysql/0", Service: "mysql"}, modeldb.Machine{ID: "0"})
	m.PutCharm("local:busy-1", "{name: busy, summary: s, description: d}", "actions.yaml", busyActions)
	m.PutCharm("local:busy-2", "{name: busy, summary: s, description: d}", "actions.yaml", "new: {}")
	m.PutCharm("local:mysql-1", "{name: mysql, summary: s, description: d}")
	m.Put(docs...)
	return m
}

func action(receiver, name string) tasks.NewTask {
	return tasks.NewTask{Receiver: receiver, Name: name}
}

func command(receiver string) tasks.NewTask {
	return tasks.NewTask{Receiver: receiver, Name: entity.CommandTask, Params: map[string]any{entity.CommandParam: "true"}}
}

// one enqueues a task, and returns its id or why it was refused.
func one(m *modeltest.Model, task tasks.NewTask) (string, error) {
	operation, ids, errs, err := tasks.Of(m.DB).Enqueue(m.Ctx, []tasks.NewTask{task})
	m.OK(err)
	if (operation == "") != (errs[0] != nil) {
		panic(fmt.Sprintf("operation %q has the task %q, %v", operation, ids[0], errs[0]))
	}
	return ids[0], errs[0]
}

func enqueued(m *modeltest.Model, task tasks.NewTask) string {
	id, err := one(m, task)
	m.OK(err)
	return id
}

// task returns a task, and checks its status.
func task(t *testing.T, m *modeltest.Model, id string, want entity.TaskStatus) entity.Task {
	t.Helper()
	got, err := tasks.Of(m.DB).Task(m.Ctx, id)
	m.OK(err)
	if got.Status != want {
		t.Errorf("task %s is %s, want %s", id, got.Status, want)
	}
	return got
}

// Tasks are enqueued together, each with the charm's defaults; one that is refused does not keep the others from it.
func TestEnqueue(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	yes, other := true, "other"
	operation, ids, errs, err := tasks.Of(m.DB).Enqueue(m.Ctx, []tasks.NewTask{
		{Receiver: "busy/0", Name: "backup", Params: map[string]any{"out": "x.y"}},
		action("busy/9", "backup"),
		action("busy/1", "nothing"),
		action("mysql/0", "backup"),
		{Receiver: "busy/1", Name: "backup", Params: map[string]any{"level": 10}},
		action("busy/leader", "look"),
		{Receiver: "busy/1", Name: "look", Group: &other},
		{Receiver: "busy/1", Name: "backup", Parallel: &yes},
		action("busy/1", entity.CommandTask),
		{Receiver: "busy/1", Name: "backup", Params: map[string]any{"out": strings.Repeat("x", limits.TaskParams.Max)}},
		action("0", "backup"),
		action("moon/leader", "look"),
	})
	m.OK(err)
	for i, want := range []string{
		"", `unit "busy/9" not found`, `action "nothing" not defined on unit "busy/1" (To list the actions: juju actions busy)`,
		`no actions defined on charm "local:mysql-1"`,
		`cannot run "backup" on unit "busy/1": level: maximum: got 10, want 9`,
		`could not determine leader for "busy" (No unit leads it at the moment: name a unit, or try again.)`, "", "",
		`cannot run "juju-run" on unit "busy/1": parameters: missing property 'command'`,
		`cannot run "backup" on unit "busy/1": parameters of a task: 102420 bytes, the limit is 102400`,
		`cannot add action "backup" to a machine; only predefined actions allowed (Name a unit, or for a command: juju run --machine 0 COMMAND)`,
		`service "moon" not found (To see what is in the model: juju status)`,
	} {
		got := ""
		if errs[i] != nil {
			got = errs[i].Error()
			if hint := entity.Hint(errs[i]); hint != "" {
				got += " (" + hint + ")"
			}
		}
		if got != want || (ids[i] == "") != (errs[i] != nil) {
			t.Errorf("task %d: got %q with id %q, want %q", i, got, ids[i], want)
		}
	}
	got, err := tasks.Of(m.DB).Operation(m.Ctx, operation)
	m.OK(err)
	var shown []string
	for _, task := range got.Tasks {
		shown = append(shown, fmt.Sprintf("%s %s %s %s %v %q", task.ID, task.Receiver, task.Name, task.Params, task.Parallel, task.Group))
		if task.Status != entity.TaskPending || !task.Enqueued.Equal(m.Time) || task.Operation != operation {
			t.Errorf("a new task is %+v", task)
		}
	}
	modeltest.Same(t, "the tasks", shown, []string{`2 busy/0 backup {"level":5,"out":"x.y"} false "disk"`, `8 busy/1 look {} true "other"`,
		`9 busy/1 backup {"level":5} true "disk"`})
	modeltest.Same(t, "the operation", []string{got.ID, got.Summary}, []string{"1", "backup run on unit-busy-0,unit-busy-1,unit-busy-1"})
	if !got.Enqueued.Equal(m.Time) {
		t.Errorf("it was enqueued at %v", got.Enqueued)
	}
	operation, ids, _, err = tasks.Of(m.DB).Enqueue(m.Ctx, []tasks.NewTask{action("no/0", "look")})
	if m.OK(err); operation != "" || ids[0] != "" || len(m.IDsIn(modeldb.OperationsC)) != 1 {
		t.Errorf("without tasks there is operation %q, and there are %v", operation, m.IDsIn(modeldb.OperationsC))
	}
	m.Put(modeldb.Leader{Service: "busy", Holder: "busy/1"})
	if got := task(t, m, enqueued(m, action("busy/leader", "look")), entity.TaskPending); got.Receiver != "busy/1" || got.ID != "17" {
		t.Errorf("the leader's task is %+v", got)
	}
	m.Put(modeldb.Leader{Service: "busy"})
	if _, err := one(m, action("busy/leader", "look")); err == nil {
		t.Error("no one leads any more, but the task is enqueued")
	}
	for _, doc := range modeltest.All[modeldb.Task](m) {
		if doc.ID != modeldb.TaskID(doc.Receiver, doc.Number) {
			t.Errorf("task %d has the id %s", doc.Number, doc.ID)
		}
	}
}

// A default that contradicts its own schema is passed on. What the user gives is checked, with the defaults where it is not
// enough.
func TestADefaultMayContradictItsSchema(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	m.PutCharm("local:busy-3", "{name: busy, summary: s, description: d}", "actions.yaml",
		"go:\n  params: {p: {type: integer, default: five}, m: {type: integer, default: 1}}\n  required: [m]\n"+
			"check: {params: {p: {type: integer, default: 5}}, required: [p]}\n")
	m.Set(modeldb.UnitsC, "busy/0", bson.DocElem{Name: "charm", Value: "local:busy-3"})
	go1 := tasks.NewTask{Receiver: "busy/0", Name: "go", Params: map[string]any{"m": 1}}
	modeltest.Same(t, "parameters are", string(task(t, m, enqueued(m, go1), entity.TaskPending).Params), `{"m":1,"p":"five"}`)
	enqueued(m, action("busy/0", "check"))
	go1.Params["p"] = "six"
	_, err := one(m, go1)
	m.Refused(err, entity.Invalid, "p: got string, want integer")
}

// Machines run commands, until they are dead, and units until they are dying.
func TestWhoGetsTasks(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	life := func(collection, id string, life entity.Life, task tasks.NewTask, want, hint string) {
		t.Helper()
		m.Kill(collection, id, life)
		switch _, err := one(m, task); {
		case want == "":
			m.OK(err)
		default:
			if m.Refused(err, entity.NotAlive, want); entity.Hint(err) != hint {
				t.Errorf("the hint is %q, want %q", entity.Hint(err), hint)
			}
		}
	}
	life(modeldb.MachinesC, "0", entity.Alive, command("0"), "", "")
	life(modeldb.MachinesC, "0", entity.Dying, command("0"), "", "")
	life(modeldb.MachinesC, "0", entity.Dead, command("0"), "machine 0 is dead", "")
	const hint = "Until it is removed, work on it with: juju ssh busy/0, where juju-run works too"
	for _, task := range []tasks.NewTask{command("busy/0"), action("busy/0", "look")} {
		life(modeldb.UnitsC, "busy/0", entity.Alive, task, "", "")
		life(modeldb.UnitsC, "busy/0", entity.Dying, task, `unit "busy/0" is not alive`, hint)
		life(modeldb.UnitsC, "busy/0", entity.Dead, task, `unit "busy/0" is not alive`, "")
	}
	_, err := one(m, command("99"))
	m.Refused(err, entity.NotFound, "machine 99 not found")
	modeltest.Same(t, "summaries", func() (all []string) {
		for _, o := range modeltest.All[modeldb.Operation](m) {
			all = append(all, o.Summary)
		}
		return all
	}(), []string{"command run on machine-0", "command run on machine-0", "command run on unit-busy-0", "look run on unit-busy-0"})
}

// Whoever gets a task is marked, so that its removal cancels it, and is what it was when it was read.
func TestReceiversAreAsTheyWereRead(t *testing.T) {
	set := func(collection, id, field string, value any) func(*modeltest.Model) {
		return func(m *modeltest.Model) { m.Set(collection, id, bson.DocElem{Name: field, Value: value}) }
	}
	many := func(all ...tasks.NewTask) []tasks.NewTask { return all }
	dying := set(modeldb.UnitsC, "busy/0", "life", entity.Dying)
	for _, tasked := range []bool{false, true} {
		for _, c := range []struct {
			name    string
			tasks   []tasks.NewTask
			between func(*modeltest.Model)
			want    string // refuses them; "-" if it does not matter
		}{
			{"a unit is destroyed before a command", many(command("busy/0")), dying, "not alive"},
			{"a unit is destroyed before an action", many(action("busy/0", "look")), dying, "not alive"},
			{"a unit gets another charm", many(action("busy/0", "look")), set(modeldb.UnitsC, "busy/0", "charm", "local:busy-2"), `"look" not defined`},
			{"before several", many(command("busy/0"), action("busy/0", "look"), command("busy/0")),
				set(modeldb.UnitsC, "busy/0", "charm", "local:busy-2"), `"look" not defined`},
			{"a unit gets its first charm", many(action("busy/1", "look")), set(modeldb.UnitsC, "busy/1", "charm", "local:busy-2"), `"look" not defined`},
			{"its service gets another charm", many(action("busy/1", "look")), set(modeldb.ServicesC, "busy", "charm", "local:busy-2"), `"look" not defined`},
			{"a unit with a command gets another charm", many(command("busy/0")), set(modeldb.UnitsC, "busy/0", "charm", "local:busy-2"), "-"},
			{"a machine is dead", many(command("0")), set(modeldb.MachinesC, "0", "life", entity.Dead), "is dead"},
			{"a machine is dying", many(command("0")), set(modeldb.MachinesC, "0", "life", entity.Dying), "-"},
		} {
			t.Run(fmt.Sprintf("%s, tasked %v", c.name, tasked), func(t *testing.T) {
				t.Parallel()
				m := newModel(t)
				collection, id := modeldb.UnitsC, c.tasks[0].Receiver
				if id == "0" {
					collection = modeldb.MachinesC
				}
				if tasked {
					m.Set(collection, id, bson.DocElem{Name: "tasked", Value: true})
				}
				var errs []error
				call := func() (err error) {
					_, _, errs, err = tasks.Of(m.DB).Enqueue(m.Ctx, c.tasks)
					return err
				}
				if c.want == "-" {
					m.Ignores(func() { c.between(m) }, call)
				} else {
					m.OK(m.Race(func() { c.between(m) }, call))
					if !slices.ContainsFunc(errs, func(err error) bool { return err != nil && strings.Contains(err.Error(), c.want) }) {
						t.Errorf("got %v, want %s", errs, c.want)
					}
				}
				if n, err := m.DB.Count(m.Ctx, collection, bson.D{{"_id", id}, {"tasked", true}}); err != nil || n != 1 && (c.want == "-" || len(c.tasks) > 1) {
					t.Errorf("%s is not marked: %v", id, err)
				}
			})
		}
	}
}
