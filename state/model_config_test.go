package state_test

import (
	"maps"
	"sync/atomic"
	"testing"
	"time"

	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/modelconfig"
	"juju/state/statetest"
)

// checkConfig checks the settings that differ from the defaults, as "value
// (source)".
func (w *world) checkConfig(st *state.State, want map[string]string) {
	w.Helper()
	config, err := st.Settings().Config(w.ctx)
	w.ok(err)
	if len(config) != len(modelconfig.Settings) {
		w.Errorf("%d settings have values, there are %d", len(config), len(modelconfig.Settings))
	}
	got := map[string]string{}
	for key, v := range config {
		if v.Source != modelconfig.FromDefault && v.Value != statetest.NoStore {
			got[key] = v.Value + " (" + v.Source + ")"
		}
	}
	if !maps.Equal(got, want) {
		w.Errorf("the settings are %v, want %v", got, want)
	}
}

func TestModelConfigIsSetAllOrNothing(t *testing.T) {
	w := newWorld(t)
	events, err := w.st.Watches().ModelConfig(w.ctx)
	w.ok(err)
	next(t, events)
	w.checkConfig(w.st, map[string]string{"default-series": "jammy (controller)"})

	w.ok(w.st.Settings().SetConfig(w.ctx, map[string]string{"automatically-retry-hooks": "True",
		"provisioner-harvest-mode": "none"}, nil))
	next(t, events)
	set := map[string]string{"default-series": "jammy (controller)", "automatically-retry-hooks": "true (model)",
		"provisioner-harvest-mode": "none (model)"}
	w.checkConfig(w.st, set)

	const cannot = "cannot change model config: "
	for _, c := range []struct {
		set   map[string]string
		reset []string
		why   string
	}{
		{map[string]string{"provisioner-harvest-mode": "all", "test-mode": "perhaps"}, nil,
			cannot + `test-mode: expected bool, got "perhaps"`},
		{map[string]string{"automatically-retry-hooks": "false", "provisioner-harvest-mode": "some"}, nil,
			cannot + `provisioner-harvest-mode: expected one of [none unknown destroyed all], got "some"`},
		{map[string]string{"automatically-retry-hooks": "maybe"}, nil,
			cannot + `automatically-retry-hooks: expected bool, got "maybe"`},
		{map[string]string{"default-series": "UPPER"}, nil, cannot + `invalid series "UPPER"`},
		{map[string]string{"default-series": ""}, nil, cannot + `default-series: expected a value, got ""`},
		{map[string]string{"provisioner-harvest-mode": "all"}, []string{"provisioner-harvest-mode"},
			`cannot set and reset key "provisioner-harvest-mode" simultaneously`},
		{map[string]string{"num-provision-workers": "many"}, nil,
			cannot + `num-provision-workers: expected a whole number, got "many"`},
	} {
		w.refused(w.st.Settings().SetConfig(w.ctx, c.set, c.reset), entity.Invalid, c.why)
	}
	w.checkConfig(w.st, set)

	w.ok(w.st.Settings().SetConfig(w.ctx, map[string]string{"default-series": "noble"}, []string{"automatically-retry-hooks"}))
	w.ok(w.st.Settings().SetConfig(w.ctx, nil, []string{"automatically-retry-hooks"})) // has its default already
	w.checkConfig(w.st, map[string]string{"default-series": "noble (model)", "provisioner-harvest-mode": "none (model)"})
}

// A model has proxies for all programs or others for charms, as in Juju.
func TestProxiesAreOfOneFamily(t *testing.T) {
	w := newWorld(t)
	set := func(reset []string, pairs ...string) error {
		values := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			values[pairs[i]] = pairs[i+1]
		}
		return w.st.Settings().SetConfig(w.ctx, values, reset)
	}
	const both = "cannot change model config: cannot specify both legacy proxy values and juju proxy values: "
	w.ok(set(nil, "http-proxy", "p:1", "no-proxy", "a", "juju-no-proxy", "b", "apt-http-proxy", "q:1"))
	w.refused(set(nil, "juju-ftp-proxy", "c:1"), entity.Invalid, both+"http-proxy and juju-ftp-proxy")
	w.refused(set([]string{"http-proxy"}, "juju-ftp-proxy", "c:1", "ftp-proxy", "f:1"), entity.Invalid,
		both+"ftp-proxy and juju-ftp-proxy")
	w.ok(set([]string{"http-proxy"}, "juju-ftp-proxy", "c:1"))
	w.refused(set(nil, "https-proxy", "p:1"), entity.Invalid, both+"https-proxy and juju-ftp-proxy")
	w.ok(set(nil, "https-proxy", "p:1", "juju-ftp-proxy", ""))
	w.ok(set(nil, "http-proxy", "", "https-proxy", ""))

	// Of two that are set at once, the second is refused.
	w.st.Before(func() { w.ok(set(nil, "juju-http-proxy", "c:1")) })
	w.refused(set(nil, "http-proxy", "p:1"), entity.Invalid, both+"http-proxy and juju-http-proxy")

	_, err := w.ctrl.AddModel(w.ctx, controller.AddModelParams{Name: "bad", Owner: statetest.Admin, Series: "jammy",
		Config: map[string]string{"http-proxy": "p:1", "juju-http-proxy": "c:1"}})
	w.refused(err, entity.Invalid, `cannot add model "bad": cannot specify both legacy proxy values and juju proxy values: `+
		"http-proxy and juju-http-proxy")

	// A model that got both from an older controller can change everything else.
	w.ok(w.st.DB().Run(w.ctx, func(int) ([]txn.Op, error) {
		return []txn.Op{{C: "model", Id: "model", Update: bson.D{{"$set", bson.D{{"config.ftp-proxy", "p:1"}}}}}}, nil
	}))
	w.ok(set(nil, "no-proxy", "c"))
	w.refused(set(nil, "ftp-proxy", "q:1"), entity.Invalid, both+"ftp-proxy and juju-http-proxy")
	w.ok(set([]string{"juju-http-proxy"}))
	w.ok(set(nil, "ftp-proxy", "q:1"))
}

