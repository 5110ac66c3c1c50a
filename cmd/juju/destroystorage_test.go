package main

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
