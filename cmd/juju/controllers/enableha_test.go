package controllers_test

import (
	"strings"
	"testing"
	"time"

	"juju/cmd/juju/clitest"
	"juju/cmd/juju/store"
	"juju/state/entity"
)

func TestEnableHASaysWhatChanges(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	clitest.NewCheckedController(u)
	u.Types("enable-ha", "-n", "3", "--constraints", "mem=2G")
	u.Sees(0, "maintaining machines: 0\nadding machines: 3, 4\ndemoting machines: 1\n",
		"To remove those that are lost: juju destroy-machine -m controller --force 1\n")
	if len(u.Controller.Calls) != 1 || u.Controller.Calls[0] != `EnableHA 3 "mem=2048M"` {
		t.Errorf("the controller was asked %q", u.Controller.Calls)
	}
	u.Types("enable-ha", "--constraints", "mem")
	if u.Code != 2 || len(u.Controller.Calls) != 1 {
		t.Errorf("invalid constraints: exit code %d, %q", u.Code, u.Controller.Calls)
	}
}

func TestShowController(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	clitest.NewCheckedController(u)
	u.Controller.Nodes = []entity.ControllerNode{
		{Machine: "0", Addresses: []string{"10.0.0.1:17070"}, Version: "1.2.3", Up: true, Leads: true},
		{Machine: "1", Addresses: []string{"10.0.0.2:17070"}, Leads: true, Seen: time.Unix(0, 0)},
		{Machine: "2", Addresses: []string{"10.0.0.3:17070"}, Version: "1.2.4", Commit: "c0ffee", Up: true, Waits: true},
	}
	u.Controller.Binaries.Upgrade = &entity.ControllerUpgrade{To: entity.Binaries{Version: "1.2.4", Commit: "c0ffee"}, By: "admin",
		Began: time.Unix(0, 0), Turn: "0", Changed: []string{"2"},
		Failed: []entity.ControllerUpgradeFailure{{Machine: "1", Error: "no such luck"}}}
	u.Controller.ModelInfos = nil
	u.Controller.Add("admin", "default").Machines = []entity.ModelMachine{{ID: "0"}}
	u.Note(func(c *store.Contents) { c.Controllers["prod"].CACert = "PEM" })
	u.Types("show-controller")
	u.Sees(0, `prod:
    details:
        controller-uuid: u
        api-endpoints:
            - 10.0.0.1:17070
        cloud: elsewhere
        agent-version: 3.6.5
        release: 1.2.3
        ca-cert: PEM
    controller-machines:
        "0":
            api-endpoints:
                - 10.0.0.1:17070
            ha-status: ha-enabled
            ha-primary: true
            release: 1.2.3
        "1":
            api-endpoints:
                - 10.0.0.2:17070
            ha-status: down
            last-seen: "1970-01-01T00:00:00Z"
            upgrade-failure: no such luck
        "2":
            api-endpoints:
                - 10.0.0.3:17070
            ha-status: waiting
            release: 1.2.4
            agent-git-commit: c0ffee
    upgrade:
        release: 1.2.4
        agent-git-commit: c0ffee
        status: in progress
        started-by: admin
        since: "1970-01-01T00:00:00Z"
        upgrading: "0"
        upgraded: ["2"]
    models:
        default:
            model-uuid: default-uuid
            machine-count: 1
            core-count: 0
            unit-count: 3
    current-model: default
    account:
        user: admin
        access: superuser
`, "")
}

func TestMigrateStoreNeedsATarget(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	for _, args := range [][]string{{}, {"--embedded", "--mongo-url", "mongodb://x"}} {
		u.Types(append([]string{"migrate-store"}, args...)...)
		if u.Code != 2 || !strings.HasPrefix(u.Err.String(), "ERROR give either --mongo-url or --embedded\n") {
			t.Errorf("%v: exit code %d, %s", args, u.Code, u.Err.String())
		}
	}
}
