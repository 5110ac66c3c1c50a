package controllers_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/clitest"
	"juju/cmd/juju/store"
	"juju/state/entity"
)

// onLXD is a user whose controller is on LXD, with two hosts in its model: the agent of the second is
// away.
func onLXD(t *testing.T) (*clitest.User, *entity.ModelStatus) {
	u := newUser(t)
	u.Note(func(c *store.Contents) { c.Controllers["prod"].Cloud = "lxd" })
	u.Controller.Add("admin", "default")
	started, down := entity.Status{Status: entity.StatusStarted}, entity.Status{Status: entity.StatusDown}
	return u, &entity.ModelStatus{Machines: []entity.MachineStatus{
		{ID: "0", InstanceID: "juju-0", Status: started},
		{ID: "1", InstanceID: "manual:db", SSH: "root@db", Status: started},
		{ID: "2", InstanceID: "manual:old", Status: down},
	}}
}

const ofTwo = "The agent of machine 2 is still on host old. To remove it, run there as root: " +
	"/var/lib/juju/tools/machine-2/jujud uninstall /var/lib/juju/agents/machine-2\n"

// Before a controller goes, the agents leave the hosts that users have added.
func TestDestroyEnvironmentTakesItsAgentsOffHosts(t *testing.T) {
	t.Parallel()
	u, status := onLXD(t)
	gone := &entity.ModelStatus{Machines: status.Machines[:1]}
	u.Model.Returns.Statuses = []*entity.ModelStatus{status, status, {Machines: status.Machines[:2]}, gone}
	u.Types("destroy-environment", "prod", "-y")
	u.Sees(0, "", "Removing the agents from your hosts: root@db, old\n"+ofTwo+
		"Destroying controller \"prod\" and everything in it\nController \"prod\" is destroyed.\n")
	u.Asked("Status", "DestroyMachines with force after 0s [1 2]", "Status", "Status", "Status")
}

// Its user hears of the hosts before they decide.
func TestDestroyEnvironmentAsksAboutHosts(t *testing.T) {
	t.Parallel()
	u, status := onLXD(t)
	u.Model.Returns.Statuses = []*entity.ModelStatus{status}
	u.Session.Stdin = strings.NewReader("n\n")
	u.Types("destroy-environment", "prod")
	const asks = "Its agents are removed from these hosts: root@db, old.\n"
	if !strings.Contains(u.Err.String(), asks) || u.Code != 1 {
		t.Errorf("code %d: %s", u.Code, u.Err.String())
	}
	u.Asked("Status")
}

// What the controller does not do, its user can do on the hosts.
func TestDestroyEnvironmentNamesTheAgentsThatStay(t *testing.T) {
	t.Parallel()
	u, status := onLXD(t)
	u.Model.Returns.Statuses = []*entity.ModelStatus{status}
	u.Model.Returns.Errs = []error{errors.New("no")}
	u.Types("destroy-environment", "prod", "-y")
	if said := u.Err.String(); u.Code != 0 ||
		!strings.Contains(said, "The agent of machine 1 is still on host root@db (no). ") {
		t.Errorf("code %d: %s", u.Code, said)
	}

	u, _ = onLXD(t)
	u.Session.ConnectController = func(context.Context, cli.Target) (io.Closer, error) { return nil, errors.New("lost") }
	u.Types("destroy-environment", "prod", "-y")
	if said := u.Err.String(); u.Code != 0 || !strings.HasPrefix(said, `Cannot list the hosts that were added to `+
		"controller \"prod\" (lost). To remove an agent, run on its host as root: /var/lib/juju/tools/machine-*/jujud uninstall "+
		"/var/lib/juju/agents/machine-*\n") {
		t.Errorf("code %d: %s", u.Code, said)
	}
}

// An agent whose machine can't be destroyed does not keep the others from leaving.
func TestDestroyEnvironmentWaitsForTheOtherHosts(t *testing.T) {
	t.Parallel()
	u, status := onLXD(t)
	status.Machines[2].Status = status.Machines[1].Status
	u.Model.Returns.Statuses = []*entity.ModelStatus{status, status, {Machines: status.Machines[:2]}}
	u.Model.Returns.Errs = []error{errors.New("no"), nil}
	u.Types("destroy-environment", "prod", "-y")
	u.Sees(0, "", "Removing the agents from your hosts: root@db, old\n"+
		"The agent of machine 1 is still on host root@db (no). To remove it, run there as root: "+
		"/var/lib/juju/tools/machine-1/jujud uninstall /var/lib/juju/agents/machine-1\n"+
		"Destroying controller \"prod\" and everything in it\nController \"prod\" is destroyed.\n")
	u.Asked("Status", "DestroyMachines with force after 0s [1 2]", "Status", "Status")

	// One that someone else has removed meanwhile has left.
	u, status = onLXD(t)
	u.Model.Returns.Statuses = []*entity.ModelStatus{status, {Machines: status.Machines[:1]}}
	u.Model.Returns.Errs = []error{entity.Errorf(entity.NotFound, "machine 1 not found"), nil}
	u.Types("destroy-environment", "prod", "-y")
	if said := u.Err.String(); u.Code != 0 || strings.Contains(said, "machine 1") || !strings.Contains(said, ofTwo) {
		t.Errorf("code %d: %s", u.Code, said)
	}
}

// A model that can't be reached any more leaves all its hosts.
func TestDestroyEnvironmentNamesTheHostsOfAModelThatIsAway(t *testing.T) {
	t.Parallel()
	u, status := onLXD(t)
	u.Model.Returns.Statuses = []*entity.ModelStatus{status}
	connect, n := u.Session.Connect, 0
	u.Session.Connect = func(ctx context.Context) (io.Closer, error) {
		if n++; n > 1 {
			return nil, errors.New("lost")
		}
		return connect(ctx)
	}
	u.Types("destroy-environment", "prod", "-y")
	for _, want := range []string{"The agent of machine 1 is still on host root@db (lost). ",
		"The agent of machine 2 is still on host old (lost). "} {
		if said := u.Err.String(); u.Code != 0 || !strings.Contains(said, want) {
			t.Errorf("code %d: %q is not in %s", u.Code, want, said)
		}
	}
}

// Users run what is said about hosts as root, so a controller can't put what it likes there.
func TestDestroyEnvironmentDistrustsIDs(t *testing.T) {
	t.Parallel()
	u, status := onLXD(t)
	status.Machines[1].ID = "1; reboot"
	u.Model.Returns.Statuses = []*entity.ModelStatus{status}
	u.Types("destroy-environment", "prod", "-y")
	const want = `Cannot list the hosts that were added to controller "prod" (it returned the invalid machine id "1; reboot"). `
	if said := u.Err.String(); u.Code != 0 || !strings.HasPrefix(said, want) || strings.Contains(said, "machine-1; reboot") {
		t.Errorf("code %d: %s", u.Code, said)
	}
}
