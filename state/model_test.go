package state_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"reflect"
	"strings"
	"sync"
	"testing"

	"juju/charm"
	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/statetest"
)

const options = `options:
  title: {type: string, default: hello}
  port: {type: int}
  debug: {type: boolean, default: false}
`

func TestSettingsAreAllOrNothing(t *testing.T) {
	w := newWorld(t)
	url := statetest.Charm(t, w.st, statetest.MySQL, "config.yaml", options)
	_, err := w.st.AddService(w.ctx, state.AddServiceParams{Name: "mysql", CharmURL: url,
		Config: map[string]any{"nosuch": "1"}})
	w.refused(err, entity.Invalid, `unknown option "nosuch"`)
	_, err = w.st.Service(w.ctx, "mysql")
	w.gone("service", "mysql", err)

	s, err := w.st.AddService(w.ctx, state.AddServiceParams{Name: "mysql", CharmURL: url,
		Config: map[string]any{"port": 80}})
	w.ok(err)
	config := func() map[string]any {
		t.Helper()
		c, err := s.EffectiveConfig(w.ctx, s.CharmURL())
		w.ok(err)
		return c
	}
	want := map[string]any{"title": "hello", "port": int64(80), "debug": false}
	if got := config(); !reflect.DeepEqual(got, want) {
		t.Errorf("config is %#v, want %#v", got, want)
	}
	w.refused(s.SetConfig(w.ctx, map[string]any{"title": "x", "port": "many"}), entity.Invalid,
		`option "port" expected int, got "many"`)
	w.refused(s.SetConfig(w.ctx, map[string]any{"nosuch": nil}), entity.Invalid, `unknown option "nosuch"`)
	if got := config(); !reflect.DeepEqual(got, want) {
		t.Errorf("a refused change changed it to %#v", got)
	}
	w.ok(s.SetConfig(w.ctx, map[string]any{"title": "x", "port": nil}))
	want = map[string]any{"title": "x", "port": nil, "debug": false}
	if got := config(); !reflect.DeepEqual(got, want) {
		t.Errorf("config is %#v, want %#v", got, want)
	}
}

func TestTrustIsASettingOfTheService(t *testing.T) {
	w := newWorld(t)
	url := statetest.Charm(t, w.st, statetest.MySQL, "config.yaml", "options: {title: {type: string}, trust: {type: string}}")
	s, err := w.st.AddService(w.ctx, state.AddServiceParams{Name: "mysql", CharmURL: url, Units: 1})
	w.ok(err)
	is := func(trusted, isSet bool) (version int64) {
		w.Helper()
		if got, given, err := s.Trust(w.ctx); err != nil || got != trusted || given != isSet {
			w.Errorf("trusted %v, set %v, %v; want %v, %v", got, given, err, trusted, isSet)
		}
		info, err := w.unit("mysql/0").Info(w.ctx)
		w.ok(err)
		return info.ConfigVersion
	}
	before := is(false, false)
	w.refused(s.SetConfig(w.ctx, map[string]any{"trust": "perhaps"}), entity.Invalid, `option "trust" expected bool`)
	w.ok(s.SetConfig(w.ctx, map[string]any{"trust": true, "title": "x"}))
	if is(true, true) == before {
		t.Error("trust made no new version: hooks do not learn of it")
	}
	config, err := s.EffectiveConfig(w.ctx, url)
	w.ok(err)
	if config["title"] != "x" || config["trust"] != nil {
		t.Errorf("the charm's settings are %v", config)
	}
	_, err = s.SetCharm(w.ctx, state.SetCharmParams{URL: statetest.Charm(t, w.st, statetest.MySQL)})
	w.ok(err)
	is(true, true)
	w.ok(s.SetConfig(w.ctx, map[string]any{"trust": false}))
	is(false, true)
	w.ok(s.SetConfig(w.ctx, map[string]any{"trust": nil}))
	is(false, false)
	if _, err = w.st.AddService(w.ctx, state.AddServiceParams{Name: "other", CharmURL: url,
		Config: map[string]any{"trust": true}}); err != nil {
		t.Fatal(err)
	}
	s, err = w.st.Service(w.ctx, "other")
	w.ok(err)
	if trusted, _, err := s.Trust(w.ctx); err != nil || !trusted {
		t.Errorf("deployed with trust: %v, %v", trusted, err)
	}
}

