package main

import (
	"testing"

	"juju/state/entity"
)

func TestDisabledCommandsAreListed(t *testing.T) {
	u := newUser(t)
	u.fake.blocks = []entity.Block{{Type: entity.BlockRemove, Message: "ask\nSA"}, {Type: entity.BlockChange}}
	u.types("disabled-commands")
	u.sees(0, "Disabled commands  Message\nremove-object      ask SA\nall\n", "")
	u.types("disabled-commands", "--format", "json")
	u.sees(0, `[{"command-set":"remove-object","message":"ask\nSA"},{"command-set":"all"}]`+"\n", "")
	u.fake.blocks = nil
	u.types("disabled-commands", "--format", "yaml")
	u.sees(0, "[]\n", "")
}

// Who is barred is told why, and how it is allowed again.
func TestABlockedCommandSaysHowItIsAllowedAgain(t *testing.T) {
	u := newUser(t)
	u.fake.err = entity.WithHint(entity.Errorf(entity.OperationBlocked, "Ask SA."), "To enable removal, run\n\n    juju enable-command remove-object\n")
	u.types("destroy-unit", "web/0")
	u.sees(1, "", "ERROR Ask SA.\nTo enable removal, run\n\n    juju enable-command remove-object\n\n")
}
