package apiserver

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"juju/apiserver/client"
	"juju/apiserver/params"
	"juju/state"
	"juju/state/entity"
	"juju/state/modelconfig"
	"juju/state/statetest"
)

// No credential of one model opens another.
func TestLoginsAcrossModels(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	home := w.server.controllerModel.UUID()
	other, err := w.server.controllerModel.AddMachine(t.Context(), state.AddMachineParams{}) // it runs no controller
	w.ok(err)
	w.ok(other.SetProvisioned(t.Context(), entity.Instance{ID: "i-other", Nonce: nonce}))
	otherPassword := w.newPassword(w.server.controllerModel, entity.MachineTag(other.ID()))
	for name, info := range map[string]client.Info{
		"a unit at another model": {Model: home, Tag: entity.UnitTag("mysql/0"),
			Password: w.passwords[entity.UnitTag("mysql/0")]},
		"a machine at the controller's model": {Model: home, Tag: entity.MachineTag("0"),
			Password: w.passwords[entity.MachineTag("0")], Nonce: nonce},
		"a machine of the controller's model at another": {Model: w.st.UUID(), Tag: entity.MachineTag(other.ID()),
			Password: otherPassword, Nonce: nonce},
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
	w.dial(client.Info{Addresses: []string{w.address}, CACert: pki().ca.Cert, Model: home,
		Tag: entity.MachineTag(other.ID()), Password: otherPassword, Nonce: nonce})
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

// A login tells the addresses of the controllers, and from where they can be reached. What is no address is not told.
func TestLoginTellsAddresses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *Config) {
		c.Addresses = func() []string {
			return []string{"127.0.0.1:17070", "10.0.0.7:17071", "203.0.113.7:17070", "[::1]:17070", "[fd00::1]:17070",
				"[2001:db8::1]:17070", "controller.example:443", "no port", "10.0.0.8:ssh"}
		}
	})
	var result params.LoginResult
	w.ok(w.raw("/api").do("Admin", 3, "Login", params.LoginRequest{
		AuthTag: params.TagOf(entity.UserTag(statetest.Admin)), Credentials: statetest.Password}, &result))
	want := [][]params.HostPort{
		{{Value: "127.0.0.1", Type: "ipv4", Scope: "local-machine", Port: 17070}},
		{{Value: "10.0.0.7", Type: "ipv4", Scope: "local-cloud", Port: 17071}},
		{{Value: "203.0.113.7", Type: "ipv4", Scope: "public", Port: 17070}},
		{{Value: "::1", Type: "ipv6", Scope: "local-machine", Port: 17070}},
		{{Value: "fd00::1", Type: "ipv6", Scope: "local-cloud", Port: 17070}},
		{{Value: "2001:db8::1", Type: "ipv6", Scope: "public", Port: 17070}},
		{{Value: "controller.example", Type: "hostname", Scope: "public", Port: 443}},
	}
	if diff := cmp.Diff(want, result.Servers); diff != "" {
		t.Errorf("the addresses differ:\n%s", diff)
	}
}

// A machine that a restored controller doesn't know is not told that it was removed, as its agent would end for good, until
// the user says that such machines are to be removed.
func TestMachinesThatARestoredControllerDoesNotKnow(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Restored = true }).populate()
	refusal := func(tag entity.Tag, model string) entity.Kind {
		t.Helper()
		info := w.info(tag)
		info.Password, info.Model = state.NewAgentPassword(), model
		_, err := client.Dial(t.Context(), info)
		return entity.KindOf(err)
	}
	keep := func(mode string) {
		t.Helper()
		w.ok(w.st.Settings().SetConfig(t.Context(), map[string]string{modelconfig.HarvestMode: mode}, nil))
	}
	stray, unit, model := entity.MachineTag("99"), entity.UnitTag("mysql/99"), w.st.UUID()
	keep(modelconfig.HarvestDestroyed)
	for _, tag := range []entity.Tag{stray, entity.MachineTag("0")} { // its number may be another machine's by now
		if kind := refusal(tag, model); kind != entity.Unavailable {
			t.Errorf("%s: %v", tag, kind)
		}
	}
	if kind := refusal(stray, "deadbeef-0000-4000-8000-00000000dead"); kind != entity.Unavailable {
		t.Errorf("a machine of an unknown model: %v", kind)
	}
	if kind := refusal(unit, model); kind != entity.Unauthorized {
		t.Errorf("a unit, which its machine's agent may restart with another password: %v", kind)
	}
	keep(modelconfig.HarvestAll)
	if kind := refusal(stray, model); kind != entity.Unauthorized {
		t.Errorf("once they are to be removed: %v", kind)
	}
}

// Published clients ask whether their model has moved when a login fails, and stop their pings before they leave: no model
// moves, and a connection goes on.
func TestRequestsAroundALogin(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.raw(w.modelPath())
	moved := func() {
		t.Helper()
		if err := r.call("Admin", 3, "RedirectInfo", nil).Err(); entity.KindOf(err) != entity.NotSupported || err.Error() != "not redirected" {
			t.Errorf("the model has moved: %v", err)
		}
	}
	moved()
	if err := r.call("Pinger", 1, "Stop", nil).Err(); entity.KindOf(err) != entity.Unauthorized {
		t.Errorf("before the login: %v", err)
	}
	r.login(entity.UserTag(statetest.Admin), statetest.Password, "")
	moved()
	for _, reply := range []params.Response{r.call("Pinger", 1, "Stop", nil), r.call("Pinger", 1, "Ping", nil)} {
		if w.ok(reply.Err()); string(reply.Response) != "{}" {
			t.Errorf("the answer is %s", reply.Response)
		}
	}
}
