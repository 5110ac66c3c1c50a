package storage_test

import (
	"testing"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/clitest"
	"juju/cmd/juju/storage"
)

// newUser returns a user of the commands of this package.
func newUser(t *testing.T) *clitest.User {
	t.Helper()
	return clitest.NewUser(t, func(s *cli.Session) []*cobra.Command {
		return []*cobra.Command{
			storage.StorageCommand(s), storage.ShowStorageCommand(s), storage.AddStorageCommand(s),
			storage.AttachStorageCommand(s), storage.DetachStorageCommand(s), storage.RemoveStorageCommand(s),
			storage.ImportFilesystemCommand(s), storage.StoragePoolsCommand(s),
			storage.CreateStoragePoolCommand(s), storage.UpdateStoragePoolCommand(s),
			storage.RemoveStoragePoolCommand(s),
		}
	})
}

// The API calls of each command line, under the names of Juju 1 and of today.
func TestCommandCalls(t *testing.T) {
	t.Parallel()
	clitest.CheckCalls(t, newUser, []clitest.Call{
		{Line: "add-storage web/0 data=rootfs,2G,3 cache", Asked: []string{"AddStorage web/0 cache ,0M,1",
			"AddStorage web/0 data rootfs,2048M,3"}, Stderr: "added storage cache/0 to web/0\nadded storage data/0 to web/0\n"},
		{Line: "attach-storage web/0 data/0 cache/1", Asked: []string{"AttachStorage web/0 [data/0 cache/1]"}, Stderr: "attaching data/0 to web/0\nattaching cache/1 to web/0\n"},
		{Line: "detach-storage data/0", Asked: []string{"DetachStorage [data/0]"}, Stderr: "detaching data/0\n"},
		{Line: "detach-storage data/0 --force --no-wait", Asked: []string{"DetachStorage with force after 0s [data/0]"}, Stderr: "detaching data/0\n"},
		{Line: "remove-storage data/0", Asked: []string{"RemoveStorage false [data/0]"}, Stderr: "removing data/0\n"},
		{Line: "remove-storage data/0 --no-destroy", Asked: []string{"Storage", "RemoveStorage true [data/0]"}, Stderr: "releasing data/0\n"},
		{Line: "import-filesystem lxd default:vol data", Asked: []string{"ImportFilesystem lxd default:vol data"},
			Stderr: "importing \"default:vol\" from storage pool \"lxd\" as storage \"data\"\nimported storage data/0\n"},
		{Line: "remove-storage data/0 --force", Asked: []string{"RemoveStorage with force after 1m0s false [data/0]"}, Stderr: "removing data/0\n"},
		{Line: "storage-pools --name a,b --provider c", Asked: []string{"StoragePools [a b] [c]"}},
		{Line: "create-storage-pool fast local storage-dir=/mnt/ssd",
			Asked: []string{"CreateStoragePool {fast local map[storage-dir:/mnt/ssd]}"}},
		{Line: "update-storage-pool fast storage-dir=/a", Asked: []string{"UpdateStoragePool fast map[storage-dir:/a]"}},
		{Line: "remove-storage-pool fast", Asked: []string{"RemoveStoragePool fast"}},
	})
}

func TestUsageErrors(t *testing.T) {
	t.Parallel()
	clitest.CheckUsageErrors(t, newUser, map[string]string{
		"add-storage web/0":                `storage add requires a unit and a storage directive`,
		"add-storage web/0 data=x_y":       `cannot parse constraints for storage "data": unrecognized storage constraint "x_y" not valid`,
		"attach-storage web/0":             `attach-storage requires a unit ID and at least one storage ID`,
		"import-filesystem lxd a:b":        `import-filesystem requires a storage pool, provider ID, and storage name`,
		"import-filesystem lxd a:b data x": `unrecognized args: ["x"]`,
		"import-filesystem 1 a:b data":     `pool name "1" not valid`,
		"import-filesystem lxd a:b data/0": `storage name "data/0" not valid`,
		"attach-storage web/0 data":        `storage id "data" not valid`,
		"detach-storage":                   `detach-storage requires at least one storage ID`,
		"remove-storage":                   `remove-storage requires at least one storage ID`,
		"show-storage":                     `must specify storage id(s)`,
		"create-storage-pool fast":         "pool creation requires names, provider type and optional attributes for configuration",
		"create-storage-pool fast a=b": "pool creation requires names and provider type before optional attributes for " +
			"configuration",
		"create-storage-pool fast local b":       `expected "key=value", got "b"`,
		"create-storage-pool fast local a=1 a=2": `key "a" specified more than once`,
		"update-storage-pool fast":               "pool update requires name and configuration attributes",
		"remove-storage-pool":                    "pool removal requires storage pool name",
		"remove-storage-pool a b":                `unrecognized args: ["b"]`,
	})
}