func TestUnchangedSettingsWakeNoWatcher(t *testing.T) {
	w := newWorld(t)
	url := statetest.Charm(t, w.st, statetest.MySQL, "config.yaml", options)
	s, err := w.st.AddService(w.ctx, state.AddServiceParams{Name: "mysql", CharmURL: url, Units: 1})
	w.ok(err)
	version := func() int64 {
		info, err := w.unit("mysql/0").Info(w.ctx)
		w.ok(err)
		return info.ConfigVersion
	}
	w.ok(s.SetConfig(w.ctx, map[string]any{"title": "x"}))
	before := version()
	w.ok(s.SetConfig(w.ctx, map[string]any{"title": "x", "port": nil}))
	if version() != before {
		t.Error("setting what is set made a new version")
	}
	w.ok(s.SetConfig(w.ctx, map[string]any{"title": "y"}))
	if version() == before {
		t.Error("a change made no new version")
	}
}

func TestHookCommitsAllOrNothing(t *testing.T) {
	w := newWorld(t)
	w.deploy("wordpress", statetest.Wordpress, 1)
	w.deploy("mysql", statetest.MySQL, 1)
	r := w.relate("wordpress", "mysql")
	u := w.started("mysql/0")
	w.ok(u.EnterScope(w.ctx, r.ID()))
	err := u.CommitHook(w.ctx, entity.HookChanges{
		Relations: map[int]map[string]string{r.ID(): {"user": "me"}},
		OpenPorts: []entity.PortRange{{From: 0, To: 0, Protocol: "tcp"}},
	})
	w.refused(err, entity.Invalid, "port range bounds must be between 1 and 65535, got 0-0")
	settings, err := u.RelationSettings(w.ctx, r.ID(), "mysql/0")
	w.ok(err)
	if _, there := settings["user"]; there {
		t.Error("some of the changes were written")
	}
}

// A hook does not fail because it set something in a relation that force has
// removed meanwhile; its other changes are made.
func TestHookSettingsForARemovedRelationAreDropped(t *testing.T) {
	w, _ := forcedWorld(t)
	w.deploy("mysql", statetest.MySQL, 1)
	w.deploy("wordpress", statetest.Wordpress, 1)
	w.deploy("logging", statetest.Logging, 0)
	stays, goes := w.relate("mysql", "wordpress"), w.relate("mysql", "logging")
	u := w.started("mysql/0")
	w.ok(u.EnterScope(w.ctx, stays.ID()))
	remove := func() {
		w.ok(goes.Destroy(w.ctx, atLast))
		w.clean()
		_, err := w.st.RelationByID(w.ctx, goes.ID())
		w.gone("relation", goes.Key(), err)
	}
	for i, when := range []string{"before it is committed", "during the commit"} {
		w.ok(u.EnterScope(w.ctx, goes.ID()))
		changes := entity.HookChanges{
			Relations: map[int]map[string]string{stays.ID(): {"try": when}, goes.ID(): {"user": "me"}},
			OpenPorts: []entity.PortRange{port(80 + i)},
		}
		if i == 0 {
			remove()
		} else {
			w.st.Before(remove)
		}
		w.ok(u.CommitHook(w.ctx, changes))
		settings, err := u.RelationSettings(w.ctx, stays.ID(), "mysql/0")
		w.ok(err)
		open, err := u.OpenedPorts(w.ctx)
		w.ok(err)
		if settings["try"] != when || len(open["mysql/0"]) != i+1 {
			t.Errorf("relation removed %s: settings are %v and ports %v", when, settings, open)
		}
		w.checkCounts()
		goes = w.relate("mysql", "logging")
	}
	w.refused(u.CommitHook(w.ctx, entity.HookChanges{Relations: map[int]map[string]string{goes.ID(): {"user": "me"}}}),
		entity.NotFound, "settings") // never in its scope
}

