package dashboard

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"juju/state/entity"
)

// The page of events has what has happened, the newest first, and no more than it has room for.
func TestChanges(t *testing.T) {
	m := NewMirror()
	at := func(second int) time.Time { return time.Date(2026, 1, 2, 3, 4, second, 0, time.UTC) }
	saysAt := func(word entity.StatusWord, message string, second int) entity.Status {
		return entity.Status{Status: word, Message: message, Since: at(second)}
	}
	task := func(id string, status entity.TaskStatus, message string) *entity.Task {
		return &entity.Task{ID: id, Name: "backup", Receiver: "web/0", Status: status, Message: message}
	}
	web := func(charm string) *entity.ServicePart {
		return service("web", entity.ServiceStatus{CharmURL: charm, Status: saysAt("active", "", 5)})
	}
	begins(t, m, "a-1", web("local:web-0"), unit("web/0", "web", "", saysAt("active", "ready", 7), saysAt("idle", "", 6)), task("1", "completed", ""))
	lists := func(want ...string) {
		t.Helper()
		var got []string
		for _, c := range m.Changes().Rows {
			got = append(got, fmt.Sprintf("%s %s %s", c.Kind, c.Name, c.Text))
		}
		if len(got) < len(want) || strings.Join(got[:len(want)], "\n") != strings.Join(want, "\n") {
			t.Errorf("the changes are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	lists("unit web/0 active: ready", "unit web/0 agent idle", "service web active")
	dying := unit("web/0", "web", "", says("active", "ready"), says("executing", "running stop hook"))
	dying.Life = entity.Dying
	becomes(t, m, dying, web("local:web-1"), task("2", "failed", "no room"), &entity.MachineStatus{ID: "7"})
	lists("machine 7 added", "task 2 backup on web/0: failed no room", "service web charm local:web-1", "unit web/0 agent executing: running stop hook",
		"unit web/0 is being removed", "unit web/0 active: ready")
	removes(t, m, dying)
	becomes(t, m, &entity.AnnotationsPart{Tag: entity.ServiceTag("web"), Annotations: map[string]string{"gui-x": "1"}})
	lists("unit web/0 removed", "machine 7 added")
	for i := range 2 * maxChanges {
		becomes(t, m, &entity.MachineStatus{ID: strconv.Itoa(i + 8)})
	}
	if n := len(m.Changes().Rows); n != maxChanges {
		t.Errorf("%d changes are kept", n)
	}
	lists(fmt.Sprintf("machine %d added", 2*maxChanges+7))
}

// What a page shows has another version whenever a part of it has changed, and only then.
func TestVersions(t *testing.T) {
	m := NewMirror()
	begins(t, m, "a-1", shop()...)
	changes := func(topics []Topic, take func()) bool {
		t.Helper()
		before := m.Version(topics)
		take()
		return m.Version(topics) != before
	}
	none := entity.Status{}
	on4 := unit("web/0", "web", "4", none, none)
	moves := func() { becomes(t, m, on4) }
	for page, want := range map[string]bool{"": true, "units": true, "unit/web/0": true, "service/web": true, "machine/4": true, "changes": true,
		"unit/web/10": false, "service/db": false, "machine/5": false, "operations": false, "access": false} {
		if changes(TopicsOf(page), moves) != want {
			t.Errorf("a change of web/0 changes the page %q: %v", page, !want)
		}
	}
	if !changes(TopicsOf("unit/web/0"), func() { removes(t, m, on4) }) || !changes(TopicsOf("machine/4"), moves) {
		t.Error("a unit that is removed, or that comes to a machine, changes no page")
	}
	// Units are removed one after the other.
	units := []any{unit("db/7", "db", "8", none, none), unit("db/8", "db", "8", none, none), unit("db/9", "db", "8", none, none)}
	becomes(t, m, units...)
	for _, u := range units {
		service, machine := m.Version(TopicsOf("service/db")), m.Version(TopicsOf("machine/8"))
		removes(t, m, u)
		if m.Version(TopicsOf("service/db")) == service || m.Version(TopicsOf("machine/8")) == machine {
			t.Errorf("the end of %s changes no page of its service or machine", u.(*entity.UnitPart).Name)
		}
	}
	becomes(t, m, &entity.MachineStatus{ID: "8"})
	removes(t, m, &entity.MachineStatus{ID: "8"}, service("db", entity.ServiceStatus{}))
	if m.touched["units-on 8"] != 0 || m.touched["units-of db"] != 0 {
		t.Errorf("the mirror remembers %v of what was removed", m.touched)
	}
	if TopicsOf("nosuch") != nil || changes(TopicsOf("nosuch"), moves) {
		t.Error("a page that is none has topics")
	}
}
