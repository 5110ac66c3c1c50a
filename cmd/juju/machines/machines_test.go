package machines_test

import (
	"regexp"
	"strings"
	"testing"

	"juju/cmd/juju/wait/waittest"
	"juju/state/entity"
)

// Machines are listed and shown without the services.
func TestMachines(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	m := waittest.Model("web/0=active web=active 0=started 1=started")
	m.Machines[0].Hardware, m.Machines[0].InstanceID = "arch=amd64 cores=2 availability-zone=east", "inst-0"
	m.Machines[0].Containers = []entity.MachineStatus{{ID: "0/lxd/0", InstanceID: "inst-1"}}
	u.Model.Returns.Statuses = []*entity.ModelStatus{m}
	u.Types("machines")
	if u.Code != 0 || strings.Contains(u.Out.String(), "web") ||
		!regexp.MustCompile(`(?s)^Machine  State .*\n0  +started  +inst-0  +east\n0/lxd/0 .*\n1 `).MatchString(u.Out.String()) {
		t.Errorf("exit code %d:\n%s", u.Code, u.Out.String())
	}
	u.Types("show-machine", "0")
	for _, want := range []string{"model: default\n", "hardware: arch=amd64 cores=2 availability-zone=east\n", "0/lxd/0"} {
		if u.Code != 0 || !strings.Contains(u.Out.String(), want) || strings.Contains(u.Out.String(), `"1"`) {
			t.Errorf("exit code %d, want %q:\n%s", u.Code, want, u.Out.String())
		}
	}
	u.Types("show-machine", "0/lxd/0", "--format", "json")
	if u.Code != 0 || strings.Contains(u.Out.String(), "inst-0") || !strings.Contains(u.Out.String(), "inst-1") {
		t.Errorf("exit code %d:\n%s", u.Code, u.Out.String())
	}
	u.Types("show-machine", "0", "7")
	u.Sees(1, "", "ERROR machine 7 not found\nTo list the machines: juju machines\n")
	u.Types("show-machine", "web/0")
	u.Sees(2, "", "ERROR invalid machine \"web/0\"\nFor usage: juju help show-machine\n")
	u.Model.Returns.Statuses = []*entity.ModelStatus{{Model: m.Model}}
	u.Types("machines")
	if u.Code != 0 || u.Err.String() != "Model \"default\" has no machines.\n" {
		t.Errorf("exit code %d, said %q", u.Code, u.Err.String())
	}
}