// Only what is gone is dropped: a relation that never was, or is another service's, is an error.
func TestHookSettingsForOthersRelationsAreRefused(t *testing.T) {
	w := newControllers(t, 1).worlds[0]
	w.deploy("mysql", statetest.MySQL, 1)
	w.deploy("wordpress", statetest.Wordpress, 1)
	w.deploy("riak", statetest.Riak, 1)
	r := w.relate("mysql", "wordpress")
	w.claims("riak/0", 1)
	for id, want := range map[int]string{r.ID() + 1: "not found", -1: "not found", r.ID(): "not a member"} {
		settings := map[string]string{"user": "me"}
		own := entity.HookChanges{Relations: map[int]map[string]string{id: settings}}
		w.refused(w.unit("riak/0").CommitHook(w.ctx, own), entity.NotFound, want)
		w.refused(w.unit("riak/0").CommitHook(w.ctx, forAll(id, 1, settings)), entity.NotFound, want)
	}
}

func TestResolveFailedHook(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 1)
	u := w.started("mysql/0")
	w.refused(u.Resolve(w.ctx, true), entity.Invalid, `unit "mysql/0" is not in an error state`)
	w.refused(u.SetStatus(w.ctx, entity.Status{Status: entity.StatusError}), entity.Invalid, "without info")
	w.ok(u.SetStatus(w.ctx, entity.Status{Status: entity.StatusError, Message: `hook failed: "install"`}))
	w.ok(u.Resolve(w.ctx, true))
	w.refused(u.Resolve(w.ctx, false), entity.Invalid, `cannot set resolved mode for unit "mysql/0": already resolved`)
	info, err := u.Info(w.ctx)
	w.ok(err)
	if info.Resolved != entity.ResolvedRetry {
		t.Errorf("resolved is %q", info.Resolved)
	}
	// Otherwise a client waiting for the unit would take the old failure for a new
	// one.
	status, err := w.st.Status(w.ctx)
	w.ok(err)
	if shown := status.Services[0].Units[0]; shown.Name != "mysql/0" || shown.Resolved != entity.ResolvedRetry {
		t.Errorf("status shows %+v", shown)
	}
	w.ok(u.ClearResolved(w.ctx))
	w.ok(u.Resolve(w.ctx, false))
}

func TestCharmRevisions(t *testing.T) {
	w := newWorld(t)
	archive := statetest.CharmArchive(t, statetest.MySQL)
	first, err := w.st.Charms().Add(w.ctx, archive, "")
	w.ok(err)
	second, err := w.st.Charms().Add(w.ctx, archive, "")
	w.ok(err)
	if first != "local:jammy/mysql-0" || second != "local:jammy/mysql-1" {
		t.Errorf("URLs are %s and %s", first, second)
	}
	r, sum, err := w.st.Charms().Archive(w.ctx, second)
	w.ok(err)
	data, err := io.ReadAll(r)
	w.ok(err)
	w.ok(r.Close())
	if got := sha256.Sum256(data); hex.EncodeToString(got[:]) != sum {
		t.Error("the archive is not what was stored")
	}
	if _, err := charm.ReadArchiveFrom(w.ctx, bytes.NewReader(data), int64(len(data))); err != nil {
		t.Error(err)
	}
	_, err = w.st.Charms().Get(w.ctx, "local:jammy/nosuch-0")
	w.gone("charm", "nosuch", err)
}

