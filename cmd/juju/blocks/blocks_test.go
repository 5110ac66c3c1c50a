package blocks_test

import (
	"testing"

	"juju/state/entity"
)

func TestDisabledCommandsAreListed(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Model.Returns.Blocks = []entity.Block{{Type: entity.BlockRemove, Message: "ask\nSA"}, {Type: entity.BlockChange}}
	u.Types("disabled-commands")
	u.Sees(0, "Disabled commands  Message\nremove-object      ask\\nSA\nall\n", "")
	u.Types("disabled-commands", "--format", "json")
	u.Sees(0, `[{"command-set":"remove-object","message":"ask\nSA"},{"command-set":"all"}]`+"\n", "")
	u.Model.Returns.Blocks = nil
	u.Types("disabled-commands", "--format", "yaml")
	u.Sees(0, "[]\n", "")
}

func TestDisabledCommandsOfAllModels(t *testing.T) {
	t.Parallel()
	u := newUser(t).WithModels()
	u.Types("disabled-commands", "--all")
	u.Sees(0, "Name           Model UUID    Disabled commands\n"+
		"admin/default  default-uuid  all, remove-object\neve/shared     shared-uuid   all, remove-object\n", "")
	u.Types("disabled-commands", "--all", "--format", "json")
	u.Sees(0, `[{"name":"default","model-uuid":"default-uuid","owner":"admin","disabled-commands":["all","remove-object"]},`+
		`{"name":"shared","model-uuid":"shared-uuid","owner":"eve","disabled-commands":["all","remove-object"]}]`+"\n", "")
	u.Types("remove-all-blocks")
	u.Sees(0, "", "")
	if len(u.Controller.Calls) != 1 {
		t.Errorf("asked %q", u.Controller.Calls)
	}
	u.Controller.ModelInfos = nil
	u.Types("disabled-commands", "--all")
	u.Sees(0, "", "No commands are currently disabled.\n")
}
