package main

import (
	"context"
	"errors"
	"strings"
	"testing"

	"juju/state/entity"
)

// Storage that is to be kept, and that the cloud has not released yet, is not destroyed with the rest.
func TestDestroyEnvironmentKeepsStorageThatIsBeingReleased(t *testing.T) {
	u, _ := onLXD(t)
	u.fake.statuses = []*entity.ModelStatus{{}}
	u.fake.storage = []entity.StorageStatus{{ID: "data/0", Life: entity.Dying}, {ID: "data/1", Life: entity.Dying, Release: true}}
	u.types("destroy-environment", "prod", "-y", "--destroy-storage")
	u.sees(1, "", "ERROR cannot destroy the storage of controller \"prod\": this is to be kept, and is not released yet: "+
		"data/1 of model admin/default\nWait until juju storage does not list it any more. What it waits for: juju explain "+
		"STORAGE. To keep all storage: juju destroy-environment prod --release-storage\n")
	u.asked("Storage")

	u.types("destroy-environment", "prod", "-y", "--release-storage")
	u.sees(0, "", "Destroying controller \"prod\" with everything in it\nController \"prod\" is gone.\n")

	u, _ = onLXD(t)
	u.fake.statuses = []*entity.ModelStatus{{}}
	u.fake.storage = []entity.StorageStatus{{ID: "data/0", Life: entity.Dying}}
	u.types("destroy-environment", "prod", "-y", "--destroy-storage")
	u.sees(0, "", "Destroying controller \"prod\" with everything in it\nController \"prod\" is gone.\n")

	// A controller that does not answer is destroyed all the same.
	u, _ = onLXD(t)
	u.session.connectController = func(context.Context, target) (controllerAPI, error) { return nil, errors.New("lost") }
	u.types("destroy-environment", "prod", "-y", "--destroy-storage")
	if said := u.err.String(); u.code != 0 ||
		!strings.HasPrefix(said, "Controller \"prod\" does not say whether storage of it is to be kept (lost): all is destroyed.\n") {
		t.Errorf("code %d: %s", u.code, said)
	}
}
