package models_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"juju/cmd/juju/clitest"
	"juju/cmd/juju/store"
	"juju/state/entity"
)

func TestAddModel(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Controller.Add("admin", "default")
	u.Types("add-model", "staging")
	u.Sees(0, "", "Model \"staging\" is created on controller \"prod\" and selected.\n")
	if got := u.Selected(); got != "prod:admin/staging" {
		t.Errorf("selected is %q", got)
	}
	u.Types("create-model", "prod:other", "--no-switch", "--config", "default-series=noble")
	u.Sees(0, "", "Model \"other\" is created on controller \"prod\".\n")
	if got := u.Selected(); got != "prod:admin/staging" {
		t.Errorf("selected is %q", got)
	}
	if got := fmt.Sprint(u.Controller.Calls); got != "[CreateModel staging CreateModel other map[default-series:noble]]" {
		t.Errorf("asked %s", got)
	}
	u.Types("add-model", "his", "--owner", "bob")
	u.Sees(0, "", "Model \"his\" is created on controller \"prod\" and selected.\n")
	if got, calls := u.Selected(), u.Controller.Calls; got != "prod:bob/his" || calls[len(calls)-1] != "CreateModel his {   bob}" {
		t.Errorf("selected is %q, asked %q", got, calls)
	}
	for line, want := range map[string]string{
		"add-model x --owner b@d": "ERROR invalid user name \"b@d\"\n",
		"add-model":               "ERROR no model specified\n",
		"add-model a b c":         "ERROR unrecognized args: [\"b\" \"c\"]\n",
		"add-model Big": "ERROR \"Big\" is not a valid name: model names may only contain lowercase " +
			"letters, digits and hyphens\n",
		"add-model a:b -c prod":         "ERROR --controller prod does not match \"a:b\"\n",
		"models x":                      "ERROR unrecognized args: [\"x\"]\n",
		"models --format xml":           "ERROR unknown format \"xml\"\n",
		"show-model a b":                "ERROR unrecognized args: [\"b\"]\n",
		"show-model a --format oneline": "ERROR unknown format \"oneline\"\n",
		"switch a -c b":                 "ERROR unrecognized args: [\"a\"]: --controller and --model say what to select\n",
		"switch -m a:b -c c":            "ERROR --model a:b and --controller c both name a controller\n",
		"switch a b":                    "ERROR unrecognized args: [\"b\"]\n",
	} {
		u.Types(strings.Fields(line)...)
		if u.Code != 2 || !strings.HasPrefix(u.Err.String(), want) {
			t.Errorf("%s: exit code %d, said %q, want %q", line, u.Code, u.Err.String(), want)
		}
	}
	u.Types("add-model", "often", "--config", "update-status-hook-interval=10s")
	u.Sees(0, "", "WARNING every unit of the model runs update-status each 10s: below 1m0s is for tests\nModel \"often\" is created on controller \"prod\" and selected.\n")
	u.Session.Embedded = true
	u.Types("add-model", "elsewhere")
	u.Sees(0, "", "Model \"elsewhere\" is created on controller \"prod\". To use it, add -m elsewhere to a command; to reach its machines with juju ssh, "+
		"add your key: juju add-ssh-key.\n")
	u.Session.Embedded = false
	u.Controller.Err = entity.Errorf(entity.AlreadyExists, "cannot add model %q: model %q for admin already exists", "staging",
		"staging")
	u.Types("add-model", "staging")
	u.Sees(1, "", "ERROR cannot add model \"staging\": model \"staging\" for admin already exists\n")
}

