package dashboard

import (
	"fmt"
	"strings"
	"testing"
)

// The page of events has what has happened, the newest first, and no more than it has room for.
func TestChanges(t *testing.T) {
	m := NewMirror()
	applies(t, m, true, "a-1", `[
	 ["application","change",{"name":"web","charm-url":"local:web-0","status":{"current":"active","since":"2026-01-02T03:04:05Z"}}],
	 ["unit","change",{"name":"web/0","application":"web","workload-status":{"current":"active","message":"ready","since":"2026-01-02T03:04:07Z"},
	   "agent-status":{"current":"idle","since":"2026-01-02T03:04:06Z"}}],
	 ["action","change",{"id":"1","name":"backup","receiver":"web/0","status":"completed"}]]`)
	says := func(want ...string) {
		t.Helper()
		var got []string
		for _, c := range m.Changes().Rows {
			got = append(got, fmt.Sprintf("%s %s %s", c.Kind, c.Name, c.Text))
		}
		if len(got) < len(want) || strings.Join(got[:len(want)], "\n") != strings.Join(want, "\n") {
			t.Errorf("the changes are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	says("unit web/0 active: ready", "unit web/0 agent idle", "service web active")
	applies(t, m, false, "a-2", `[["unit","change",{"name":"web/0","application":"web","life":"dying","workload-status":{"current":"active","message":"ready"},
	   "agent-status":{"current":"executing","message":"running stop hook"}}],
	 ["application","change",{"name":"web","charm-url":"local:web-1","status":{"current":"active"}}],
	 ["action","change",{"id":"2","name":"backup","receiver":"web/0","status":"failed","message":"no room"}],
	 ["machine","change",{"id":"7"}]]`)
	says("machine 7 added", "task 2 backup on web/0: failed no room", "service web charm local:web-1", "unit web/0 agent executing: running stop hook",
		"unit web/0 is being removed", "unit web/0 active: ready")
	applies(t, m, false, "a-3", `[["unit","remove",{"name":"web/0"}],["annotation","change",{"tag":"application-web","annotations":{"gui-x":"1"}}]]`)
	says("unit web/0 removed", "machine 7 added")
	for i := range 2 * maxChanges {
		applies(t, m, false, fmt.Sprint("a-", i+4), fmt.Sprintf(`[["machine","change",{"id":"%d"}]]`, i+8))
	}
	if n := len(m.Changes().Rows); n != maxChanges {
		t.Errorf("%d changes are kept", n)
	}
	says(fmt.Sprintf("machine %d added", 2*maxChanges+7))
}

// What a page shows has another version whenever a part of it has changed, and only then.
func TestVersions(t *testing.T) {
	m := NewMirror()
	applies(t, m, true, "a-1", shop)
	changes := func(topics []Topic, deltas string) bool {
		t.Helper()
		before := m.Version(topics)
		applies(t, m, false, "a-2", deltas)
		return m.Version(topics) != before
	}
	unit := `[["unit","change",{"name":"web/0","application":"web","machine-id":"4"}]]`
	for page, want := range map[string]bool{"": true, "units": true, "unit/web/0": true, "service/web": true, "machine/4": true, "changes": true,
		"unit/web/10": false, "service/db": false, "machine/5": false, "operations": false, "access": false} {
		if changes(TopicsOf(page), unit) != want {
			t.Errorf("a change of web/0 changes the page %q: %v", page, !want)
		}
	}
	if !changes(TopicsOf("unit/web/0"), `[["unit","remove",{"name":"web/0"}]]`) || !changes(TopicsOf("machine/4"), unit) {
		t.Error("a unit that is removed, or that comes to a machine, changes no page")
	}
	// Units are removed one after the other.
	applies(t, m, false, "a-3", `[["unit","change",{"name":"db/7","application":"db","machine-id":"8"}],["unit","change",{"name":"db/8","application":"db","machine-id":"8"}],
	 ["unit","change",{"name":"db/9","application":"db","machine-id":"8"}]]`)
	for _, name := range []string{"db/7", "db/8", "db/9"} {
		service, machine := m.Version(TopicsOf("service/db")), m.Version(TopicsOf("machine/8"))
		applies(t, m, false, "a-4", `[["unit","remove",{"name":"`+name+`"}]]`)
		if m.Version(TopicsOf("service/db")) == service || m.Version(TopicsOf("machine/8")) == machine {
			t.Errorf("the end of %s changes no page of its service or machine", name)
		}
	}
	applies(t, m, false, "a-5", `[["machine","change",{"id":"8"}],["machine","remove",{"id":"8"}],["application","remove",{"name":"db"}]]`)
	if m.touched["units-on 8"] != 0 || m.touched["units-of db"] != 0 {
		t.Errorf("the mirror remembers %v of what was removed", m.touched)
	}
	if TopicsOf("nosuch") != nil || changes(TopicsOf("nosuch"), unit) {
		t.Error("a page that is none has topics")
	}
}
