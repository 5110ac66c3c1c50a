package controllers_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"juju/cmd/juju/cli"
	"juju/state/entity"
)

// Storage that is to be kept, and that the cloud has not released yet, is not destroyed with the rest.
func TestDestroyEnvironmentKeepsStorageThatIsBeingReleased(t *testing.T) {
	t.Parallel()
	u, _ := onLXD(t)
	u.Model.Returns.Statuses = []*entity.ModelStatus{{}}
	u.Model.Returns.Storage = []entity.StorageStatus{{ID: "data/0", Life: entity.Dying}, {ID: "data/1", Life: entity.Dying, Release: true}}
	u.Types("destroy-environment", "prod", "-y", "--destroy-storage")
	u.Sees(1, "", "ERROR cannot destroy the storage of controller \"prod\": storage that is to be kept is not released yet: "+
		"data/1 of model admin/default\nWait until juju storage no longer lists it. To see what it waits for: juju explain "+
		"STORAGE; to keep all storage: juju destroy-environment prod --release-storage\n")
	u.Asked("Storage")

	u.Types("destroy-environment", "prod", "-y", "--release-storage")
	u.Sees(0, "", "Destroying controller \"prod\" and everything in it\nController \"prod\" is destroyed.\n")

	u, _ = onLXD(t)
	u.Model.Returns.Statuses = []*entity.ModelStatus{{}}
	u.Model.Returns.Storage = []entity.StorageStatus{{ID: "data/0", Life: entity.Dying}}
	u.Types("destroy-environment", "prod", "-y", "--destroy-storage")
	u.Sees(0, "", "Destroying controller \"prod\" and everything in it\nController \"prod\" is destroyed.\n")

	// A controller that does not answer is destroyed all the same.
	u, _ = onLXD(t)
	u.Session.ConnectController = func(context.Context, cli.Target) (io.Closer, error) { return nil, errors.New("lost") }
	u.Types("destroy-environment", "prod", "-y", "--destroy-storage")
	if said := u.Err.String(); u.Code != 0 ||
		!strings.HasPrefix(said, "Cannot determine whether controller \"prod\" has storage to keep (lost): all storage is destroyed.\n") {
		t.Errorf("code %d: %s", u.Code, said)
	}
}

// A model that is destroyed with force takes its agents off hosts. Its user hears which hosts these are, and
// which agents are away.
func TestDestroyModelNamesHosts(t *testing.T) {
	t.Parallel()
	u, status := onLXD(t)
	u.Model.Returns.Statuses = []*entity.ModelStatus{status}
	u.Session.Stdin = strings.NewReader("y\n")
	u.Types("destroy-model", "default", "--force")
	const asks = "Its agents are removed from these hosts: root@db, old.\n"
	const away = "The agent of machine 2 on host old is disconnected. It is removed when it reconnects to the controller. To " +
		"remove it at once, run there as root: /var/lib/juju/tools/machine-2/jujud uninstall /var/lib/juju/agents/machine-2\n"
	if said := u.Err.String(); u.Code != 0 || !strings.Contains(said, asks) || !strings.Contains(said, away) ||
		strings.Contains(said, "agent of machine 1 ") {
		t.Errorf("code %d: %s", u.Code, said)
	}
	u.Asked("Status")

	u, _ = onLXD(t)
	u.Session.Connect = func(context.Context) (io.Closer, error) { return nil, errors.New("lost") }
	u.Types("destroy-model", "default", "-y", "--force")
	if said := u.Err.String(); u.Code != 0 || !strings.HasPrefix(said, `Cannot list the hosts that were added to model "default" `+
		"(lost). Their agents are removed when they reach the controller. To remove one at once, run there as root: "+
		"/var/lib/juju/tools/machine-*/jujud uninstall /var/lib/juju/agents/machine-*\n") {
		t.Errorf("code %d: %s", u.Code, said)
	}

	// Without force, the controller refuses a model that has such machines.
	u, _ = onLXD(t)
	u.Types("destroy-model", "default", "-y")
	u.Asked()
}

// What releases storage says how it is imported.
func TestReleasedStorageCanBeImported(t *testing.T) {
	t.Parallel()
	u, _ := onLXD(t)
	u.Model.Returns.Statuses = []*entity.ModelStatus{{}}
	all := []entity.StorageStatus{{ID: "data/0", Pool: "fast", ImportID: "a:data-0"}, {ID: "logs/1", Pool: "rootfs"},
		{ID: "data/2", Pool: "lxd", ImportID: "a:data-2"}}
	u.Model.Returns.Storage = slices.Clone(all)
	kept := func(id, pool string) string {
		return "The data of data/" + id + " is kept. To import it into a model once it is released: juju import-filesystem " +
			pool + " a:data-" + id + " data\n"
	}
	u.Model.Returns.Errs = []error{nil, nil, errors.New("no")}
	u.Types("remove-storage", "--no-destroy", "data/0", "logs/1", "data/2")
	u.Sees(1, "", "releasing data/0\nreleasing logs/1\n"+kept("0", "fast")+"ERROR failed to remove data/2: no\n")

	u.Model.Returns.Errs, u.Model.Returns.Storage = nil, all
	u.Types("destroy-model", "default", "-y", "--release-storage")
	if said := u.Err.String(); u.Code != 0 || !strings.HasPrefix(said, kept("0", "fast")+kept("2", "lxd")) {
		t.Errorf("code %d: %s", u.Code, said)
	}
	u.Types("destroy-model", "default", "-y", "--destroy-storage")
	if said := u.Err.String(); strings.Contains(said, "import-filesystem") {
		t.Error(said)
	}
}
