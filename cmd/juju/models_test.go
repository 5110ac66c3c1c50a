package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"juju/apiserver/client"
	"juju/cmd/juju/store"
	"juju/state/entity"
)

// A fakeController has models, and records calls.
type fakeController struct {
	nodes  []entity.ControllerNode
	calls  []string
	models []entity.ModelInfo
	err    error // of every change
	// stays is how many times a destroyed model is still listed, unless held is set, which keeps
	// it listed; leftovers is what it leaves behind.
	stays     int
	held      bool
	dying     string        // its UUID
	changed   chan struct{} // of the watch of a model; nil before there is one
	reads     int           // of the list of models
	leftovers []entity.Leftover
	binaries  entity.ControllerBinaries
	next      []entity.ControllerBinaries // what binaries becomes each time it is read
}

// WatchModel fires at once, and after each call of Models with another change to follow.
func (f *fakeController) WatchModel(context.Context, string) (<-chan struct{}, error) {
	f.changed = make(chan struct{}, 1)
	f.tell()
	return f.changed, nil
}

func (f *fakeController) tell() {
	select {
	case f.changed <- struct{}{}:
	default: // it will fire, or there is no watch
	}
}

func (f *fakeController) DestroyModel(_ context.Context, uuid string, how entity.Destruction) error {
	f.calls = append(f.calls, fmt.Sprintf("DestroyModel %s %s %v", uuid, how.Strength, how.Timeout))
	if f.err == nil {
		f.dying = uuid
	}
	return f.err
}

func (f *fakeController) ModelLeftovers(context.Context) ([]entity.Leftover, error) {
	return f.leftovers, nil
}

func (f *fakeController) Close() error { return nil }

func (f *fakeController) Models(context.Context) (all []client.Model, err error) {
	f.reads++
	if f.dying != "" && !f.held {
		if f.stays--; f.stays >= 0 {
			f.tell()
		} else {
			f.models = slices.DeleteFunc(f.models, func(m entity.ModelInfo) bool { return m.UUID == f.dying })
		}
	}
	for _, m := range f.models {
		all = append(all, client.Model{Name: m.Name, UUID: m.UUID, Owner: m.OwnerTag.ID})
	}
	return all, nil
}

func (f *fakeController) ModelSummaries(context.Context) (all []entity.ModelSummary, err error) {
	for _, m := range f.models {
		all = append(all, entity.ModelSummary{ModelDescription: m.ModelDescription, UserAccess: "admin",
			Counts: []entity.ModelEntityCount{{Entity: "machines", Count: int64(len(m.Machines))}, {Entity: "units", Count: 3}}})
	}
	return all, nil
}

func (f *fakeController) ModelInfo(_ context.Context, uuid string) (entity.ModelInfo, error) {
	for _, m := range f.models {
		if m.UUID == uuid {
			return m, nil
		}
	}
	return entity.ModelInfo{}, entity.Errorf(entity.Unauthorized, "permission denied")
}

func (f *fakeController) CreateModel(
	_ context.Context, name string, at client.ModelPlace, config map[string]string,
) (client.Model, error) {
	call := "CreateModel " + name
	if at != (client.ModelPlace{}) {
		call += fmt.Sprint(" ", at)
	}
	f.calls = append(f.calls, strings.TrimSpace(call+" "+strings.TrimPrefix(fmt.Sprint(config), "map[]")))
	owner := cmp.Or(at.Owner, "admin")
	if f.err == nil {
		f.add(owner, name)
	}
	return client.Model{Name: name, UUID: name + "-uuid", Owner: owner}, f.err
}

func (f *fakeController) add(owner, name string) *entity.ModelInfo {
	f.models = append(f.models, entity.ModelInfo{ModelDescription: entity.ModelDescription{
		Name: name, UUID: name + "-uuid", Type: "iaas", OwnerTag: entity.UserTag(owner), Life: "alive", ProviderType: "local",
		IsController: name == "controller", Status: entity.Status{Status: "available"}},
		Users: []entity.ModelUser{{UserName: owner, Access: "admin"}}})
	return &f.models[len(f.models)-1]
}

