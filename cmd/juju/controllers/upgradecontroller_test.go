package controllers_test

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"juju/agent"
	"juju/agent/binaries/pack"
	"juju/cmd/juju/store"
	"juju/state/entity"
)

func TestUpgradeModel(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Controller.Add("admin", "default")
	u.Controller.Binaries.Version = "0.2.0"
	u.Types("upgrade-juju", "--dry-run")
	u.Sees(0, "", "best version:\n    0.2.0\nupgrade to this version by running\n    juju upgrade-model\n")
	u.Types("upgrade-juju")
	u.Sees(0, "", "started upgrade to 0.2.0\nThe agents of model \"default\" are being upgraded. "+
		"To see their versions: juju status --format yaml\n")
	u.Controller.Binaries.Commit = "0123456789ab-dirty"
	u.Types("upgrade-model", "-m", "prod:default", "--agent-version", "0.2.0")
	u.Sees(0, "", "started upgrade to 0.2.0 (0123456789ab-dirty)\nThe agents of model \"default\" are being upgraded. "+
		"To see their versions: juju status --format yaml\n")
	u.Types("upgrade-model", "-m", "prod:default", "--agent-version", "0.2.0", "-q")
	u.Sees(0, "", "")
	u.Controller.Err = entity.Errorf(entity.AlreadyExists, "no upgrades available")
	u.Types("upgrade-model")
	u.Sees(0, "", "no upgrades available\n")
	u.Controller.Binaries.Version = "0.0.9"
	u.Types("upgrade-model")
	u.Sees(0, "", "no upgrades available\n"+
		"The controller has 0.0.9, and this client is 0.1.0. To upgrade the controller first: juju upgrade-controller\n")
	want := []string{`UpgradeModel default-uuid "" true`, `UpgradeModel default-uuid "" false`,
		`UpgradeModel default-uuid "0.2.0" false`, `UpgradeModel default-uuid "0.2.0" false`, `UpgradeModel default-uuid "" false`, `UpgradeModel default-uuid "" false`}
	if !slices.Equal(u.Controller.Calls, want) {
		t.Errorf("asked %q", u.Controller.Calls)
	}
	u.Types("upgrade-model", "0.2.0")
	u.Sees(2, "", "ERROR unrecognized args: [\"0.2.0\"]\nFor usage: juju help upgrade-model\n")
}

// The controller's own model belongs to the user who has bootstrapped. Any superuser upgrades it, and a
// model of another user with a name like it is no controller.
func TestASuperuserWhoHasNotBootstrappedUpgradesTheController(t *testing.T) {
	installBinaries(t)
	u := newUser(t)
	u.Note(func(c *store.Contents) { c.Controllers["prod"].User = "bob" })
	u.Controller.Binaries.Version = "0.1.0"
	u.Controller.Add("bob", "default")
	u.Controller.Add("alice", "controller")
	const would = "best version:\n    0.1.0\nupgrade to this version by running\n    juju upgrade-controller\n"
	for _, command := range [][]string{{"upgrade-controller"}, {"upgrade-juju", "-m", "alice/controller"}} {
		u.Types(append(command, "--dry-run")...)
		u.Sees(0, "", would)
	}
	u.Types("upgrade-juju", "--dry-run", "-m", "controller")
	u.Sees(1, "", "ERROR model \"prod:controller\" not found\nAvailable models: alice/controller, default\n")
	want := []string{`UpgradeModel controller-uuid "0.1.0" true`, `UpgradeModel controller-uuid "0.1.0" true`}
	if !slices.Equal(u.Controller.Calls, want) {
		t.Errorf("asked %q", u.Controller.Calls)
	}
}

