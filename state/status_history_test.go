package state_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/statetest"
)

// history returns the history of an entity, as "kind status message".
func (w *world) history(kind entity.HistoryKind, id string, filter entity.HistoryFilter) []string {
	w.Helper()
	past, err := w.st.StatusHistory(w.ctx, kind, id, filter)
	w.ok(err)
	lines := []string{}
	for i, p := range past {
		if i > 0 && p.Since.Before(past[i-1].Since) {
			w.Errorf("%v comes after %v", p, past[i-1])
		}
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s %s", p.Kind, p.Status.Status, p.Explained())))
	}
	return lines
}

// The first status of a unit or machine dates from its creation, whatever
// happened since.
func TestFirstStatusIsAsOldAsItsEntity(t *testing.T) {
	born := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	now := born
	ctrl, st := statetest.ControllerWith(t, controller.Options{Now: func() time.Time { return now }})
	w := &world{T: t, ctx: t.Context(), ctrl: ctrl, st: st}
	w.deploy("mysql", statetest.MySQL, 1)
	w.ok(w.machine("0").SetProvisioned(w.ctx, entity.Instance{ID: "i-0", Nonce: "n"}))
	now = now.Add(time.Hour)
	w.ok(w.unit("mysql/0").SetAgentStatus(w.ctx, entity.Status{Status: entity.StatusIdle}))
	w.ok(w.unit("mysql/0").Destroy(w.ctx, entity.Destruction{}))
	w.ok(w.machine("0").Destroy(w.ctx, entity.Destruction{Strength: entity.Force, Timeout: time.Hour}))
	status := w.status()
	workload, machine := status.Services[0].Units[0].Workload, status.Machines[0].Status
	if workload.Status != entity.StatusWaiting || !workload.Since.Equal(born) || machine.Status != entity.StatusPending ||
		!machine.Since.Equal(born) {
		t.Errorf("the workload is %v, the machine %v", workload, machine)
	}
	if said, err := w.unit("mysql/0").Status(w.ctx); err != nil || !said.Since.Equal(born) {
		t.Errorf("the workload status is %v (%v)", said, err)
	}
	past, err := w.st.StatusHistory(w.ctx, entity.HistoryUnitAgent, "mysql/0", entity.HistoryFilter{})
	if err != nil || len(past) != 2 || !past[0].Since.Equal(born) || !past[1].Since.Equal(now) {
		t.Errorf("the history is %v (%v)", past, err)
	}
}