func TestLogin(t *testing.T) {
	w := newWorld(t)
	u, err := w.ctrl.CheckUser(w.ctx, statetest.Admin, statetest.Password)
	w.ok(err)
	if u.Access != controller.AccessSuperuser {
		t.Errorf("access is %q", u.Access)
	}
	for _, c := range [][2]string{{statetest.Admin, "wrong"}, {"nobody", statetest.Password}, {statetest.Admin, ""}} {
		_, err := w.ctrl.CheckUser(w.ctx, c[0], c[1])
		w.refused(err, entity.Unauthorized, "invalid entity name or password")
	}
	w.deploy("mysql", statetest.MySQL, 1)
	unit, machine := entity.UnitTag("mysql/0"), entity.MachineTag("0")
	// An agent has no password until one is set, not even an empty one.
	w.refused(w.st.Agents().Check(w.ctx, unit, "", ""), entity.Unauthorized, "invalid entity name or password")
	password := state.NewAgentPassword()
	w.ok(w.st.Agents().SetPassword(w.ctx, unit, password))
	w.ok(w.st.Agents().Check(w.ctx, unit, password, ""))
	w.refused(w.st.Agents().Check(w.ctx, entity.UnitTag("mysql/1"), password, ""), entity.Unauthorized, "")
	w.refused(w.st.Agents().SetPassword(w.ctx, unit, "short"), entity.Invalid,
		"password is only 5 bytes long, and is not a valid Agent password")
	w.ok(w.st.Agents().SetPassword(w.ctx, machine, password))
	w.refused(w.st.Agents().Check(w.ctx, machine, password, "n"), entity.NotProvisioned, "machine 0 not provisioned")
	m, err := w.st.Machine(w.ctx, "0")
	w.ok(err)
	w.ok(m.SetProvisioned(w.ctx, entity.Instance{ID: "i", Nonce: "n"}))
	w.refused(m.SetProvisioned(w.ctx, entity.Instance{ID: "j", Nonce: "m"}), entity.Invalid, "already set")
	w.ok(w.st.Agents().Check(w.ctx, machine, password, "n"))
	w.refused(w.st.Agents().Check(w.ctx, machine, password, "other"), entity.NotProvisioned, "")
	w.ok(w.unit("mysql/0").Destroy(w.ctx, entity.Destruction{}))
	w.refused(w.st.Agents().Check(w.ctx, unit, password, ""), entity.Unauthorized, "")
}

func TestAddModel(t *testing.T) {
	w := newWorld(t)
	_, err := w.ctrl.AddModel(w.ctx, controller.AddModelParams{Name: "default", Owner: statetest.Admin})
	w.refused(err, entity.AlreadyExists, `model "default" for admin already exists`)
	_, err = w.ctrl.AddModel(w.ctx, controller.AddModelParams{Name: "Bad Name", Owner: statetest.Admin})
	w.refused(err, entity.Invalid, "is not a valid name")
	events, err := w.ctrl.WatchModels(w.ctx)
	w.ok(err)
	if first := next(t, events); len(first) != 2 {
		t.Errorf("first event names %v, want the controller's model and the default one", first)
	}
	st, err := w.ctrl.AddModel(w.ctx, controller.AddModelParams{Name: "other", Owner: statetest.Admin, Series: "noble"})
	w.ok(err)
	named(t, events, st.UUID())
	// Names in one model are independent of those in another.
	other := &world{T: t, ctx: w.ctx, ctrl: w.ctrl, st: st}
	other.deploy("mysql", statetest.MySQL, 1)
	_, err = w.st.Service(w.ctx, "mysql")
	w.gone("service", "mysql", err)
	if s := mustService(other, "mysql"); s.Series() != "noble" {
		t.Errorf("series is %q, want the model's", s.Series())
	}
}

