package controller_test

import (
	"maps"
	"testing"

	"juju/state/controller"
	"juju/state/entity"
	"juju/state/modelconfig"
)

// New models get the defaults, and keep them when they change.
func TestNewModelsTakeTheDefaults(t *testing.T) {
	w := newWorld(t)
	set := func(values map[string]string, reset ...string) {
		t.Helper()
		w.ok(w.ctrl.SetModelDefaults(w.ctx, values, reset))
	}
	add := func(name string, config map[string]string) modelconfig.Config {
		t.Helper()
		st, err := w.ctrl.AddModel(w.ctx, controller.AddModelParams{Name: name, Owner: "admin", Series: "jammy", Config: config})
		w.ok(err)
		got, err := st.Settings().Config(w.ctx)
		w.ok(err)
		return got
	}
	set(map[string]string{"automatically-retry-hooks": "True", "http-proxy": "http://p:1"})
	got := add("one", map[string]string{"http-proxy": "http://q:1"})
	if !got.RetryHooks() || got["http-proxy"].Value != "http://q:1" {
		t.Errorf("a model has %v", got)
	}
	if _, err := w.ctrl.AddModel(w.ctx, controller.AddModelParams{Name: "two", Owner: "admin", Series: "jammy",
		Config: map[string]string{"juju-http-proxy": "http://q:1"}}); err == nil {
		t.Error("a model has both families of proxies")
	}
	set(nil, "automatically-retry-hooks", "http-proxy", "http-proxy")
	if got := add("three", nil); got.RetryHooks() || got["http-proxy"].Source != modelconfig.FromDefault {
		t.Errorf("after a reset a model has %v", got)
	}
	st, err := w.ctrl.Models(w.ctx)
	w.ok(err)
	for _, row := range st {
		if row.Name == "one" {
			model, err := w.ctrl.Model(w.ctx, row.UUID)
			w.ok(err)
			if config, err := model.Settings().Config(w.ctx); err != nil || !config.RetryHooks() {
				t.Errorf("the reset changed a model: %v, %v", config, err)
			}
		}
	}
}

func TestRefusedModelDefaultsChangeNothing(t *testing.T) {
	w := newWorld(t)
	w.ok(w.ctrl.SetModelDefaults(w.ctx, map[string]string{"http-proxy": "http://p:1"}, nil))
	before, err := w.ctrl.ModelDefaults(w.ctx)
	w.ok(err)
	for _, bad := range []struct {
		set   map[string]string
		reset []string
		why   string
	}{
		{map[string]string{"automatically-retry-hooks": "perhaps"}, nil, "expected bool"},
		{map[string]string{"juju-ftp-proxy": "http://p:1"}, nil, "cannot specify both legacy proxy values and juju proxy values"},
		{map[string]string{"authorized-keys": "ssh-rsa x"}, nil, "authorized-keys"},
		{nil, []string{"authorized-keys"}, "authorized-keys can't have a default"},
		{map[string]string{"http-proxy": "http://q:1"}, []string{"http-proxy"}, "simultaneously"},
	} {
		w.refused(w.ctrl.SetModelDefaults(w.ctx, bad.set, bad.reset), entity.Invalid, bad.why)
	}
	if now, err := w.ctrl.ModelDefaults(w.ctx); err != nil || !maps.Equal(now, before) {
		t.Errorf("the defaults are %v, %v", now, err)
	}
	// Of two changes at once the second is checked against the first.
	w.before(func() { w.ok(w.ctrl.SetModelDefaults(w.ctx, nil, []string{"http-proxy"})) })
	w.ok(w.ctrl.SetModelDefaults(w.ctx, map[string]string{"https-proxy": "http://p:2"}, nil))
	if now, err := w.ctrl.ModelDefaults(w.ctx); err != nil || len(now) != 1 {
		t.Errorf("after two changes at once the defaults are %v, %v", now, err)
	}
}