func TestStatusHistory(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	ctrl, st := statetest.ControllerWith(t, controller.Options{Now: clock})
	w := &world{T: t, ctx: t.Context(), ctrl: ctrl, st: st}
	check := func(kind entity.HistoryKind, id string, filter entity.HistoryFilter, want ...string) {
		t.Helper()
		if got := w.history(kind, id, filter); !reflect.DeepEqual(got, append([]string{}, want...)) {
			t.Errorf("%s %s: %q, want %q", kind, id, got, want)
		}
	}
	all := entity.HistoryFilter{}
	w.deploy("mysql", statetest.MySQL, 2)
	check(entity.HistoryUnitAgent, "mysql/0", all, "juju-unit allocating")
	check(entity.HistoryMachine, "0", all, "juju-machine pending")
	for i, s := range []entity.Status{{Status: entity.StatusMaintenance, Message: "installing"},
		{Status: entity.StatusActive}, {Status: entity.StatusBlocked, Message: "no disk"}} {
		now = now.Add(time.Hour)
		w.ok(w.unit("mysql/0").SetAgentStatus(w.ctx, entity.Status{Status: entity.StatusExecuting,
			Message: fmt.Sprint("hook ", i)}))
		w.ok(w.unit("mysql/0").SetStatus(w.ctx, s))
	}
	check(entity.HistoryWorkload, "mysql/0", all,
		"workload waiting waiting for machine", "workload maintenance installing", "workload active", "workload blocked no disk")
	check(entity.HistoryUnitAgent, "mysql/0", all,
		"juju-unit allocating", "juju-unit executing hook 0", "juju-unit executing hook 1", "juju-unit executing hook 2")
	check(entity.HistoryUnit, "mysql/0", entity.HistoryFilter{From: now.Add(-time.Hour)},
		"juju-unit executing hook 1", "workload active", "juju-unit executing hook 2", "workload blocked no disk")
	check(entity.HistoryUnit, "mysql/0", entity.HistoryFilter{Size: 3},
		"workload active", "juju-unit executing hook 2", "workload blocked no disk")
	check(entity.HistoryUnit, "mysql/0", entity.HistoryFilter{Size: 2, Exclude: []string{"hook 2", "no disk"}},
		"juju-unit executing hook 1", "workload active")
	check(entity.HistoryWorkload, "mysql/0", entity.HistoryFilter{From: now.Add(time.Second)})
	check(entity.HistoryWorkload, "mysql/1", all, "workload waiting waiting for machine")
	m, err := w.st.Machine(w.ctx, "0")
	w.ok(err)
	w.ok(m.SetStatus(w.ctx, entity.Status{Status: entity.StatusError, Message: "no instance to be had"}))
	check(entity.HistoryMachineAgent, "0", all, "juju-machine pending", "juju-machine error no instance to be had")
	for _, word := range []entity.StatusWord{"starting", "running"} {
		now = now.Add(time.Minute)
		w.ok(m.SetInstanceStatus(w.ctx, entity.Status{Status: word}))
	}
	check(entity.HistoryMachine, "0", entity.HistoryFilter{From: now.Add(-2 * time.Minute)},
		"juju-machine error no instance to be had", "machine starting", "machine running")

	// The same status again adds nothing, and leaves the time since when it is; other data do.
	now = now.Add(time.Hour)
	serving := entity.Status{Status: entity.StatusActive, Message: "serving", Since: now}
	w.ok(w.unit("mysql/1").SetStatus(w.ctx, serving))
	failed := entity.Status{Status: entity.StatusError, Message: "hook failed", Data: map[string]any{
		"reason": "exit status 7", "exit-code": 7}}
	for _, s := range []entity.Status{failed, failed} {
		now = now.Add(time.Minute)
		w.ok(w.unit("mysql/1").SetStatus(w.ctx, s))
	}
	failed.Data = map[string]any{"reason": "exit status 8", "exit-code": 8, "last-line": "no disk"}
	w.ok(w.unit("mysql/1").SetStatus(w.ctx, failed))
	for range 3 {
		now = now.Add(time.Minute)
		w.ok(w.unit("mysql/1").SetStatus(w.ctx, entity.Status{Status: entity.StatusActive}))
	}
	check(entity.HistoryWorkload, "mysql/1", all,
		"workload waiting waiting for machine", "workload active serving", "workload error hook failed (exit status 7)",
		"workload error hook failed (exit status 8: no disk)", "workload active")
	if said, err := w.unit("mysql/1").Status(w.ctx); err != nil || !said.Since.Equal(now.Add(-2*time.Minute)) {
		t.Errorf("the status is %v (%v)", said, err)
	}
	// What a failure had hidden comes after it, though it has its old time.
	now = now.Add(time.Minute)
	w.ok(w.unit("mysql/1").SetStatus(w.ctx, failed))
	now = now.Add(time.Minute)
	w.ok(w.unit("mysql/1").SetStatus(w.ctx, serving))
	check(entity.HistoryWorkload, "mysql/1", entity.HistoryFilter{Size: 2},
		"workload error hook failed (exit status 8: no disk)", "workload active serving")
	if said, err := w.unit("mysql/1").Status(w.ctx); err != nil || !said.Since.Equal(serving.Since) {
		t.Errorf("the status is %v (%v)", said, err)
	}

	// The history of a removed entity is kept; an entity that never existed has
	// none.
	w.ok(w.unit("mysql/0").Destroy(w.ctx, entity.Destruction{}))
	w.end("mysql/0")
	check(entity.HistoryWorkload, "mysql/0", entity.HistoryFilter{Size: 1}, "workload blocked no disk")
	check(entity.HistoryWorkload, "mysql/0", entity.HistoryFilter{From: now.Add(time.Second)})
	for _, c := range []struct {
		kind entity.HistoryKind
		id   string
		want entity.Kind
		text string
	}{
		{entity.HistoryUnit, "mysql/7", entity.NotFound, `unit "mysql/7" not found`},
		{entity.HistoryMachine, "7", entity.NotFound, "machine 7 not found"},
		{entity.HistoryUnit, "7", entity.Invalid, `"7" is not a valid unit name`},
		{entity.HistoryMachine, "mysql/0", entity.Invalid, `"mysql/0" is not a valid machine id`},
		{"cloud", "7", entity.Invalid, `unknown status history kind "cloud", expected one of [unit juju-unit workload machine juju-machine application saas]`},
		{entity.HistoryService, "web", entity.NotFound, `service "web" not found`},
		{entity.HistoryRemote, "mysql", entity.NotFound, `remote service "mysql" not found`},
		{entity.HistoryService, "mysql/0", entity.Invalid, `"mysql/0" is not a valid service name`},
		{"model", "7", entity.NotSupported, "a model has no status history"},
	} {
		_, err := w.st.StatusHistory(w.ctx, c.kind, c.id, all)
		w.refused(err, c.want, c.text)
	}
}