// Without a series, a new entity gets the model's default at that moment; so
// does a charm that supports several series, if the default is among them.
func TestDefaultSeriesAppliesToNewEntities(t *testing.T) {
	w := newWorld(t)
	several := statetest.Charm(t, w.st, `{name: several, summary: s, description: d, series: [xenial, noble]}`)
	add := func(name, url, want string) {
		t.Helper()
		s, err := w.st.AddService(w.ctx, state.AddServiceParams{Name: name, CharmURL: url})
		w.ok(err)
		if s.Series() != want {
			t.Errorf("service %s has series %q, want %q", name, s.Series(), want)
		}
	}
	none := statetest.Charm(t, w.st, statetest.MySQL)
	add("a", none, "jammy")
	add("b", several, "xenial")
	w.ok(w.st.Settings().SetConfig(w.ctx, map[string]string{"default-series": "noble"}, nil))
	add("c", none, "noble")
	add("d", several, "noble")
	m, err := w.st.AddMachine(w.ctx, state.AddMachineParams{})
	w.ok(err)
	info, err := m.Info(w.ctx)
	w.ok(err)
	if info.Series != "noble" {
		t.Errorf("the machine has series %q", info.Series)
	}
}

func TestAddModelWithConfig(t *testing.T) {
	w := newWorld(t)
	_, err := w.ctrl.AddModel(w.ctx, controller.AddModelParams{Name: "bad", Owner: statetest.Admin, Series: "jammy",
		Config: map[string]string{"test-mode": "y"}})
	w.refused(err, entity.Invalid, `cannot add model "bad": test-mode: expected bool, got "y"`)
	st, err := w.ctrl.AddModel(w.ctx, controller.AddModelParams{Name: "good", Owner: statetest.Admin, Series: "jammy",
		Config: map[string]string{"automatically-retry-hooks": "1", "default-series": "noble"}})
	w.ok(err)
	w.checkConfig(st, map[string]string{"automatically-retry-hooks": "true (model)", "default-series": "noble (model)"})
	w.checkConfig(w.st, map[string]string{"default-series": "jammy (controller)"})
}

// A model that is not Alive still uses its settings, so they can be changed.
func TestModelConfigOfDyingModel(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 1)
	w.ok(w.st.Destroy(w.ctx, entity.Destruction{}))
	w.ok(w.st.Settings().SetConfig(w.ctx, map[string]string{"automatically-retry-hooks": "true"}, nil))
	w.checkConfig(w.st, map[string]string{"default-series": "jammy (controller)",
		"automatically-retry-hooks": "true (model)"})
}

// A client that resumes the creation of a model sets the configuration that it
// was given itself.
func TestResumedAddModelUsesTheNewConfig(t *testing.T) {
	w := newWorld(t)
	row := controller.ModelRow{UUID: "8f0f33a1-7f4c-4c1e-8a8e-0d6f6f3d9c11", Name: "half", Owner: statetest.Admin,
		Series: "jammy",
		Step:   "creating", Creator: "somebody", Config: map[string]string{"provisioner-harvest-mode": "none"}}
	w.ok(w.controllerDB().Run(w.ctx, func(int) ([]txn.Op, error) {
		return []txn.Op{
			{C: "modelnames", Id: statetest.Admin + "#half", Assert: txn.DocMissing, Insert: bson.D{{"model", row.UUID}}},
			{C: "models", Id: row.UUID, Assert: txn.DocMissing, Insert: row},
		}, nil
	}))
	ctrl, p := w.ctrl, controller.AddModelParams{Name: "half", Owner: statetest.Admin, Series: "jammy",
		Config: map[string]string{"automatically-retry-hooks": "true"}}
	if w.store.Embedded() == nil { // its creator may be another controller of this store, and has time to finish it
		var later atomic.Int64
		var err error
		ctrl, err = controller.Open(w.ctx, w.store, controller.Options{PasswordCost: statetest.PasswordCost,
			Now: func() time.Time { return time.Now().Add(time.Duration(later.Load())) }})
		w.ok(err)
		defer ctrl.Close()
		_, err = ctrl.AddModel(w.ctx, p)
		w.refused(err, entity.AlreadyExists, "already exists")
		later.Store(int64(time.Hour))
	}
	st, err := ctrl.AddModel(w.ctx, p)
	w.ok(err)
	w.checkConfig(st, map[string]string{"default-series": "jammy (controller)",
		"automatically-retry-hooks": "true (model)"})
}
