package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"juju/state/entity"
)

// A command that can plan its change makes it only without --dry-run, and says what the plan says.
func TestDryRun(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Model.Returns.Plan = entity.Plan{Token: "beef"}
	u.Types("add-unit", "web", "-n", "250", "--force", "--dry-run")
	if got := fmt.Sprint(u.Model.Calls); got != "[AddUnits web 100 [] AddUnits web 100 [] AddUnits web 50 []]" {
		t.Errorf("it asked for %s", got)
	}

	// Offers and the end of a model are planned in the model.
	u.Controller.Add("admin", "default")
	for line, want := range map[string]string{
		"offer web:db site --dry-run":           "[AddOffer default-uuid site web [db]]",
		"consume shop.mysql --dry-run":          "[Consume admin/shop.mysql mysql]",
		"remove-offer web default.db --dry-run": "[RemoveOffers [admin/default.web admin/default.db]]",
		"remove-saas db --dry-run":              "[RemoveRemotes [db]]",
		"destroy-model default --dry-run":       "[DestroyModel default-uuid plain]",

		// Several changes are planned together.
		"add-machine -n 2 --dry-run":                              `[AddMachine "" "" "" AddMachine "" "" ""]`,
		"config web a=b --reset c --dry-run":                      `[SetServiceConfig web map[a:b] "" ResetServiceConfig web [c]]`,
		"model-config host-lock=web --reset http-proxy --dry-run": "[SetModelConfig map[host-lock:web] ResetModelConfig [http-proxy]]",
		"add-relation web bob/shop.mysql --dry-run":               "[Consume bob/shop.mysql AddRelation [web mysql]]",
		"upgrade-charm web --resume --dry-run":                    "[ResumeRollout web 0 0s]",
		"upgrade-charm web --revert --dry-run":                    "[RevertRollout web 0 0s]",
	} {
		u.Model.Calls = nil
		u.Types(strings.Fields(line)...)
		u.Sees(0, "Nothing would be changed.\n", "To do this only if the model is still the same: --if-unchanged beef\n")
		if got := fmt.Sprint(u.Model.Calls); got != want {
			t.Errorf("%s asked for %s, want %s", line, got, want)
		}
	}

	// So is what has no life, and what runs on units.
	for line, want := range map[string]string{
		"resolved 1": "[RetryProvisioning", "retry-provisioning 1": "[RetryProvisioning", "suspend-relation 4": "[SuspendRelations",
		"resume-relation 4": "[SuspendRelations", "add-space db": "[AddSpace", "rename-space db data": "[RenameSpace",
		"remove-space db": "[RemoveSpace", "reload-spaces": "[ReloadSpaces", "move-to-space db 10.0.0.0/24": "[MoveToSpace",
		"create-storage-pool fast local": "[CreateStoragePool", "update-storage-pool fast a=b": "[UpdateStoragePool",
		"remove-storage-pool fast": "[RemoveStoragePool", "import-filesystem local x data": "[ImportFilesystem",
		"disable-command all": "[SwitchBlockOn", "enable-command all": "[SwitchBlockOff", "remove-ssh-key x": "[RemoveSSHKeys",
		"run-action web/0 go": "[EnqueueActions", "run web/0 go": "[EnqueueActions", "cancel-task 12": "[CancelTasks",
		"run --unit web/0 -- ls": "[RunCommand", "exec --machine 0 -- ls": "[RunCommand",
	} {
		u.Model.Calls = nil
		words := strings.Fields(line)
		if at := slices.Index(words, "--"); at > 0 {
			words = slices.Insert(words, at, "--dry-run")
		} else {
			words = append(words, "--dry-run")
		}
		u.Types(words...)
		u.Sees(0, "Nothing would be changed.\n", "To do this only if the model is still the same: --if-unchanged beef\n")
		if got := fmt.Sprint(u.Model.Calls); !strings.HasPrefix(got, want) || len(u.Model.Calls) != 1 {
			t.Errorf("%s asked for %s, want %s", line, got, want)
		}
	}

	// The guard is given to the change itself. It and the plan exclude what they can't do.
	u.Types("expose", "web", "--if-unchanged", "beef")
	if u.Model.Token != "beef" || u.Code != 0 {
		t.Errorf("exit code %d, token %q", u.Code, u.Model.Token)
	}
	for line, want := range map[string]string{
		"expose web --dry-run --if-unchanged beef":            "--dry-run and --if-unchanged are mutually exclusive",
		"add-unit web --dry-run --wait":                       "--dry-run changes nothing that --wait could wait for",
		"expose web --format json":                            "--format is only used with --dry-run",
		"expose web --dry-run --format x":                     `unknown format "x"`,
		"add-machine ssh:x --dry-run":                         "--dry-run does not plan what is done to a host: ssh:x",
		"add-unit web -n 1001 --force --dry-run":              "--dry-run plans at most 1000 units",
		"deploy ./web -n 1001 --force --dry-run":              "--dry-run plans at most 1000 units",
		"remove-offer web bob/shop.db --dry-run":              "are for offers of one model, not of admin/default, bob/shop",
		"destroy-service web --if-unchanged= --dry-run=false": "--if-unchanged needs the token of a plan",
	} {
		u.Model.Calls = nil
		u.Types(strings.Fields(line)...)
		if u.Code != 2 || !strings.Contains(u.Err.String(), want) {
			t.Errorf("%s: exit code %d, it says %q, want %q", line, u.Code, u.Err.String(), want)
		}
		if len(u.Model.Calls) > 0 {
			t.Errorf("%s asked for %v", line, u.Model.Calls)
		}
	}
}
