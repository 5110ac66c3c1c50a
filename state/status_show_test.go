package state_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"juju/state"
	"juju/state/entity"
	"juju/state/statetest"
)

// status returns the status of what the patterns match.
func (w *world) status(patterns ...string) *entity.ModelStatus {
	w.Helper()
	s, err := w.st.Status(w.ctx)
	w.ok(err)
	w.ok(state.MatchStatus(s, patterns))
	return s
}

func TestStatusPatterns(t *testing.T) {
	w := newWorld(t)
	w.deploy("wordpress", statetest.Wordpress, 1)
	w.deploy("mysql", statetest.MySQL, 2)
	w.deploy("logging", statetest.Logging, 0)
	w.relate("wordpress", "mysql")
	r := w.relate("mysql", "logging")
	w.ok(w.started("mysql/0").EnterScope(w.ctx, r.ID()))
	w.ok(w.unit("mysql/1").SetStatus(w.ctx, entity.Status{Status: entity.StatusBlocked, Message: "no disk"}))
	w.ok(mustService(w, "wordpress").Expose(w.ctx, nil))
	for _, c := range []struct {
		patterns []string
		units    string
	}{
		{nil, "mysql/0 logging/0 mysql/1 wordpress/0"},
		{[]string{"mysql"}, "mysql/0 logging/0 mysql/1"},
		{[]string{"mysql/1"}, "mysql/1"},
		{[]string{"logging"}, "mysql/0 logging/0"},
		{[]string{"word*"}, "wordpress/0"},
		{[]string{"exposed"}, "wordpress/0"},
		{[]string{"blocked"}, "mysql/1"},
		{[]string{"0"}, "wordpress/0"},
		{[]string{"nosuch"}, ""},
	} {
		s := w.status(c.patterns...)
		var got []string
		for _, svc := range s.Services {
			for _, u := range svc.Units {
				got = append(got, u.Name)
				for _, sub := range u.Subordinates {
					got = append(got, sub.Name)
				}
			}
		}
		if strings.Join(got, " ") != c.units {
			t.Errorf("%v shows %v, want %s", c.patterns, got, c.units)
		}
	}
	// The leader is found by that name, and patterns that match nothing are named.
	_, err := w.started("mysql/1").ClaimLeadership(w.ctx, time.Minute)
	w.ok(err)
	if units := w.status("mysql/leader").Services[0].Units; len(units) != 1 || units[0].Name != "mysql/1" {
		t.Errorf("mysql/leader is %v", units)
	}
	for _, p := range []string{"mysql/leader", "mysql", "mysql/1", "logging/0", "logging", "*/0", "exposed", "not exposed", "blocked", "1"} {
		if s := w.status("nosuch", p, "mysql/7", "wordpress/leader"); !slices.Equal(s.Unmatched, []string{"nosuch", "mysql/7", "wordpress/leader"}) {
			t.Errorf("with %s, nothing matches %q", p, s.Unmatched)
		}
	}
	// A unit is shown with its machine.
	for pattern, want := range map[string]string{"mysql/1": "2", "logging/0": "1", "logging": "1", "2": "2"} {
		if on := w.status(pattern).Machines; len(on) != 1 || on[0].ID != want {
			t.Errorf("%s is on the machines %v, want %s", pattern, on, want)
		}
	}
	// A relation is shown with either of its services.
	for pattern, want := range map[string]string{
		"wordpress": "wordpress:db mysql:server", "mysql": "wordpress:db mysql:server; logging:info mysql:juju-info",
		"logging/0": "wordpress:db mysql:server; logging:info mysql:juju-info", "nosuch": "",
	} {
		var keys []string
		for _, r := range w.status(pattern).Relations {
			keys = append(keys, r.Key)
		}
		if got := strings.Join(keys, "; "); got != want {
			t.Errorf("%s has the relations %s, want %s", pattern, got, want)
		}
	}
	// A service's strength shows at its units as soon as it is destroyed.
	w.started("wordpress/0")
	w.ok(mustService(w, "wordpress").Destroy(w.ctx, entity.Destruction{Strength: entity.Lenient}))
	if u := w.status("wordpress").Services[0].Units[0]; u.Strength != entity.Lenient {
		t.Errorf("the unit has strength %v", u.Strength)
	}
	s := w.status("mysql")
	if got := s.Services[len(s.Services)-1].Status; got.Status != entity.StatusBlocked || got.Message != "no disk" {
		t.Errorf("the service shows %v, want that of its worst unit", got)
	}
	w.refused(state.MatchStatus(s, []string{"a/b/c"}), entity.Invalid, `pattern "a/b/c" contains too many '/' characters`)
	w.refused(state.MatchStatus(s, []string{"b_d"}), entity.Invalid, `pattern "b_d" contains invalid characters`)
}

func TestDumpShowsEverythingButSecrets(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 1)
	password := state.NewAgentPassword()
	w.ok(w.st.Agents().SetPassword(w.ctx, entity.UnitTag("mysql/0"), password))
	dump, err := w.st.Dump(w.ctx)
	w.ok(err)
	again, err := w.st.Dump(w.ctx)
	w.ok(err)
	if !reflect.DeepEqual(dump, again) {
		t.Error("two dumps of the same contents differ")
	}
	counts, err := w.st.Counts(t.Context())
	w.ok(err)
	for collection, docs := range dump {
		if len(docs) != counts[collection] {
			t.Errorf("the dump has %d of %d documents of %s", len(docs), counts[collection], collection)
		}
		for _, doc := range docs {
			if collection == "credentials" && strings.Contains(string(doc), "mysql") &&
				!strings.Contains(string(doc), "(not shown)") {
				t.Errorf("the dump shows a secret: %s", doc)
			}
			if strings.Contains(string(doc), "txn-") {
				t.Errorf("the dump shows bookkeeping: %s", doc)
			}
		}
	}
	if len(dump["units"]) != 1 || dump["txns"] != nil {
		t.Errorf("units %s, txns %s", dump["units"], dump["txns"])
	}
}

// Until its first hook, a unit's status says what it waits for.
func TestStatusOfANewUnitSaysWhatItWaitsFor(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 1)
	want := func(text string) {
		t.Helper()
		s := w.status().Services[0]
		if got := s.Units[0].Workload; got.Status != entity.StatusWaiting || got.Message != text {
			t.Errorf("the unit is %s: %q, want waiting: %q", got.Status, got.Message, text)
		}
		if s.Status.Message != text {
			t.Errorf("the service says %q, want %q", s.Status.Message, text)
		}
	}
	want("waiting for machine")
	w.fails(w.machine("0"))
	want("waiting for machine 0, which cannot start")
	w.ok(w.machine("0").RetryProvisioning(w.ctx, nil))
	want("waiting for machine")
	m := w.provisioned("0")
	want("waiting for machine")
	w.ok(m.SetStatus(w.ctx, entity.Status{Status: entity.StatusStarted}))
	want("waiting for the address of machine 0")
	w.ok(m.SetAddresses(w.ctx, []string{"10.0.0.1"}))
	want("installing agent")
	w.ok(w.unit("mysql/0").SetAgentStatus(w.ctx, entity.Status{Status: entity.StatusIdle}))
	want("agent initializing")
	w.ok(w.unit("mysql/0").SetStatus(w.ctx, entity.Status{Status: entity.StatusWaiting, Message: "waiting for machine"}))
	want("waiting for machine")
}
