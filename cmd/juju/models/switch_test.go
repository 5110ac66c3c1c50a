package models_test

import (
	"testing"
)

func TestSwitchBack(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Types("switch", "-")
	u.Sees(1, "", "ERROR nothing was selected before\nTo select a model: juju switch MODEL\n")
	u.Types("switch", "controller")
	u.Types("switch", "controller") // no change
	u.Types("switch", "-")
	u.Sees(0, "", "prod:admin/controller -> prod:admin/default\n")
	u.Types("switch", "-")
	u.Sees(0, "", "prod:admin/default -> prod:admin/controller\n")
}