// selected returns what the user has selected.
func (u *user) selected() string {
	u.t.Helper()
	c, err := u.store().Read()
	if err != nil {
		u.t.Fatal(err)
	}
	if c.Controllers[c.Current] == nil {
		return ""
	}
	return c.Current + ":" + c.Controllers[c.Current].Model
}

func TestAddModel(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.ctrl.add("admin", "default")
	u.types("add-model", "staging")
	u.sees(0, "", "Model \"staging\" is created on controller \"prod\" and selected.\n")
	if got := u.selected(); got != "prod:admin/staging" {
		t.Errorf("selected is %q", got)
	}
	u.types("create-model", "prod:other", "--no-switch", "--config", "default-series=noble")
	u.sees(0, "", "Model \"other\" is created on controller \"prod\".\n")
	if got := u.selected(); got != "prod:admin/staging" {
		t.Errorf("selected is %q", got)
	}
	if got := fmt.Sprint(u.ctrl.calls); got != "[CreateModel staging CreateModel other map[default-series:noble]]" {
		t.Errorf("asked %s", got)
	}
	u.types("add-model", "his", "--owner", "bob")
	u.sees(0, "", "Model \"his\" is created on controller \"prod\" and selected.\n")
	if got, calls := u.selected(), u.ctrl.calls; got != "prod:bob/his" || calls[len(calls)-1] != "CreateModel his {   bob}" {
		t.Errorf("selected is %q, asked %q", got, calls)
	}
	for line, want := range map[string]string{
		"add-model x --owner b@d": "ERROR invalid user name \"b@d\"\n",
		"add-model":               "ERROR no model specified\n",
		"add-model a b c":         "ERROR unrecognized args: [\"b\" \"c\"]\n",
		"add-model Big": "ERROR \"Big\" is not a valid name: model names may only contain lowercase " +
			"letters, digits and hyphens\n",
		"add-model a --config x=y":      "ERROR unknown model config key \"x\"\n",
		"add-model a:b -c prod":         "ERROR --controller prod does not match \"a:b\"\n",
		"models x":                      "ERROR unrecognized args: [\"x\"]\n",
		"models --format xml":           "ERROR unknown format \"xml\"\n",
		"show-model a b":                "ERROR unrecognized args: [\"b\"]\n",
		"show-model a --format oneline": "ERROR unknown format \"oneline\"\n",
		"switch a -c b":                 "ERROR unrecognized args: [\"a\"]: --controller and --model say what to select\n",
		"switch -m a:b -c c":            "ERROR --model a:b and --controller c both name a controller\n",
		"switch a b":                    "ERROR unrecognized args: [\"b\"]\n",
	} {
		u.types(strings.Fields(line)...)
		if u.code != 2 || !strings.HasPrefix(u.err.String(), want) {
			t.Errorf("%s: exit code %d, said %q, want %q", line, u.code, u.err.String(), want)
		}
	}
	u.ctrl.err = entity.Errorf(entity.AlreadyExists, "cannot add model %q: model %q for admin already exists", "staging",
		"staging")
	u.types("add-model", "staging")
	u.sees(1, "", "ERROR cannot add model \"staging\": model \"staging\" for admin already exists\n")
}

