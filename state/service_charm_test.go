package state_test

import (
	"slices"
	"testing"

	"juju/state"
	"juju/state/entity"
	"juju/state/statetest"
)

// upgrade changes the charm of a service to one with this metadata and config.
func (w *world) upgrade(service, metadata, config string, p state.SetCharmParams) (unused []string, err error) {
	w.Helper()
	p.URL = statetest.Charm(w.T, w.st, metadata, "config.yaml", config)
	left, err := mustService(w, service).SetCharm(w.ctx, p)
	return left.Unused, err
}

func TestSetCharm(t *testing.T) {
	w := newWorld(t)
	old := statetest.Charm(t, w.st, statetest.MySQL, "config.yaml", settable)
	s, err := w.st.AddService(w.ctx, state.AddServiceParams{Name: "mysql", CharmURL: old, Units: 1})
	w.ok(err)
	w.ok(s.SetConfig(w.ctx, map[string]any{"a": "one", "b": "two"}))
	w.ok(w.unit("mysql/0").SetCharm(w.ctx, old))
	_, err = w.upgrade("mysql", statetest.MySQL, "options:\n  b: {type: string}\n  c: {type: int, default: 3}\n", state.SetCharmParams{})
	w.ok(err)
	info, err := w.unit("mysql/0").Info(w.ctx)
	w.ok(err)
	if info.CharmURL != old || info.ServiceCharmURL != "local:jammy/mysql-1" || info.ForceCharm {
		t.Errorf("the unit is told %+v", info)
	}
	config := func(want map[string]any) {
		t.Helper()
		got, err := w.unit("mysql/0").Config(w.ctx)
		w.ok(err)
		for name, value := range want {
			if got[name] != value {
				t.Errorf("%s is %v, want %v, in %v", name, got[name], value, got)
			}
		}
		if len(got) != len(want) {
			t.Errorf("the configuration is %v, want %v", got, want)
		}
	}
	// The unit runs the old charm until it has unpacked the new one.
	config(map[string]any{"a": "one", "b": "two"})
	w.ok(w.unit("mysql/0").SetCharm(w.ctx, info.ServiceCharmURL))
	config(map[string]any{"b": "two", "c": int64(3)})
	_, err = mustService(w, "mysql").SetCharm(w.ctx, state.SetCharmParams{URL: old, ForceUnits: true})
	w.ok(err)
	if info, err = w.unit("mysql/0").Info(w.ctx); err != nil || !info.ForceCharm {
		t.Errorf("the unit is told %+v, %v", info, err)
	}
	w.ok(w.unit("mysql/0").SetCharm(w.ctx, old))
	config(map[string]any{"a": "one", "b": "two"})
	// Without force it is taken back.
	_, err = mustService(w, "mysql").SetCharm(w.ctx, state.SetCharmParams{URL: old})
	w.ok(err)
	if info, err = w.unit("mysql/0").Info(w.ctx); err != nil || info.ForceCharm {
		t.Errorf("the unit is told %+v, %v", info, err)
	}
	w.checkClean()
}

func TestSetCharmSaysWhichSettingsAreNotUsed(t *testing.T) {
	w := newWorld(t)
	url := statetest.Charm(t, w.st, statetest.MySQL, "config.yaml", settable)
	s, err := w.st.AddService(w.ctx, state.AddServiceParams{Name: "mysql", CharmURL: url,
		Config: map[string]any{"a": "one", "b": "two"}})
	w.ok(err)
	unused, err := w.upgrade("mysql", statetest.MySQL, "options:\n  b: {type: int, default: 1}\n  d: {type: int}\n",
		state.SetCharmParams{Config: map[string]any{"d": 4}})
	w.ok(err)
	if !slices.Equal(unused, []string{"a", "b"}) {
		t.Errorf("the unused settings are %v, want a and b", unused)
	}
	set, err := mustService(w, s.Name()).ConfigSettings(w.ctx)
	w.ok(err)
	if len(set) != 1 || set["d"] != int64(4) {
		t.Errorf("the settings are %v, want only d", set)
	}
	_, err = w.upgrade("mysql", statetest.MySQL, settable, state.SetCharmParams{Config: map[string]any{"d": 5}})
	w.refused(err, entity.Invalid, `cannot upgrade service "mysql" to charm "local:jammy/mysql-2": unknown option "d"`)
}

func TestSetCharmAddsPeerRelations(t *testing.T) {
	w := newWorld(t)
	w.deploy("riak", statetest.Riak, 1)
	const more = `{name: riak, summary: s, description: d, provides: {endpoint: {interface: http}},
  peers: {ring: {interface: riak}, gossip: {interface: talk}}}`
	_, err := w.upgrade("riak", more, "{}", state.SetCharmParams{})
	w.ok(err)
	for _, end := range []string{"riak:ring", "riak:gossip"} {
		r, err := w.st.Relation(w.ctx, end)
		w.ok(err)
		if r.Life() != entity.Alive {
			t.Errorf("relation %s is %s", end, r.Life())
		}
	}
	w.checkClean()
}

