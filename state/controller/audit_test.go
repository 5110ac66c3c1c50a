package controller_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/statetest"
)

// calls returns the calls of the entries that a filter selects.
func calls(t *testing.T, c *controller.Controller, f entity.AuditFilter) string {
	t.Helper()
	if f.Limit == 0 {
		f.Limit = 100
	}
	entries, err := c.AuditLog(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Call)
	}
	return strings.Join(names, " ")
}

func TestAuditLogIsFiltered(t *testing.T) {
	t.Parallel()
	c, st := statetest.Controller(t)
	began := time.Date(2026, 11, 26, 10, 0, 0, 0, time.UTC)
	model := entity.AuditModel{UUID: st.UUID(), Name: "m", Owner: "Bob"}
	for i, e := range []entity.AuditEntry{
		{User: "bob", Call: "a", Models: []entity.AuditModel{model}},
		{User: "Bob", Call: "b", Error: "permission denied", Code: "unauthorized access", Args: json.RawMessage(`{"x":1}`)},
		{User: "eve", Call: "c", Models: []entity.AuditModel{{Name: "m", Owner: "eve"}, model}},
		{User: "bobby", Call: "d", Models: []entity.AuditModel{{Name: "n", Owner: "Bob"}}},
	} {
		e.Time, e.From, e.Version = began.Add(time.Duration(i)*time.Hour), "10.0.0.1:5", 3
		if _, err := c.Audit(t.Context(), e, ""); err != nil {
			t.Fatal(err)
		}
	}
	for want, f := range map[string]entity.AuditFilter{
		"a b c d": {}, "c d": {Limit: 2}, "a b": {User: "BOB"}, "a c": {Model: st.UUID()}, "d": {Model: "bob/n"},
		"a c ": {Model: "m"}, "a c  ": {Model: "bob/m"}, "c": {Model: "eve/m"}, "b c d": {Since: began.Add(time.Hour)},
		"b": {Since: began.Add(time.Hour), Until: began.Add(2 * time.Hour)}, "": {User: "b.b"}, " ": {Model: "x/m"},
	} {
		if got := calls(t, c, f); got != strings.TrimSpace(want) {
			t.Errorf("%+v selects %q, want %q", f, got, want)
		}
	}
	all, err := c.AuditLog(t.Context(), entity.AuditFilter{Limit: 3, Until: began.Add(2 * time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%+v %s", all[1], all[1].Args); got != fmt.Sprintf("{Time:%v User:Bob From:10.0.0.1:5 Models:[] "+
		"Call:b Version:3 Args:[123 34 120 34 58 49 125] Error:permission denied Code:unauthorized access} {\"x\":1}", all[1].Time) {
		t.Errorf("an entry is %s", got)
	}
}

// The log keeps the newest entries, in a limited number of bytes.
func TestAuditLogIsBounded(t *testing.T) {
	t.Parallel()
	c, _ := statetest.ControllerWith(t, controller.Options{Sizes: state.Sizes{Log: 1 << 20, History: 1 << 20, Audit: 16 << 10}})
	for i := range 200 {
		if _, err := c.Audit(t.Context(), entity.AuditEntry{Time: time.Now(), User: "bob", Call: fmt.Sprint(i), Args: json.RawMessage(
			fmt.Sprintf("%q", strings.Repeat("x", 1000)))}, ""); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := c.AuditLog(t.Context(), entity.AuditFilter{Limit: 1000})
	if n := len(entries); err != nil || n < 10 || n > 16 || entries[n-1].Call != "199" || entries[0].Call != fmt.Sprint(200-n) {
		t.Errorf("of 200 entries it keeps %d, error %v", n, err)
	}
}

// An entry that replaces another one stands in its place.
func TestAuditEntryIsReplaced(t *testing.T) {
	t.Parallel()
	c, _ := statetest.Controller(t)
	ids := map[string]string{}
	for _, step := range []struct{ call, of string }{{"a", ""}, {"b", ""}, {"c", ""}, {"B", "b"}, {"d", ""}, {"D", "d"}} {
		id, err := c.Audit(t.Context(), entity.AuditEntry{Time: time.Now(), Call: step.call}, ids[step.of])
		if err != nil {
			t.Fatal(err)
		}
		ids[step.call] = id
	}
	if got := calls(t, c, entity.AuditFilter{}); got != "a c B D" {
		t.Errorf("the log is %s", got)
	}
	if got := calls(t, c, entity.AuditFilter{Limit: 3}); got != "c B D" {
		t.Errorf("its end is %s", got)
	}
}
