package state_test

import (
	"maps"
	"testing"

	"juju/state"
	"juju/state/entity"
	"juju/state/statetest"
)

// related holds two units in a relation: own, and peer, which reads the
// settings of own.
type related struct {
	*world
	r         *state.Relation
	own, peer *state.Unit
}

func newRelated(t *testing.T) *related {
	t.Helper()
	t.Parallel() // a watch takes a second to end
	w := newWorld(t)
	w.deploy("wordpress", statetest.Wordpress, 1)
	w.deploy("mysql", statetest.MySQL, 1)
	rel := &related{w, w.relate("wordpress", "mysql"), w.started("mysql/0"), w.started("wordpress/0")}
	w.ok(rel.own.EnterScope(w.ctx, rel.r.ID()))
	w.ok(rel.peer.EnterScope(w.ctx, rel.r.ID()))
	return rel
}

func (r *related) set(values map[string]string) {
	r.Helper()
	r.ok(r.own.CommitHook(r.ctx, entity.HookChanges{Relations: map[int]map[string]string{r.r.ID(): values}}))
}

// version returns the version of own's settings as peer sees it.
func (r *related) version() int64 {
	r.Helper()
	events, err := r.st.Watches().RelationUnits(r.ctx, r.peer.Name(), r.r.ID())
	r.ok(err)
	v, there := next(r.T, events).Changed[r.own.Name()]
	if !there {
		r.Fatalf("%s does not see %s", r.peer.Name(), r.own.Name())
	}
	return v
}

func (r *related) sees() map[string]string {
	r.Helper()
	settings, err := r.peer.RelationSettings(r.ctx, r.r.ID(), r.own.Name())
	r.ok(err)
	return settings
}

func TestReenteringAScopeResetsSettings(t *testing.T) {
	r := newRelated(t)
	r.set(map[string]string{"user": "me", "private-address": "10.0.0.1"})
	before := r.version()
	r.ok(r.own.LeaveScope(r.ctx, r.r.ID()))
	if got := r.sees(); got["user"] != "me" {
		t.Errorf("the settings of a unit that left are gone: %v", got) // kept as long as the relation
	}
	m, err := r.st.Machine(r.ctx, r.own.Machine())
	r.ok(err)
	r.ok(m.SetAddresses(r.ctx, []string{"10.0.0.9"}))
	r.ok(r.own.EnterScope(r.ctx, r.r.ID()))
	if got, want := r.sees(), map[string]string{"private-address": "10.0.0.9", "ingress-address": "10.0.0.9",
		"egress-subnets": "10.0.0.9/32"}; !maps.Equal(got, want) {
		t.Errorf("after entering again the settings are %v, want %v", got, want)
	}
	// The model can say where the connections of its units come from, also when a unit's address changes.
	r.ok(r.st.Settings().SetConfig(r.ctx, map[string]string{"egress-subnets": "10.1.0.0/24, fd00::/8"}, nil))
	r.ok(r.own.LeaveScope(r.ctx, r.r.ID()))
	r.ok(r.own.EnterScope(r.ctx, r.r.ID()))
	r.ok(m.SetAddresses(r.ctx, []string{"10.0.0.8"}))
	if got, want := r.sees(), map[string]string{"private-address": "10.0.0.8", "ingress-address": "10.0.0.8",
		"egress-subnets": "10.1.0.0/24,fd00::/8"}; !maps.Equal(got, want) {
		t.Errorf("with egress subnets the settings are %v, want %v", got, want)
	}
	for value, says := range map[string]string{"10.1.0.0": `egress-subnets: invalid CIDR "10.1.0.0"`,
		"fd00::/8,10.1.0.1/24": `egress-subnets: invalid CIDR "10.1.0.1/24": it is an address in the network 10.1.0.0/24`,
		"::/0":                 `egress-subnets: CIDR "::/0" not allowed`} {
		r.refused(r.st.Settings().SetConfig(r.ctx, map[string]string{"egress-subnets": value}, nil), entity.Invalid, says)
	}
	if after := r.version(); after == before {
		t.Errorf("settings of another stay also have version %d", after)
	}
}