// The history of a service is what its leader has said; that of a service of another model, what its own controller has.
func TestStatusHistoryOfServices(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 1)
	w.claims("mysql/0", 1)
	for _, said := range []string{"one", "two", "two"} {
		w.ok(w.unit("mysql/0").SetServiceStatus(w.ctx, 1, entity.Status{Status: entity.StatusActive, Message: said}))
	}
	x := w.st.CrossModel()
	w.ok(x.Consume(w.ctx, entity.Consumed{Name: "db", Model: elsewhere, Offer: "o", URL: "bob/shop.db", User: "bob",
		Endpoints: []entity.RemoteEndpoint{{Name: "server", Role: "provider", Interface: "mysql"}}}))
	w.ok(x.Show(w.ctx, "db", entity.Status{Status: entity.StatusBlocked, Message: "no disk"}))
	for _, of := range []struct {
		kind entity.HistoryKind
		id   string
		want []string
	}{
		{entity.HistoryService, "mysql", []string{"application unknown", "application active one", "application active two"}},
		{entity.HistoryRemote, "db", []string{"saas unknown", "saas blocked no disk"}},
	} {
		if got := w.history(of.kind, of.id, entity.HistoryFilter{}); !slices.Equal(got, of.want) {
			t.Errorf("%s %s: %q, want %q", of.kind, of.id, got, of.want)
		}
	}
}

// The oldest entries are dropped, but a current status is returned even if it
// is older than many others.
func TestHistoryIsBounded(t *testing.T) {
	ctrl, st := statetest.ControllerWith(t, controller.Options{Sizes: state.Sizes{Log: 1 << 20, History: 16 << 10}})
	w := &world{T: t, ctx: t.Context(), ctrl: ctrl, st: st}
	w.deploy("mysql", statetest.MySQL, 2)
	w.ok(w.unit("mysql/1").SetStatus(w.ctx, entity.Status{Status: entity.StatusActive, Message: "quiet"}))
	long := strings.Repeat("x", 1<<10)
	for i := range 64 {
		w.ok(w.unit("mysql/0").SetStatus(w.ctx, entity.Status{Status: entity.StatusActive, Message: fmt.Sprint(i, long)}))
	}
	got := w.history(entity.HistoryWorkload, "mysql/0", entity.HistoryFilter{})
	if n := len(got); n < 4 || n > 16 || !strings.HasPrefix(got[n-1], "workload active 63") {
		t.Errorf("the history has %d of 64, the last %.20s", n, got[len(got)-1])
	}
	if got := w.history(entity.HistoryWorkload, "mysql/1", entity.HistoryFilter{}); !reflect.DeepEqual(got,
		[]string{"workload active quiet"}) {
		t.Errorf("the history of the other unit is %q", got)
	}
}
