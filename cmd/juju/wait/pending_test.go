package wait

import (
	"fmt"
	"reflect"
	"testing"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/wait/query"
	"juju/cmd/juju/wait/waittest"
	"juju/state/entity"
)

func TestSome(t *testing.T) {
	t.Parallel()
	for want, all := range map[string][]string{
		"": nil, "a": {"a"}, "a, b, c, d": {"a", "b", "c", "d"}, "a, b, c and 2 more": {"a", "b", "c", "d", "e"},
	} {
		if got := Some(all); got != want {
			t.Errorf("%q: %q, want %q", all, got, want)
		}
	}
}

// Of reasons that explain each other, the last ones are causes, if somebody must act on them.
func TestCausesOf(t *testing.T) {
	t.Parallel()
	e := entity.Explanation{Reasons: []entity.Reason{
		{Text: "explained", By: "user"}, {Text: "deep", By: "unit-web-0", Depth: 1}, {Text: "sibling", By: "cleaner", Depth: 1},
		{Text: "reference", Depth: 1}, {Text: "last", By: "user"},
	}}
	var got []string
	for _, r := range CausesOf(e) {
		got = append(got, r.Text)
	}
	if fmt.Sprint(got) != "[deep sibling last]" {
		t.Errorf("causes are %q", got)
	}
}

// A destruction awaits what a relation still has, and nothing of others.
func TestRelationLeft(t *testing.T) {
	t.Parallel()
	m := &entity.ModelStatus{Relations: []entity.RelationStatus{
		{Key: "web:store store:db", Life: entity.Dying, Endpoints: []entity.EndpointStatus{
			{Service: "web", Name: "store"}, {Service: "store", Name: "db"}}},
		{Key: "web:log log:host", Life: entity.Dying, Endpoints: []entity.EndpointStatus{
			{Service: "web", Name: "log"}, {Service: "log", Name: "host"}}},
	}}
	u := Condition{Gone: true, Relation: []string{"web", "store"}}
	want := []cli.Awaited{{Name: `relation "web:store store:db"`, Text: "dying"}}
	if got, err := u.waitsFor(m); err != nil || got.text != `relation "web:store store:db" (dying)` || !reflect.DeepEqual(got.all, want) {
		t.Errorf("waits for %q, %+v, %v", got.text, got.all, err)
	}
	m.Relations[0].Life = entity.Alive // another one, after the first was removed
	if got, err := u.waitsFor(m); err != nil || got.text != "" {
		t.Errorf("waits for %q, %v", got.text, err)
	}
}

// A step of the upgrade of a machine's operating system awaits the units that have not finished it. Only their failures count.
func TestUpgradeLeft(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		model   string
		waiting []string
		retried bool
		text    string
		fails   string
	}{
		{"web/0=active log/0=active 3=started", nil, false, "", ""},
		{"web/0=active:executing log/0=active 3=started", []string{"web/0"}, false, "web/0 (running start hook)", ""},
		{"web/0=error log/0=active 3=started", []string{"log/0"}, false, "log/0 (active)", ""},
		{"web/0=error log/0=active 3=started", []string{"web/0"}, false, "", `unit web/0 is in error: hook failed: "start"`},
		{"web/0=error log/0=active 3=started", []string{"web/0"}, true, `web/0 (error: hook failed: "start")`, ""},
	} {
		m := waittest.Model(test.model)
		for i := range m.Services {
			m.Services[i].Units[0].Machine = "3"
		}
		m.Machines[0].Upgrade = &entity.SeriesUpgrade{Waiting: test.waiting}
		got, err := Condition{Upgrading: "3", retried: test.retried}.waitsFor(m)
		if got.text != test.text || err != nil && err.Error() != test.fails || err == nil && test.fails != "" {
			t.Errorf("%q, %q: waits for %q, %v", test.model, test.waiting, got.text, err)
		}
	}
}

// Subordinates are beside their principals.
func TestEntities(t *testing.T) {
	t.Parallel()
	m := waittest.Model("web/0=active 3=started")
	m.Services[0].Units[0].Subordinates = waittest.Model("log/0=waiting").Services[0].Units
	var got []string
	for _, e := range Entities(m) {
		got = append(got, e.Kind+" "+e.Name)
	}
	if fmt.Sprint(got) != "[unit web/0 unit log/0 service web machine 3]" {
		t.Errorf("entities are %q", got)
	}
}

// What a query is about is what the user says, or else what has such a name.
func TestKindOf(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		said  query.Kind
		names []string
		want  query.Kind
	}{
		{"", nil, query.Model}, {"unit", nil, query.Model}, {"service", []string{"web"}, query.Application},
		{"machine", []string{"web"}, query.Machine}, {"", []string{"3"}, query.Machine}, {"", []string{"3/lxd/0"}, query.Machine},
		{"", []string{"web/0"}, query.Unit}, {"", []string{"web/leader"}, query.Unit}, {"", []string{"web"}, query.Application},
	} {
		if got := kindOf(test.said, test.names); got != test.want {
			t.Errorf("%q, %q: %q, want %q", test.said, test.names, got, test.want)
		}
	}
}
