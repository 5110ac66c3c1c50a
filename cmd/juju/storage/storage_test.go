package storage_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"juju/state/entity"
)

func TestStorageIsShown(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.CheckShown("nothing.txt")
	for _, line := range []string{"storage", "storage-pools", "show-storage data/0"} {
		u.Types(append(strings.Fields(line), "-m", "admin/default")...)
		if u.Code != 0 || u.Session.Model == "" {
			t.Errorf("%s -m: exit code %d, said %q", line, u.Code, u.Err.String())
		}
	}
	u.Model.Returns.Storage = []entity.StorageStatus{
		{ID: "data/0", Pool: "lxd", Size: 2048, Unit: "web/0", Machine: "3", Location: "/srv/data", Persistent: true,
			Status: entity.Status{Status: "attached"}, ImportID: "default:vol", Filesystem: "vol"},
		{ID: "logs/1", Pool: "rootfs", Size: 10, Life: entity.Dying, Status: entity.Status{Status: "error", Message: "full"}},
	}
	u.CheckShown("storage.txt")
	since := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	u.Model.Returns.Storage[0].Status.Since = since
	u.Types("show-storage", "data/0")
	if want := "since: " + since.Local().Format("02 Jan 2006 15:04:05Z07:00") + "\n"; !strings.Contains(u.Out.String(), want) {
		t.Errorf("it has no %q:\n%s", want, u.Out.String())
	}
}

// Each instance is reported, with those that failed.
func TestSomeStorageFails(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Model.Returns.Storage = []entity.StorageStatus{{ID: "data/0", Pool: "lxd", ImportID: "default:vol"}, {ID: "data/1", Pool: "lxd", ImportID: "x"}}
	u.Model.Returns.Errs = []error{nil, errors.New("it is attached")}
	for line, want := range map[string]string{
		"attach-storage web/0 data/0 data/1": "attaching data/0 to web/0\nERROR failed to attach data/1 to web/0: it is attached\n",
		"detach-storage data/0 data/1":       "detaching data/0\nERROR failed to detach data/1: it is attached\n",
		"remove-storage data/0 data/1":       "removing data/0\nERROR failed to remove data/1: it is attached\n",
		"remove-storage data/0 data/1 --no-destroy": "releasing data/0\nThe data of data/0 is kept. To import it into a model once it is " +
			"released: juju import-filesystem lxd default:vol data\nERROR failed to remove data/1: it is attached\n",
		"show-storage data/0 data/1": "ERROR it is attached\n",
	} {
		u.Types(strings.Fields(line)...)
		u.Sees(1, "", want)
	}
	u.Model.Returns.Err = errors.New("no")
	for _, line := range []string{"storage", "storage-pools", "show-storage data/0", "add-storage web/0 data", "attach-storage web/0 data/0",
		"detach-storage data/0", "remove-storage data/0", "remove-storage data/0 --no-destroy", "remove-storage-pool fast",
		"create-storage-pool fast local", "update-storage-pool fast a=1"} {
		u.Types(strings.Fields(line)...)
		u.Sees(1, "", "ERROR no\n")
	}
}
