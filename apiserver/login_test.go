package apiserver

import (
	"errors"
	"testing"

	"juju/apiserver/client"
	"juju/state/entity"
	"juju/state/statetest"
)

// No credential of one model opens another.
func TestLoginsAcrossModels(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	home := w.server.controllerModel.UUID()
	for name, info := range map[string]client.Info{
		"a unit at another model": {Model: home, Tag: entity.UnitTag("mysql/0"),
			Password: w.passwords[entity.UnitTag("mysql/0")]},
		"a machine at the controller's model": {Model: home, Tag: entity.MachineTag("0"),
			Password: w.passwords[entity.MachineTag("0")], Nonce: nonce},
		"an agent at the controller": {Tag: entity.UnitTag("mysql/0"), Password: w.passwords[entity.UnitTag("mysql/0")]},
		"an agent at no model": {Model: "deadbeef-0000-4000-8000-00000000dead", Tag: entity.UnitTag("mysql/0"),
			Password: "x"},
		"an unknown user":   {Tag: entity.UserTag("eve"), Password: statetest.Password},
		"a service":         {Model: w.st.UUID(), Tag: entity.ServiceTag("mysql"), Password: "x"},
		"an empty password": {Model: w.st.UUID(), Tag: entity.MachineTag("0"), Nonce: nonce},
	} {
		info.Addresses, info.CACert = []string{w.address}, pki().ca.Cert
		c, err := client.Dial(t.Context(), info)
		if err == nil {
			c.Close()
		}
		if !errors.Is(err, entity.Unauthorized) || err.Error() != "invalid entity name or password" {
			t.Errorf("%s: %v", name, err)
		}
	}
	// The manager may log in everywhere. A user learns that a model is not there.
	w.dial(w.managerInfo(w.st.UUID()))
	w.dial(w.managerInfo(home))
	if _, err := client.Dial(t.Context(), w.adminInfo("deadbeef-0000-4000-8000-00000000dead")); !errors.Is(err,
		entity.NotFound) {
		t.Errorf("a model that does not exist: %v", err)
	}
	// A machine of a lost instance has the password, but not the nonce.
	info := w.info(entity.MachineTag("0"))
	info.Nonce = "old"
	if _, err := client.Dial(t.Context(), info); !errors.Is(err, entity.NotProvisioned) {
		t.Errorf("an old instance: %v", err)
	}
}
