package main

import (
	"context"
	"testing"

	"juju/state/entity"
)

func TestDisabledCommandsAreListed(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.fake.blocks = []entity.Block{{Type: entity.BlockRemove, Message: "ask\nSA"}, {Type: entity.BlockChange}}
	u.types("disabled-commands")
	u.sees(0, "Disabled commands  Message\nremove-object      ask\\nSA\nall\n", "")
	u.types("disabled-commands", "--format", "json")
	u.sees(0, `[{"command-set":"remove-object","message":"ask\nSA"},{"command-set":"all"}]`+"\n", "")
	u.fake.blocks = nil
	u.types("disabled-commands", "--format", "yaml")
	u.sees(0, "[]\n", "")
}

// A disabled command says why it is refused, and how to enable it.
func TestDisabledCommandsSayHowToEnableThem(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.fake.err = entity.WithHint(entity.Errorf(entity.OperationBlocked, "Ask SA."),
		"To enable removal, run\n\n    juju enable-command remove-object\n")
	u.types("destroy-unit", "web/0")
	u.sees(1, "", "ERROR Ask SA.\nTo enable removal, run\n\n    juju enable-command remove-object\n\n")
}

func (f *fakeController) BlockedModels(context.Context) ([]entity.ModelBlocks, error) {
	var blocked []entity.ModelBlocks
	for _, m := range f.models {
		blocked = append(blocked, entity.ModelBlocks{Name: m.Name, UUID: m.UUID, OwnerTag: m.OwnerTag,
			Blocks: []string{"BlockRemove", "BlockChange"}})
	}
	return blocked, nil
}

func (f *fakeController) RemoveBlocks(context.Context) error { return f.asked("RemoveBlocks") }

func TestDisabledCommandsOfAllModels(t *testing.T) {
	t.Parallel()
	u := atController(t)
	u.types("disabled-commands", "--all")
	u.sees(0, "Name           Model UUID    Disabled commands\n"+
		"admin/default  default-uuid  all, remove-object\neve/shared     shared-uuid   all, remove-object\n", "")
	u.types("disabled-commands", "--all", "--format", "json")
	u.sees(0, `[{"name":"admin/default","model-uuid":"default-uuid","disabled-commands":["all","remove-object"]},`+
		`{"name":"eve/shared","model-uuid":"shared-uuid","disabled-commands":["all","remove-object"]}]`+"\n", "")
	u.types("remove-all-blocks")
	u.sees(0, "", "")
	if len(u.ctrl.calls) != 1 {
		t.Errorf("asked %q", u.ctrl.calls)
	}
	u.ctrl.models = nil
	u.types("disabled-commands", "--all")
	u.sees(0, "", "No commands are currently disabled.\n")
}