func TestModels(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Controller.Add("admin", "controller").Machines = []entity.ModelMachine{{ID: "0"}}
	u.Controller.Add("admin", "default")
	u.Controller.Add("bob", "his").Status.Status = "destroying"
	u.Types("models")
	u.Sees(0, `Controller: prod

Model       Cloud  Status      Machines  Units  Access
controller  local  available   1         3      admin
default*    local  available   0         3      admin
bob/his     local  destroying  0         3      admin
`, "")
	u.Types("models", "--uuid", "--all", "-c", "prod")
	if !strings.Contains(u.Out.String(), "\ndefault*    default-uuid     local  available   0         3      admin\n") {
		t.Errorf("printed %s", u.Out.String())
	}
	u.Types("list-models", "--format", "yaml")
	if !strings.Contains(u.Out.String(), "current-model: default\n") ||
		!strings.Contains(u.Out.String(), "  - name: bob/his\n") ||
		!strings.Contains(u.Out.String(), "    machine-count: 1\n") {
		t.Errorf("printed %s", u.Out.String())
	}
	last := &u.Controller.ModelInfos[len(u.Controller.ModelInfos)-1]
	last.Status.Since, last.CloudRegion, last.Credential = clitest.SomeTime, "default", "ops"
	u.Types("show-model", "bob/his")
	for _, want := range []string{"\n    region: default\n    type: local\n", "\n        since: \"2026-03-01T12:00:00Z\"\n",
		"\n    credential:\n        name: ops\n        owner: bob\n        cloud: local\n"} {
		if !strings.Contains(u.Out.String(), want) {
			t.Errorf("no %q in %s", want, u.Out.String())
		}
	}
	want := "bob/his:\n    name: bob/his\n    short-name: his\n    model-uuid: his-uuid\n"
	if !strings.HasPrefix(u.Out.String(), want) ||
		!strings.Contains(u.Out.String(), "current: destroying\n") {
		t.Errorf("printed %s", u.Out.String())
	}
	for _, line := range []string{"show-model", "show-model -m default", "show-model prod:default"} {
		u.Types(strings.Fields(line)...)
		if !strings.HasPrefix(u.Out.String(), "default:\n    name: admin/default\n") {
			t.Errorf("%s printed %s", line, u.Out.String())
		}
	}
	u.Types("show-model", "nope")
	u.Sees(1, "", "ERROR model \"prod:nope\" not found\nAvailable models: controller, default, bob/his\n")
	// A selected model that is gone is unselected.
	u.Controller.ModelInfos = u.Controller.ModelInfos[:1]
	u.Types("models")
	if got := u.Selected(); got != "prod:" {
		t.Errorf("selected is %q", got)
	}
}

func TestSetCredential(t *testing.T) {
	t.Parallel()
	u := newUser(t).WithModels()
	u.Types("set-credential", "rack")
	u.Sees(2, "", "ERROR both cloud and credential name are needed\nFor usage: juju help set-credential\n")
	u.Types("set-credential", "rack", "ops")
	u.Sees(0, "", "Model \"default\" uses credential \"ops\" of cloud \"rack\".\n")
	u.Types("set-credential", "-m", "eve/shared", "rack", "ops")
	u.Sees(0, "", "Model \"eve/shared\" uses credential \"ops\" of cloud \"rack\".\n")
	if got := strings.Join(u.Controller.Calls, ", "); got != "SetModelCredential default-uuid rack ops, SetModelCredential shared-uuid rack ops" {
		t.Errorf("asked %s", got)
	}
	u.Controller.Err = entity.Errorf(entity.NotFound, "no ops")
	u.Types("set-credential", "rack", "ops")
	u.Sees(1, "", "ERROR no ops\n")
}

func TestSwitch(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Note(func(c *store.Contents) {
		c.Controllers["test"] = &store.Controller{UUID: "v", Cloud: "elsewhere", User: "admin", Model: "admin/work",
			Models: map[string]string{"admin/work": "w"}}
	})
	u.Controller.Add("admin", "new")
	u.Controller.Add("admin", "test")
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
		u.Types(strings.Fields(step.line)...)
		u.Sees(0, step.out, step.says)
	}
	u.Types("switch", "nope")
	u.Sees(1, "", "ERROR model \"prod:nope\" not found\nAvailable models: new, test\n")
	u.Types("switch", "nope:new")
	u.Sees(1, "", "ERROR controller \"nope\" not found\nKnown controllers: prod, test\n")
	u.Note(func(c *store.Contents) { c.Current = "" })
	u.Types("switch")
	if u.Code != 1 || !strings.HasPrefix(u.Err.String(), "ERROR no currently specified model\n") {
		t.Errorf("said %q", u.Err.String())
	}
}

