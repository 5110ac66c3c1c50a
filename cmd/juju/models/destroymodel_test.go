package models_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"juju/apiserver/client"
	"juju/cmd/juju/cli"
	"juju/cmd/juju/clitest"
	"juju/state/entity"
)

// While a model is destroyed, what only a user can clear away is said, once each, and once for all units
// what can be done about failed hooks.
func TestDestroyModelSaysWhatWaitsForAUser(t *testing.T) {
	t.Parallel()
	cause := entity.Reason{Of: "unit-web-0", By: entity.ByUser, Text: `unit "web/0": hook failed: "stop"`, Hint: "do this"}
	u := newUser(t)
	also := entity.Reason{Of: "unit-web-1", By: entity.ByUser, Text: `unit "web/1": hook failed: "stop"`, Hint: "do that"}
	machine := entity.Reason{Of: "machine-0", By: entity.ByUser, Text: "instance i is gone", Hint: "give it up"}
	u.Model.Returns.Explain = func() entity.Explanation {
		return entity.Explanation{Reasons: []entity.Reason{cause, also, machine, cause}}
	}
	for _, line := range []string{"destroy-model default -y", "destroy-model default -y --wait=5s"} {
		u.Controller.Add("admin", "default")
		u.Controller.Stays = 3
		u.Types(strings.Fields(line)...)
		want := "Waiting for a user: instance i is gone\n  → give it up\n" +
			"Waiting for a user: unit \"web/0\": hook failed: \"stop\"\nWaiting for a user: unit \"web/1\": hook failed: \"stop\"\n" +
			"  → run the hook of a unit again: juju resolved -m prod:admin/default UNIT; skip it: juju resolved -m prod:admin/default " +
			"--no-retry UNIT; in the whole model, skip every hook that fails: juju destroy-model --lenient prod:admin/default; run no hook " +
			"at all, and leave behind what stop would remove: juju destroy-model --force prod:admin/default\n"
		if said := u.Err.String(); strings.Count(said, want) != 1 {
			t.Errorf("%s: said %s", line, said)
		}
	}
	// Who has used --force is not told to use it.
	u.Controller.Add("admin", "default")
	u.Controller.Stays = 3
	u.Types("destroy-model", "default", "-y", "--force")
	if said := u.Err.String(); !strings.Contains(said, "hook failed") || strings.Contains(said, "--force") {
		t.Errorf("said %s", said)
	}
}

// Another unit whose hook fails is told of, but not again what can be done. When the model is asked on a connection that is
// lost, the next question has another.
func TestDestroyModelSaysWhatCanBeDoneOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUser(t)
		failed := func(unit string) entity.Explanation {
			return entity.Explanation{Reasons: []entity.Reason{{Of: "unit-" + unit, By: entity.ByUser, Text: unit + " failed", Hint: "do"}}}
		}
		u.Model.Returns.Explanations = []entity.Explanation{failed("web-0"), {}, failed("web-1")} // and then errors
		u.Controller.Add("admin", "default")
		u.Controller.Stays = 6
		u.Types("destroy-model", "default", "-y", "--wait")
		said := u.Err.String()
		if strings.Count(said, "Waiting for a user: web-0 failed\n") != 1 || strings.Count(said, "Waiting for a user: web-1 failed\n") != 1 ||
			strings.Count(said, "juju resolved") != 2 || !strings.HasSuffix(said, "Model \"default\" is removed.\n") {
			t.Errorf("said %s", said)
		}
		if u.Model.Opened < 3 {
			t.Errorf("after errors the model was asked on %d connections", u.Model.Opened)
		}
	})
}

// What is to become of storage is said in one way.
func TestDestroyModelStorage(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		flags string
		code  int
		said  string
	}{
		{"--destroy-storage", 0, ""},
		{"--release-storage", 0, "The data of data/0 is kept. To import it into a model once it is released: juju import-filesystem rootfs i data\n"},
		{"--destroy-storage --release-storage", 2, "ERROR --destroy-storage and --release-storage cannot both be specified\nFor usage: juju help destroy-model\n"},
	} {
		u := newUser(t)
		u.Controller.Add("admin", "default")
		u.Model.Returns.Storage = []entity.StorageStatus{{ID: "data/0", Pool: "rootfs", ImportID: "i"}}
		u.Types(append(strings.Fields("destroy-model default -y"), strings.Fields(test.flags)...)...)
		said := u.Err.String()
		if test.code == 0 {
			said = strings.TrimSuffix(said, "Model \"default\" is being destroyed. To follow its progress: juju show-model default\n")
		}
		if u.Code != test.code || said != test.said || (len(u.Controller.Calls) == 0) != (test.code > 0) {
			t.Errorf("%s: exit code %d, said %s; asked %q", test.flags, u.Code, u.Err.String(), u.Controller.Calls)
		}
	}
}

// A lostController is a controller whose connection gets lost when it is asked for the models for a number of times.
type lostController struct {
	*clitest.FakeController
	loses  int
	closed *[]int
	number int // of the connection
}

func (c *lostController) Models(ctx context.Context) ([]client.Model, error) {
	if c.loses--; c.loses == 0 {
		return nil, entity.Errorf(entity.Unavailable, "the connection is lost")
	}
	return c.FakeController.Models(ctx)
}

func (c *lostController) Close() error {
	*c.closed = append(*c.closed, c.number)
	return nil
}

// The wait for the end of a model survives lost connections, which are closed. Users who interrupt it are told that the
// destruction goes on.
func TestDestroyModelReconnects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUser(t)
		u.Controller.Add("admin", "default")
		u.Controller.Stays = 4
		opened, closed := 0, []int{}
		u.Session.ConnectController = func(context.Context, cli.Target) (io.Closer, error) {
			opened++
			return &lostController{u.Controller, 2, &closed, opened}, nil
		}
		u.Types("destroy-model", "default", "-y", "--wait", "-q")
		u.Sees(0, "", "")
		if opened < 4 || len(closed) != opened || closed[0] != 2 || closed[1] != 3 {
			t.Errorf("of %d connections were closed, in this order: %v", opened, closed)
		}
		u.Controller.Add("admin", "default")
		u.Controller.Held = true
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel)
		u.Session.ConnectController = func(context.Context, cli.Target) (io.Closer, error) { return u.Controller, nil }
		u.TypesUntil(ctx, "destroy-model", "default", "-y", "--wait", "-q")
		u.Sees(1, "", "ERROR interrupted\nModel \"default\" is still being destroyed. To check it: juju models\n")
	})
}
