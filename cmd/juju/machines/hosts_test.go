package machines_test

import (
	"fmt"
	"strings"
	"testing"

	"juju/cmd/juju/machines"
	"juju/cmd/juju/store"
	"juju/state/entity"
)

// manual returns a machine on a user's host.
func manual(id, host string, status entity.StatusWord) entity.MachineStatus {
	return entity.MachineStatus{ID: id, InstanceID: entity.ManualInstance(host), Status: entity.Status{Status: status}}
}

// When a controller is destroyed, the agents on users' hosts are told to go, and the user is told of those that stay.
func TestLeavingHosts(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Controller.Add("admin", "default")
	named := manual("0", "10.0.0.1", entity.StatusStarted)
	named.SSH = "db:2222"
	all := []entity.MachineStatus{{ID: "4", InstanceID: "i-4"}, named, manual("1", "h1", entity.StatusDown), manual("2", "h2", entity.StatusStarted),
		manual("10", "h10", entity.StatusStarted)}
	u.Model.Returns.Statuses = []*entity.ModelStatus{{Machines: all}}
	ctx := t.Context()
	if h, err := machines.FindHosts(ctx, u.Session, "prod", nil); err != nil || h.Names() != "" {
		t.Errorf("of an unknown controller: %v", err)
	}
	if h, err := machines.FindHosts(ctx, u.Session, "prod", &store.Controller{Cloud: "local"}); err != nil || h.Names() != "" {
		t.Errorf("of a controller that takes none: %v", err)
	}
	u.Asked()
	find := func() *machines.Hosts {
		t.Helper()
		h, err := machines.FindHosts(ctx, u.Session, "prod", &store.Controller{Cloud: "elsewhere"})
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	h := find()
	if got := h.Names(); got != "db:2222, h1, h2, h10" {
		t.Errorf("the hosts are %s", got)
	}
	command := func(id string) string {
		return fmt.Sprintf("To remove it, run there as root: /var/lib/juju/tools/machine-%s/jujud uninstall /var/lib/juju/agents/machine-%[1]s\n", id)
	}
	says := func(want string) {
		t.Helper()
		if got := u.Err.String(); got != want {
			t.Errorf("it says\n%s, want\n%s", got, want)
		}
		u.Err.Reset()
	}
	h.NoteDisconnected()
	says("The agent of machine 1 on host h1 is disconnected. It is removed when it reconnects to the controller. To remove it at once, run " +
		strings.TrimPrefix(command("1"), "To remove it, run "))

	// Machine 2 can't be destroyed, machine 10 was just destroyed, and the agent of machine 0 goes later.
	u.Model.Calls = nil
	u.Model.Returns.Errs = []error{nil, nil, entity.Errorf(entity.InUse, "it is in use"), entity.Errorf(entity.NotFound, "it is gone")}
	u.Model.Returns.Statuses = []*entity.ModelStatus{{Machines: all[:4]}, {Machines: all[2:4]}}
	h.Leave(ctx)
	says("The agent of machine 1 is still on host h1. " + command("1") +
		"The agent of machine 2 is still on host h2 (it is in use). " + command("2"))
	u.Asked("DestroyMachines with force after 0s [0 1 2 10]", "Status", "Status")

	u.Model.Returns.Errs = nil
	u.Model.Returns.Statuses = []*entity.ModelStatus{{Machines: all[1:2]}}
	h = find()
	u.Model.Returns.Err = entity.Errorf(entity.Unavailable, "no answer")
	h.Leave(ctx)
	says("The agent of machine 0 is still on host db:2222 (no answer). " + command("0"))

	u.Model.Returns.Err = nil
	u.Model.Returns.Statuses = []*entity.ModelStatus{{Machines: []entity.MachineStatus{manual("0;reboot", "h", entity.StatusStarted)}}}
	if _, err := machines.FindHosts(ctx, u.Session, "prod", &store.Controller{Cloud: "elsewhere"}); err == nil ||
		err.Error() != `it returned the invalid machine id "0;reboot"` {
		t.Errorf("an id that would be part of a command: %v", err)
	}
}