func TestDestroyModel(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Controller.Add("admin", "controller")
	u.Controller.Add("admin", "default").Machines = []entity.ModelMachine{{ID: "0"}}
	asked := func(want string) {
		t.Helper()
		if got := strings.Join(u.Controller.Calls, ", "); got != want {
			t.Errorf("asked %q, want %q", got, want)
		}
		u.Controller.Calls = nil
	}
	const question = "This destroys model \"default\" with all its services and machines (1),\n" +
		"and removes all their data. Continue? [y/N] "
	u.Session.Stdin = strings.NewReader("n\n")
	u.Types("destroy-model", "default")
	u.Sees(1, "", question+"\nERROR nothing was destroyed\nTo destroy it without confirmation: juju destroy-model "+
		"default -y\n")
	asked("")
	u.Types("destroy-model", "controller", "-y")
	u.Sees(1, "", "ERROR \"controller\" is a controller; use 'juju destroy-controller' to destroy it\n")
	u.Types("destroy-model", "nope", "-y")
	u.Sees(1, "", "ERROR model \"prod:nope\" not found\nAvailable models: controller, default\n")
	u.Types("destroy-model", "default", "-y", "--timeout", "3s")
	u.Sees(2, "", "ERROR --timeout is only used with --force\nFor usage: juju help destroy-model\n")
	asked("")
	u.Controller.Err = entity.Errorf(entity.OperationBlocked, "keep it")
	u.Types("destroy-model", "default", "--no-prompt")
	u.Sees(1, "", "ERROR keep it\n")
	u.Controller.Err, u.Controller.Stays, u.Controller.Calls = nil, 10, nil
	u.Session.Stdin = strings.NewReader("y\n")
	u.Types("destroy-model", "default")
	u.Sees(0, "", question+"\nModel \"default\" is being destroyed. To follow its progress: juju show-model default\n")
	asked("DestroyModel default-uuid plain 0s")
	u.Controller.Stays = 2
	u.Types("destroy-model", "prod:default", "-y", "--lenient", "--wait", "-q")
	u.Sees(0, "", "")
	asked("DestroyModel default-uuid lenient 0s")
	if got := u.Selected(); got != "prod:" {
		t.Errorf("selected is %q", got)
	}
	u.Controller.Add("admin", "default")
	u.Controller.Stays = 1
	u.Controller.Leftovers = []entity.Leftover{{ID: "another"},
		{ID: "default-uuid", What: "instances of model \"default\"", Where: "cloud local", Why: "no", How: "rm -r it"}}
	u.Types("destroy-model", "default", "-y", "--force", "--timeout", "3s", "-q")
	u.Sees(1, "", "ERROR model \"default\" is removed, but instances of model \"default\" may be left in cloud local: "+
		"no\nrm -r it\n")
	asked("DestroyModel default-uuid force 3s")
}

// The command reads the model when it changes, and not in between.
func TestDestroyModelWatches(t *testing.T) { synctest.Test(t, testDestroyModelWatches) }

func testDestroyModelWatches(t *testing.T) {
	u := newUser(t)
	u.Controller.Add("admin", "default")
	u.Controller.Held = true
	begun := time.Now()
	time.AfterFunc(20*time.Second, func() { u.Controller.Change(func() { u.Controller.Held = false }) })
	u.Types("destroy-model", "default", "-y", "--wait", "-q")
	u.Sees(0, "", "")
	if passed := time.Since(begun); passed != 20*time.Second || u.Controller.Reads != 4 {
		t.Errorf("its end was seen after %v and %d reads, want 20s and 4", passed, u.Controller.Reads)
	}
}

// The removal of a large model takes as long as it takes: with --force, the command gives up when the model has not become
// smaller for a time.
func TestDestroyModelWaitsWhileTheModelShrinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUser(t)
		u.Controller.Add("admin", "default")
		u.Controller.Held = true
		model := &u.Controller.ModelInfos[0]
		model.Machines = make([]entity.ModelMachine, 4)
		for n := range 4 {
			time.AfterFunc(time.Duration(n)*3*time.Minute, func() {
				u.Controller.Change(func() { model.Machines = model.Machines[:4-n] })
			})
		}
		begun := time.Now()
		u.Types("destroy-model", "default", "-y", "--force", "--timeout", "10s", "-q")
		u.Sees(1, "", "ERROR gave up after 3m10s without progress: model \"default\" is still being destroyed\nTo see why: juju explain -m default\n")
		if passed := time.Since(begun); passed != 12*time.Minute+10*time.Second {
			t.Errorf("it gave up after %v, want 12m10s: 3m10s after the last machine has gone", passed)
		}
	})
}
