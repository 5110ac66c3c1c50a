package machines_test

import (
	"context"
	"io"
	"regexp"
	"strings"
	"testing"

	"juju/apiserver/client"
	"juju/apiserver/display"
	"juju/cmd/juju/clitest"
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

// On a terminal the table fits its width.
func TestMachinesFitTheTerminal(t *testing.T) {
	t.Parallel()
	m := waittest.Model("0=started")
	m.Machines[0].Status.Message = strings.Repeat("far too long ", 20)
	for _, terminal := range []bool{true, false} {
		u := newUser(t)
		u.Model.Returns.Statuses = []*entity.ModelStatus{m}
		u.Env["TERM"], u.Session.OutTerminal = "xterm", terminal
		u.Types("machines")
		longest := 0
		for line := range strings.Lines(u.Out.String()) {
			longest = max(longest, display.Width(regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(strings.TrimSpace(line), "")))
		}
		if u.Code != 0 || (longest <= 80) != terminal {
			t.Errorf("terminal %v: %d columns:\n%s", terminal, longest, u.Out.String())
		}
	}
}

// Warnings are the same for all machines that are added, and said once. Those that were added before an error are told of, and
// --wait waits for no others.
func TestSeveralMachines(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Model.Returns.Warnings = []string{"constraint tags is ignored"}
	u.Model.Returns.Statuses = []*entity.ModelStatus{waittest.Model("0=pending 1=started 9=pending"), waittest.Model("0=started 1=started 9=pending")}
	u.Types("add-machine", "-n", "2", "--wait")
	if want := "WARNING constraint tags is ignored\ncreated machine 0\ncreated machine 1\n"; u.Code != 0 || !strings.HasPrefix(u.Err.String(), want) ||
		strings.Count(u.Err.String(), "WARNING") != 1 {
		t.Errorf("exit code %d, said %s", u.Code, u.Err.String())
	}
	u.Model.Returns.Warnings = nil
	connect := u.Session.Connect
	u.Session.Connect = func(ctx context.Context) (io.Closer, error) {
		_, err := connect(ctx)
		return &fullModel{u.Model}, err
	}
	u.Types("add-machine", "-n", "3")
	u.Sees(1, "", "created machine 0\n1 of 3 machines were created.\nERROR the cloud is full\n")
	u.Session.Connect = connect
	u.Model.Returns.Warnings = []string{"constraint tags is ignored"}
	u.Types("retry-provisioning", "3")
	u.Sees(0, "", "WARNING constraint tags is ignored\n")
}

// A fullModel takes one machine.
type fullModel struct{ *clitest.FakeModel }

func (f *fullModel) AddMachine(ctx context.Context, args client.MachineArgs) (string, []string, error) {
	id, warnings, err := f.FakeModel.AddMachine(ctx, args)
	if id != "0" {
		err = entity.Errorf(entity.Invalid, "the cloud is full")
	}
	return id, warnings, err
}

// Before a machine is locked for its upgrade, the user is asked.
func TestUpgradeMachineAsks(t *testing.T) {
	t.Parallel()
	const question = "WARNING: The units on machine 3 will run no hooks and no actions until you have\n" +
		"upgraded its operating system to ubuntu@24.04 and completed the upgrade.\n\nContinue (y/N)? \n"
	for answer, want := range map[string]string{"y\n": "Upgrade the operating system of machine 3 now. Then: juju upgrade-machine 3 complete\n",
		"n\n": "ERROR upgrade aborted\n", "": "ERROR upgrade aborted\n"} {
		u := newUser(t)
		u.Session.Stdin = strings.NewReader(answer)
		u.Types("upgrade-machine", "3", "prepare", "noble")
		if code := strings.Count(want, "ERROR"); code == 1 {
			u.Asked()
			u.Sees(1, "", question+want)
		} else {
			u.Asked("PrepareUpgrade 3 ubuntu@24.04 false", "Status")
			u.Sees(0, "", question+want)
		}
	}
}