// Units that are in a relation publish the subnets that the model names, and their own again when it names none. What a
// charm has set stays.
func TestUnitsPublishTheSubnetsOfTheModel(t *testing.T) {
	r := newRelated(t)
	m, err := r.st.Machine(r.ctx, r.own.Machine())
	r.ok(err)
	r.ok(m.SetAddresses(r.ctx, []string{"10.0.0.9"}))
	version := r.version()
	change := func(values map[string]string, reset []string, want string, told bool) {
		t.Helper()
		r.ok(r.st.Settings().SetConfig(r.ctx, values, reset))
		r.clean()
		if got := r.sees()["egress-subnets"]; got != want {
			t.Errorf("after %v, without %v, it publishes %q, want %q", values, reset, got, want)
		}
		after := r.version()
		if (after != version) != told {
			t.Errorf("after %v, without %v, its peer is told: %v", values, reset, after != version)
		}
		version = after
	}
	egress := func(subnets string) map[string]string { return map[string]string{"egress-subnets": subnets} }
	change(egress("10.1.0.0/24"), nil, "10.1.0.0/24", true)
	change(egress("10.1.0.0/24"), nil, "10.1.0.0/24", false)
	change(egress("10.2.0.0/24"), nil, "10.2.0.0/24", true)
	change(nil, []string{"egress-subnets"}, "10.0.0.9/32", true)
	r.set(egress("10.3.0.0/24"))
	version = r.version()
	change(egress("10.1.0.0/24"), nil, "10.3.0.0/24", false)
}

func TestSettingsAreVisibleOnceTheHookSucceeds(t *testing.T) {
	r := newRelated(t)
	before, was := r.version(), r.sees()
	// The hook that sets it also opens an invalid port, and so fails.
	err := r.own.CommitHook(r.ctx, entity.HookChanges{
		Relations: map[int]map[string]string{r.r.ID(): {"user": "me"}},
		OpenPorts: []entity.PortRange{{From: 0, To: 1, Protocol: "tcp"}},
	})
	r.refused(err, entity.Invalid, "port range bounds")
	if got := r.sees(); !maps.Equal(got, was) || r.version() != before {
		t.Errorf("after a failed hook the settings are %v (before %v)", got, was)
	}
}

func TestNullRelationSetIsNoChange(t *testing.T) {
	r := newRelated(t)
	r.set(map[string]string{"user": "me"})
	before := r.version()
	txns := func() int {
		counts, err := r.st.Counts(t.Context())
		r.ok(err)
		return counts["txns"]
	}
	had := txns()
	r.set(map[string]string{"user": "me"})
	r.set(map[string]string{"never-there": ""})
	r.set(nil)
	if after := r.version(); after != before || txns() != had {
		t.Errorf("nothing changed, but the version is %d after %d, with %d more transactions", after, before, txns()-had)
	}
	seen := map[int64]bool{before: true}
	for _, values := range []map[string]string{{"user": "you"}, {"user": ""}, {"user": "me"}} {
		r.set(values)
		if v := r.version(); seen[v] {
			t.Errorf("version %d is reused after %v", v, values)
		} else {
			seen[v] = true
		}
	}
}

// Two concurrent writes both take effect, and each raises the version.
func TestConcurrentSettingsWrites(t *testing.T) {
	r := newRelated(t)
	before := r.version()
	r.st.Before(func() { r.set(map[string]string{"b": "2"}) })
	r.set(map[string]string{"a": "1"})
	got := r.sees()
	if got["a"] != "1" || got["b"] != "2" || r.version() != before+2 {
		t.Errorf("settings are %v, version %d after %d", got, r.version(), before)
	}
	// Writing what another client has just written is no change.
	r.st.Before(func() { r.set(map[string]string{"c": "3"}) })
	r.set(map[string]string{"c": "3"})
	if r.version() != before+3 {
		t.Errorf("version %d after %d", r.version(), before+2)
	}
}

func TestSettingsKeysThatNeedEscaping(t *testing.T) {
	r := newRelated(t)
	want := map[string]string{"a.b": "1", "$set": "2", "a": "3", ".": "4"}
	r.set(want)
	got := r.sees()
	delete(got, "private-address")
	if !maps.Equal(got, want) {
		t.Errorf("settings are %q, want %q", got, want)
	}
	before := r.version()
	r.set(want)
	if r.version() != before {
		t.Error("writing them again was a change")
	}
	r.set(map[string]string{"a.b": "", "$set": ""})
	got = r.sees()
	if _, there := got["a.b"]; there || got["a"] != "3" {
		t.Errorf("settings are %q", got)
	}
}