func TestModels(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.ctrl.add("admin", "controller").Machines = []entity.ModelMachine{{ID: "0"}}
	u.ctrl.add("admin", "default")
	u.ctrl.add("bob", "his").Status.Status = "destroying"
	u.types("models")
	u.sees(0, `Controller: prod

Model       Cloud  Status      Machines  Units  Access
controller  local  available   1         3      admin
default*    local  available   0         3      admin
bob/his     local  destroying  0         3      admin
`, "")
	u.types("models", "--uuid", "--all")
	if !strings.Contains(u.out.String(), "\ndefault*    default-uuid     local  available   0         3      admin\n") {
		t.Errorf("printed %s", u.out.String())
	}
	u.types("list-models", "--format", "yaml")
	if !strings.Contains(u.out.String(), "current-model: default\n") ||
		!strings.Contains(u.out.String(), "  - name: bob/his\n") ||
		!strings.Contains(u.out.String(), "    machine-count: 1\n") {
		t.Errorf("printed %s", u.out.String())
	}
	last := &u.ctrl.models[len(u.ctrl.models)-1]
	last.Status.Since, last.CloudRegion, last.Credential = someTime, "default", "ops"
	u.types("show-model", "bob/his")
	for _, want := range []string{"\n    region: default\n    type: local\n", "\n        since: \"2026-03-01T12:00:00Z\"\n",
		"\n    credential:\n        name: ops\n        owner: bob\n        cloud: local\n"} {
		if !strings.Contains(u.out.String(), want) {
			t.Errorf("no %q in %s", want, u.out.String())
		}
	}
	want := "bob/his:\n    name: bob/his\n    short-name: his\n    model-uuid: his-uuid\n"
	if !strings.HasPrefix(u.out.String(), want) ||
		!strings.Contains(u.out.String(), "current: destroying\n") {
		t.Errorf("printed %s", u.out.String())
	}
	for _, line := range []string{"show-model", "show-model -m default", "show-model prod:default"} {
		u.types(strings.Fields(line)...)
		if !strings.HasPrefix(u.out.String(), "default:\n    name: admin/default\n") {
			t.Errorf("%s printed %s", line, u.out.String())
		}
	}
	u.types("show-model", "nope")
	u.sees(1, "", "ERROR model \"prod:nope\" not found\nAvailable models: controller, default, bob/his\n")
	// A selected model that is gone is unselected.
	u.ctrl.models = u.ctrl.models[:1]
	u.types("models")
	if got := u.selected(); got != "prod:" {
		t.Errorf("selected is %q", got)
	}
}

func TestSwitch(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.note(func(c *store.Contents) {
		c.Controllers["test"] = &store.Controller{UUID: "v", Cloud: "elsewhere", User: "admin", Model: "admin/work",
			Models: map[string]string{"admin/work": "w"}}
	})
	u.ctrl.add("admin", "new")
	u.ctrl.add("admin", "test")
	for _, step := range []struct{ line, out, says string }{
		{"switch", "prod:admin/default\n", ""},
		{"switch controller", "", "prod:admin/default -> prod:admin/controller\n"},
		{"switch controller", "", "prod:admin/controller (no change)\n"},
		{"switch new", "", "prod:admin/controller -> prod:admin/new\n"}, // which the controller had to be asked for
		{"switch test:", "", "prod:admin/new -> test:admin/work\n"},
		{"switch prod:test", "", "test:admin/work -> prod:admin/test\n"},
		{"switch test", "", "prod:admin/test (no change)\n"}, // a model first
		{"switch test:", "", "prod:admin/test -> test:admin/work\n"},
		{"switch prod", "", "test:admin/work -> prod:admin/test\n"},
		{"switch -c test", "", "prod:admin/test -> test:admin/work\n"},
		{"switch --controller prod --model new", "", "test:admin/work -> prod:admin/new\n"},
		{"switch --model test", "", "prod:admin/new -> prod:admin/test\n"},
		{"switch -m prod:test", "", "prod:admin/test (no change)\n"},
	} {
		u.types(strings.Fields(step.line)...)
		u.sees(0, step.out, step.says)
	}
	u.types("switch", "nope")
	u.sees(1, "", "ERROR model \"prod:nope\" not found\nAvailable models: new, test\n")
	u.types("switch", "nope:new")
	u.sees(1, "", "ERROR controller \"nope\" not found\nKnown controllers: prod, test\n")
	u.note(func(c *store.Contents) { c.Current = "" })
	u.types("switch")
	if u.code != 1 || !strings.HasPrefix(u.err.String(), "ERROR no currently specified model\n") {
		t.Errorf("said %q", u.err.String())
	}
}