func TestUnusedMachinesAreAssignedFirst(t *testing.T) {
	w := newWorld(t)
	_, err := w.st.AddMachine(w.ctx, state.AddMachineParams{})
	w.ok(err)
	_, err = w.st.AddMachine(w.ctx, state.AddMachineParams{Series: "noble"})
	w.ok(err)
	s := w.deploy("mysql", statetest.MySQL, 2)
	if m := w.unit("mysql/0").Machine(); m != "0" {
		t.Errorf("the first unit is on %s", m)
	}
	if m := w.unit("mysql/1").Machine(); m != "2" {
		t.Errorf("the second unit is on %s", m)
	}
	_, err = s.AddUnits(w.ctx, 1, statetest.To("1"))
	w.refused(err, entity.Invalid, "series does not match")
	_, err = s.AddUnits(w.ctx, 1, statetest.To("77"))
	w.refused(err, entity.NotFound, "machine 77 not found")
	if _, err := w.st.Unit(w.ctx, "mysql/2"); err == nil {
		t.Error("a refused placement added a unit")
	}
}

// A container takes only units placed in it.
func TestContainersTakeOnlyPlacedUnits(t *testing.T) {
	w := newWorld(t)
	c, err := w.st.AddMachine(w.ctx, state.AddMachineParams{Placement: statetest.At("lxd")})
	w.ok(err)
	my := w.deploy("mysql", statetest.MySQL, 1)
	if got := w.unit("mysql/0").Machine(); got != "1" {
		t.Errorf("mysql/0 is on machine %s, want a new one", got)
	}
	_, err = my.AddUnits(w.ctx, 1, statetest.To(c.ID()))
	w.ok(err)
	if got := w.unit("mysql/1").Machine(); got != c.ID() {
		t.Errorf("mysql/1 is on machine %s, want container %s", got, c.ID())
	}
}

// Concurrent deploys never share a clean machine or a service name.
func TestConcurrentDeploy(t *testing.T) {
	w := newWorld(t)
	url := statetest.Charm(t, w.st, statetest.MySQL)
	for range 3 {
		_, err := w.st.AddMachine(w.ctx, state.AddMachineParams{})
		w.ok(err)
	}
	var wg sync.WaitGroup
	made := make([]error, 6)
	for i := range made {
		wg.Go(func() {
			name := string(rune('a' + i%3))
			_, made[i] = w.st.AddService(w.ctx, state.AddServiceParams{Name: name, CharmURL: url, Units: 1})
		})
	}
	wg.Wait()
	on := map[string]string{}
	for _, name := range []string{"a", "b", "c"} {
		units := 0
		status := w.status(name)
		for _, u := range status.Services[0].Units {
			units++
			if other, taken := on[u.Machine]; taken {
				t.Errorf("%s and %s are both on machine %s", u.Name, other, u.Machine)
			}
			on[u.Machine] = u.Name
		}
		if units != 1 {
			t.Errorf("%s has %d units", name, units)
		}
	}
	for _, err := range made {
		if err != nil && !strings.Contains(err.Error(), "service already exists") {
			t.Error(err)
		}
	}
}

func TestConstraintsAreCapturedWhenAUnitIsAdded(t *testing.T) {
	w := newWorld(t)
	url := statetest.Charm(t, w.st, statetest.MySQL)
	_, err := w.st.AddService(w.ctx, state.AddServiceParams{Name: "mysql", CharmURL: url, Units: 1, Constraints: statetest.Constraints("mem=2G")})
	w.ok(err)
	m, err := w.st.Machine(w.ctx, "0")
	w.ok(err)
	info, err := m.Info(w.ctx)
	w.ok(err)
	if info.Constraints != "mem=2048M" {
		t.Errorf("the machine's constraints are %q", info.Constraints)
	}
	_, err = w.st.AddService(w.ctx, state.AddServiceParams{Name: "bad", CharmURL: url, Constraints: statetest.Constraints("instance-type=x mem=1G")})
	w.refused(err, entity.Invalid, "ambiguous constraints")
	sub := statetest.Charm(t, w.st, statetest.Logging)
	_, err = w.st.AddService(w.ctx, state.AddServiceParams{Name: "logging", CharmURL: sub, Constraints: statetest.Constraints("mem=2G")})
	w.refused(err, entity.Invalid, "subordinate service must be deployed without constraints")
}
