package apiserver

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"juju/apiserver/client"
	"juju/apiserver/presence"
	"juju/doc/verify"
	"juju/state"
	"juju/state/entity"
	"juju/state/statetest"
)

// An agent that is connected but does not answer pings is reported as silent, long before its
// connection is given up. One that has never started is not reported as away. Workers that
// keep failing are named where something waits for them.
func TestExplainAwayAgentsAndFailingWorkers(t *testing.T) {
	t.Parallel()
	began := time.Now().Add(-3 * time.Minute)
	var clock atomic.Int64 // of the server, ahead of the host's
	clock.Store(int64(-time.Hour))
	w := newWorld(t, func(c *Config) {
		c.now = func() time.Time { return time.Now().Add(time.Duration(clock.Load())) }
		c.Limits = DefaultLimits()
		c.Limits.PingEvery = 20 * time.Millisecond
		c.Failures = func(model string) []entity.WorkerFailure {
			if model == "" {
				return []entity.WorkerFailure{{Worker: "resumer", Error: "no disk", Since: began}}
			}
			return []entity.WorkerFailure{{Worker: "provisioner", Error: "no more addresses", Since: began}}
		}
	}).populate()
	clock.Store(0) // agents that have not connected yet have been awaited for an hour
	ctx, admin := t.Context(), w.dial(w.adminInfo(w.st.UUID()))
	explained := func(words ...string) (text string) {
		all, _, err := admin.Explain(ctx, words...)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range all {
			text += e.Name + "\n"
			for _, r := range e.Reasons {
				text += strings.Repeat(" ", r.Depth+1) + r.Text + "\n"
				if r.Hint != "" {
					text += strings.Repeat(" ", r.Depth+1) + "→ " + r.Hint + "\n"
				}
			}
		}
		return text
	}
	want := func(text, want string) {
		t.Helper()
		if diff := cmp.Diff(want, text); diff != "" {
			t.Errorf("the explanation differs:\n%s", diff)
		}
	}
	active, idle := entity.Status{Status: entity.StatusActive}, entity.Status{Status: entity.StatusIdle}
	for _, unit := range []string{"mysql/0", "mysql/1"} {
		tag := entity.UnitTag(unit)
		conn, err := client.Dial(ctx, w.info(tag))
		if err != nil {
			t.Fatal(err)
		}
		uniter := client.UniterFacade{Caller: conn}
		if err := errors.Join(uniter.SetAgentStatus(ctx, tag, idle), uniter.SetUnitStatus(ctx, tag, active),
			conn.Close()); err != nil {
			t.Fatal(err)
		}
	}
	u1 := client.AgentFacade{Caller: w.dial(w.info(entity.UnitTag("mysql/1")))}
	// It does not read, and so does not answer pings, like a stopped process.
	w.raw(w.modelPath()).login(entity.UnitTag("mysql/0"), w.passwords[entity.UnitTag("mysql/0")], "")
	silentNow := func(unit string) bool {
		_, silent, missing := w.server.presence.Missing(w.st.UUID(), entity.UnitTag(unit))
		return silent && missing
	}
	for end := time.Now().Add(verify.Patience); !silentNow("mysql/0") || silentNow("mysql/1"); runtime.Gosched() {
		if !silentNow("mysql/0") {
			clock.Add(int64(presence.AnswerTime + time.Second)) // of a ping that was sent before
		}
		if time.Now().After(end) {
			t.Fatal("an unanswered ping is not noticed")
		}
	}
	const silent = " the agent of unit mysql/0 does not respond\n" +
		" → on its machine, ps ax | grep unit-mysql-0 finds its process: kill -CONT resumes it if it is stopped, kill -KILL makes it restart\n"
	want(explained("mysql/0"), "unit mysql/0\n"+silent)
	want(explained("mysql"), "service mysql\n"+silent)

	if err := u1.SetFailures(ctx, entity.UnitTag("mysql/1"),
		[]entity.WorkerFailure{{Worker: "uniter", Error: "cannot write: disk full", Since: began}}); err != nil {
		t.Fatal(err)
	}
	// Long texts are cut.
	if err := u1.SetFailures(ctx, entity.UnitTag("mysql/1"),
		[]entity.WorkerFailure{{Worker: strings.Repeat("é", 1000), Since: began}}); err != nil {
		t.Fatal(err)
	}
	if text := explained("mysql/1"); len(text) > 2*1000 {
		t.Errorf("the explanation has %d bytes of an agent's text", len(text))
	}
	longest := strings.Repeat("x", 1000)
	if err := u1.SetFailures(ctx, entity.UnitTag("mysql/1"),
		[]entity.WorkerFailure{{Worker: "uniter", Error: longest, Since: began}}); err != nil {
		t.Fatal(err)
	}
	if text := explained("mysql/1"); !strings.Contains(text, longest+"\n") {
		t.Errorf("a text of 1000 bytes is cut: %s", text)
	}
	// An error that no request may hold is cut by the client.
	long := "cannot write: \x00" + strings.Repeat("x", 100_000)
	if err := u1.SetFailures(ctx, entity.UnitTag("mysql/1"),
		[]entity.WorkerFailure{{Worker: "uniter", Error: long, Since: began}}); err != nil {
		t.Fatal(err)
	}
	if text := explained("mysql/1"); len(text) > 2*1000 || !strings.Contains(text, "cannot write: ") {
		t.Errorf("the explanation of a long error: %s", text)
	}
	if err := u1.SetFailures(ctx, entity.UnitTag("mysql/1"),
		[]entity.WorkerFailure{{Worker: "uniter", Error: "cannot write: disk full", Since: began}}); err != nil {
		t.Fatal(err)
	}
	const failing = " worker \"uniter\" of unit mysql/1 keeps failing: cannot write: disk full\n → juju debug-log --replay --no-tail -i unit-mysql-1\n"
	want(explained("mysql/1"), "unit mysql/1\n"+failing)
	want(explained("0"), "machine 0\n the agent of machine 0 has not come up on instance i-0\n → juju debug-log --replay --no-tail -i machine-0\n")

	id, err := w.st.AddMachine(ctx, state.AddMachineParams{})
	if err != nil {
		t.Fatal(err)
	}
	want(explained(id.ID()), "machine "+id.ID()+"\n machine "+id.ID()+" has no instance: the provisioner must start one\n"+
		"  worker \"provisioner\" keeps failing: no more addresses\n  → juju debug-log --replay --no-tail -m controller -l WARNING\n")
	// Without names, everything is explained.
	all := explained()
	for _, part := range []string{
		"controller\n worker \"resumer\" keeps failing: no disk\n",
		"model default\n worker \"provisioner\" keeps failing: no more addresses\n",
		"unit mysql/0\n" + silent, "unit mysql/1\n" + failing} {
		if strings.Count(all, part) != 1 {
			t.Errorf("the explanation of everything does not have it once: %s\n%s", part, all)
		}
	}
	// What waits for an agent that is silent says so.
	_, _, err = admin.DestroyUnits(ctx, entity.Destruction{}, "mysql/0")
	if err != nil {
		t.Fatal(err)
	}
	const waits = `must run its last hooks and set it dead; that agent has not responded since `
	if text := explained("mysql/0"); strings.Count(text, waits) != 1 {
		t.Errorf("the explanation of a unit whose agent is silent: %s", text)
	}
}