func TestDestroyModel(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.ctrl.add("admin", "controller")
	u.ctrl.add("admin", "default").Machines = []entity.ModelMachine{{ID: "0"}}
	asked := func(want string) {
		t.Helper()
		if got := strings.Join(u.ctrl.calls, ", "); got != want {
			t.Errorf("asked %q, want %q", got, want)
		}
		u.ctrl.calls = nil
	}
	const question = "This destroys model \"default\" with all its services and machines (1),\n" +
		"and removes all their data. Continue? [y/N] "
	u.session.Stdin = strings.NewReader("n\n")
	u.types("destroy-model", "default")
	u.sees(1, "", question+"\nERROR nothing was destroyed\nTo destroy it without confirmation: juju destroy-model "+
		"default -y\n")
	asked("")
	u.types("destroy-model", "controller", "-y")
	u.sees(1, "", "ERROR \"controller\" is a controller; use 'juju destroy-controller' to destroy it\n")
	u.types("destroy-model", "nope", "-y")
	u.sees(1, "", "ERROR model \"prod:nope\" not found\nAvailable models: controller, default\n")
	u.types("destroy-model", "default", "-y", "--timeout", "3s")
	u.sees(2, "", "ERROR --timeout is only used with --force\nFor usage: juju help destroy-model\n")
	asked("")
	u.ctrl.err = entity.Errorf(entity.OperationBlocked, "keep it")
	u.types("destroy-model", "default", "--no-prompt")
	u.sees(1, "", "ERROR keep it\n")
	u.ctrl.err, u.ctrl.stays, u.ctrl.calls = nil, 10, nil
	u.session.Stdin = strings.NewReader("y\n")
	u.types("destroy-model", "default")
	u.sees(0, "", question+"\nModel \"default\" is being destroyed. To follow its progress: juju show-model default\n")
	asked("DestroyModel default-uuid plain 0s")
	u.ctrl.stays = 2
	u.types("destroy-model", "prod:default", "-y", "--lenient", "--wait", "-q")
	u.sees(0, "", "")
	asked("DestroyModel default-uuid lenient 0s")
	if got := u.selected(); got != "prod:" {
		t.Errorf("selected is %q", got)
	}
	u.ctrl.add("admin", "default")
	u.ctrl.stays = 1
	u.ctrl.leftovers = []entity.Leftover{{ID: "another"},
		{ID: "default-uuid", What: "instances of model \"default\"", Where: "cloud local", Why: "no", How: "rm -r it"}}
	u.types("destroy-model", "default", "-y", "--force", "--timeout", "3s", "-q")
	u.sees(1, "", "ERROR model \"default\" is removed, but instances of model \"default\" may be left in cloud local: "+
		"no\nrm -r it\n")
	asked("DestroyModel default-uuid force 3s")
}

// The command reads the model when it changes, and not in between.
func TestDestroyModelWatches(t *testing.T) { synctest.Test(t, testDestroyModelWatches) }

func testDestroyModelWatches(t *testing.T) {
	u := newUser(t)
	u.ctrl.add("admin", "default")
	u.ctrl.held = true
	begun := time.Now()
	time.AfterFunc(20*time.Second, func() {
		u.ctrl.held = false
		u.ctrl.tell()
	})
	u.types("destroy-model", "default", "-y", "--wait", "-q")
	u.sees(0, "", "")
	if passed := time.Since(begun); passed != 20*time.Second || u.ctrl.reads != 4 {
		t.Errorf("its end was seen after %v and %d reads, want 20s and 4", passed, u.ctrl.reads)
	}
}

// The removal of a large model takes as long as it takes: with --force, the command gives up when the model has not become
// smaller for a time.
func TestDestroyModelWaitsWhileTheModelShrinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUser(t)
		u.ctrl.add("admin", "default")
		u.ctrl.held = true
		model := &u.ctrl.models[0]
		model.Machines = make([]entity.ModelMachine, 4)
		for n := range 4 {
			time.AfterFunc(time.Duration(n)*3*time.Minute, func() {
				model.Machines = model.Machines[:4-n]
				u.ctrl.tell()
			})
		}
		begun := time.Now()
		u.types("destroy-model", "default", "-y", "--force", "--timeout", "10s", "-q")
		u.sees(1, "", "ERROR gave up after 3m10s without progress: model \"default\" is still being destroyed\nTo see why: juju explain -m default; "+
			"to finish without its agents: juju destroy-model --force default\n")
		if passed := time.Since(begun); passed != 12*time.Minute+10*time.Second {
			t.Errorf("it gave up after %v, want 12m10s: 3m10s after the last machine has gone", passed)
		}
	})
}