// A controller that is newer, or another version than this program's, is refused before anything is
// sent. upgrade-model does the same for the controller's own model.
func TestUpgradeControllerRefusals(t *testing.T) {
	t.Parallel()
	for name, command := range map[string][]string{
		"upgrade-controller": {"upgrade-controller"}, "upgrade-model": {"upgrade-juju", "-m", "controller"},
	} {
		u := newUser(t)
		u.Controller.Add("admin", "controller")
		u.Controller.Binaries.Version = "0.2.0"
		u.Types(command...)
		u.Sees(1, "", "ERROR cannot upgrade controller \"prod\" to 0.1.0: its version is 0.2.0, and a downgrade is not supported\n"+
			"Install juju 0.2.0 on this client.\n")
		u.Types(append(command, "--agent-version", "0.3.0")...)
		u.Sees(1, "", "ERROR no matching agent versions available\n"+
			"A controller is upgraded to the version of the client, which is juju 0.1.0.\n")
		u.Types(append(command, "--agent-version", "new")...)
		u.Sees(2, "", "ERROR invalid version \"new\"\nFor usage: juju help "+name+"\n")
		if len(u.Controller.Calls) > 0 {
			t.Errorf("asked %q", u.Controller.Calls)
		}
	}
}

// installBinaries installs what a controller is upgraded to, and returns it.
func installBinaries(t *testing.T) entity.Binaries {
	dir := t.TempDir()
	for _, name := range pack.Names {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
	sum, err := pack.WriteArchive(io.Discard, dir, pack.Names...)
	if err != nil {
		t.Fatal(err)
	}
	return entity.Binaries{Version: agent.Version, SHA256: sum}
}

// The upgrade of several controllers is followed until all have changed, or it is cancelled. One that was begun before is
// followed too, from whichever controller.
func TestUpgradeOfSeveralControllers(t *testing.T) {
	want := installBinaries(t)
	u := newUser(t)
	u.Controller.Add("admin", "controller")
	old := entity.Binaries{Version: "0.0.9"}
	at := func(runs entity.Binaries, change func(*entity.ControllerUpgrade)) entity.ControllerBinaries {
		upgrade := &entity.ControllerUpgrade{To: want}
		change(upgrade)
		return entity.ControllerBinaries{Binaries: runs, Upgrade: upgrade}
	}
	ended := func(up *entity.ControllerUpgrade) { up.Ended = time.Unix(1, 0) }
	cancelled := at(old, func(up *entity.ControllerUpgrade) {
		up.Ended, up.Cancelled = time.Unix(1, 0), "controller 1: no such luck"
	})
	going := at(want, func(up *entity.ControllerUpgrade) {
		up.Turn, up.Changed = "0", []string{"1"}
		up.Failed = []entity.ControllerUpgradeFailure{{Machine: "2", Error: "too full"}}
	})
	for name, test := range map[string]struct {
		first entity.ControllerBinaries
		next  []entity.ControllerBinaries
		calls int
		code  int
		says  []string
	}{
		"it is cancelled": {entity.ControllerBinaries{Binaries: old}, []entity.ControllerBinaries{cancelled}, 1, 1, []string{
			`ERROR cannot upgrade controller "prod" to 0.1.0: controller 1: no such luck`,
			"It has reverted, and the upgrade of the others is cancelled."}},
		"again": {cancelled, []entity.ControllerBinaries{going, at(old, ended), at(want, ended)}, 1, 0, []string{
			`Controller "prod" is upgraded to 0.1.0`}},
		"it goes on": {going, []entity.ControllerBinaries{going, at(want, ended)}, 1, 0, []string{
			`Controller "prod" is upgraded to 0.1.0`}},
		"another controller has other binaries": {entity.ControllerBinaries{Binaries: want, Mixed: true},
			[]entity.ControllerBinaries{at(want, ended)}, 1, 0, []string{`Controller "prod" is upgraded to 0.1.0`}},
		"all have them": {at(want, ended), nil, 0, 0, []string{"no upgrades available"}},
	} {
		u.Controller.Binaries, u.Controller.Next, u.Controller.Calls = test.first, test.next, nil
		u.Types("upgrade-controller")
		for _, says := range test.says {
			if !strings.Contains(u.Err.String(), says) {
				t.Errorf("%s: it says %q, not %q", name, u.Err.String(), says)
			}
		}
		if u.Code != test.code || len(u.Controller.Calls) != test.calls {
			t.Errorf("%s: exit code %d, asked %q", name, u.Code, u.Controller.Calls)
		}
	}
}