// The endpoints that are offered to other models stay, or the upgrade is refused, also if they are offered meanwhile.
func TestSetCharmKeepsOffers(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 1)
	offer := func() error {
		return w.st.CrossModel().AddOffer(w.ctx, entity.NewOffer{Name: "shop", Service: "mysql", Endpoints: []string{"server"}})
	}
	remove := func() {
		o, err := w.st.CrossModel().Offer(w.ctx, "shop")
		w.ok(err)
		w.ok(o.Destroy(w.ctx, plain))
	}
	w.ok(offer())
	without := `{name: mysql, summary: s, description: d, provides: {admin: {interface: mysql-root}}}`
	other := `{name: mysql, summary: s, description: d, provides: {server: {interface: pgsql}}}`
	for _, metadata := range []string{without, other} {
		_, err := w.upgrade("mysql", metadata, "{}", state.SetCharmParams{})
		w.refused(err, entity.Invalid, `would break offer "shop"`)
	}
	_, err := w.upgrade("mysql", statetest.MySQL, "{}", state.SetCharmParams{})
	w.ok(err)
	remove()
	p := state.SetCharmParams{URL: statetest.Charm(t, w.st, without, "config.yaml", "{}")}
	svc := mustService(w, "mysql")
	w.st.Before(func() { w.ok(offer()) })
	_, err = svc.SetCharm(w.ctx, p)
	w.refused(err, entity.Invalid, `would break offer "shop"`)
	remove()
	_, err = svc.SetCharm(w.ctx, p)
	w.ok(err)
	w.checkClean()
}

func TestSetCharmRefuses(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 1)
	w.deploy("wordpress", statetest.Wordpress, 1)
	w.relate("wordpress", "mysql")
	without := `{name: mysql, summary: s, description: d, provides: {admin: {interface: mysql-root}}}`
	other := `{name: mysql, summary: s, description: d, provides: {server: {interface: pgsql}}}`
	for _, metadata := range []string{without, other} {
		_, err := w.upgrade("mysql", metadata, "{}", state.SetCharmParams{})
		w.refused(err, entity.Invalid, `would break relation "wordpress:db mysql:server"`)
	}
	_, err := w.upgrade("mysql", statetest.Logging, "{}", state.SetCharmParams{})
	w.refused(err, entity.Invalid, "cannot change a service's subordinacy")
	newer := `{name: mysql, summary: s, description: d, series: [noble, focal], provides: {server: {interface: mysql}}}`
	_, err = w.upgrade("mysql", newer, "{}", state.SetCharmParams{})
	w.refused(err, entity.Invalid, "cannot upgrade charm, only these series are supported: noble, focal")
	_, err = w.upgrade("mysql", newer, "{}", state.SetCharmParams{ForceSeries: true})
	w.ok(err)
	_, err = mustService(w, "mysql").SetCharm(w.ctx, state.SetCharmParams{URL: "local:jammy/none-3"})
	w.refused(err, entity.NotFound, `charm "local:jammy/none-3" not found`)
}

// The hooks that fail when a service is destroyed can be mended.
func TestSetCharmOfADyingService(t *testing.T) {
	w := newWorld(t)
	s := w.deploy("mysql", statetest.MySQL, 1)
	u := w.started("mysql/0")
	w.ok(s.Destroy(w.ctx, entity.Destruction{}))
	const peers = `{name: mysql, summary: s, description: d, provides: {server: {interface: mysql}},
  peers: {ring: {interface: mysql}}}`
	_, err := w.upgrade("mysql", peers, "{}", state.SetCharmParams{ForceUnits: true})
	w.ok(err)
	info, err := u.Info(w.ctx)
	w.ok(err)
	if info.ServiceCharmURL != "local:jammy/mysql-1" || !info.ForceCharm || info.ServiceLife != entity.Dying {
		t.Errorf("the unit is told %+v", info)
	}
	_, err = w.st.Relation(w.ctx, "mysql:ring")
	w.refused(err, entity.NotFound, "not found") // a Dying service gets no new relations
	w.clean()
	w.ok(u.EnsureDead(w.ctx))
	w.ok(u.Remove(w.ctx))
	w.checkClean()
}

// A relation that is added while the charm is changed is not broken by it.
func TestSetCharmMeetsAddRelation(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 1)
	w.deploy("wordpress", statetest.Wordpress, 1)
	url := statetest.Charm(t, w.st, `{name: mysql, summary: s, description: d}`)
	w.st.Before(func() { w.relate("wordpress", "mysql") })
	_, err := mustService(w, "mysql").SetCharm(w.ctx, state.SetCharmParams{URL: url})
	w.refused(err, entity.Invalid, `would break relation "wordpress:db mysql:server"`)
}

// An upgrade to the charm that a service has changes nothing, or only settings. Those are checked against that charm,
// so another client's upgrade comes before or after it.
func TestSetCharmToTheSameCharm(t *testing.T) {
	w := newWorld(t)
	first := statetest.Charm(t, w.st, statetest.MySQL, "config.yaml", settable)
	second := statetest.Charm(t, w.st, statetest.MySQL, "config.yaml", "options:\n  b: {type: int}\n")
	s, err := w.st.AddService(w.ctx, state.AddServiceParams{Name: "mysql", CharmURL: first})
	w.ok(err)
	w.st.Before(func() { t.Error("a transaction changes nothing") })
	_, err = s.SetCharm(w.ctx, state.SetCharmParams{URL: first})
	w.ok(err)
	w.st.Before(func() {
		_, err := mustService(w, "mysql").SetCharm(w.ctx, state.SetCharmParams{URL: second})
		w.ok(err)
	})
	_, err = s.SetCharm(w.ctx, state.SetCharmParams{URL: first, Config: map[string]any{"a": "one"}})
	w.ok(err)
	set, err := mustService(w, "mysql").ConfigSettings(w.ctx)
	w.ok(err)
	if url := mustService(w, "mysql").CharmURL(); url != first || len(set) != 1 || set["a"] != "one" {
		t.Errorf("the charm is %s, with settings %v", url, set)
	}
	w.checkClean()
}