// If many agents of a service are not connected, some are named, and the others are mentioned once.
func TestExplainManyAwayAgents(t *testing.T) {
	t.Parallel()
	var clock atomic.Int64 // of the server, ahead of the host's
	clock.Store(int64(-time.Hour))
	w := newWorld(t, func(c *Config) { c.now = func() time.Time { return time.Now().Add(time.Duration(clock.Load())) } })
	clock.Store(0) // the agents have been awaited for an hour
	ctx := t.Context()
	const units = 12
	_, err := w.st.AddService(ctx, state.AddServiceParams{Name: "many", CharmURL: statetest.Charm(t, w.st, statetest.MySQL), Units: units})
	w.ok(err)
	for i := range units {
		u, err := w.st.Unit(ctx, fmt.Sprint("many/", i))
		w.ok(err)
		w.ok(u.SetAgentStatus(ctx, entity.Status{Status: entity.StatusIdle}))
	}
	all, _, err := w.dial(w.adminInfo(w.st.UUID())).Explain(ctx, "many")
	w.ok(err)
	var got, want []string
	for _, r := range all[0].Reasons {
		got = append(got, r.Text)
	}
	for i := range 10 {
		want = append(want, fmt.Sprintf("the agent of unit many/%d is not connected", i))
	}
	want = append(want, "more agents are not connected")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the explanation differs:\n%s", diff)
	}
}
