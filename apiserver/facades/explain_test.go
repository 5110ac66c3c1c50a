package facades_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"juju/apiserver/client"
	"juju/apiserver/facades"
	"juju/apiserver/presence"
	"juju/state"
	"juju/state/entity"
	"juju/state/statetest"
)

// A disk that is full is a reason of its machine, its units and their services, also below a reason of their own; one that
// is nearly full is one of the machine. Without names, its machine is explained.
func TestExplainFullDisks(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	w.arrive(entity.MachineTag("0"))
	ctx, admin := t.Context(), w.admin().client()
	for _, unit := range []string{"mysql/0", "mysql/1"} {
		u, err := w.st.Unit(ctx, unit)
		w.ok(err)
		w.ok(u.SetAgentStatus(ctx, entity.Status{Status: entity.StatusIdle}))
		w.ok(u.SetStatus(ctx, entity.Status{Status: entity.StatusActive}))
	}
	reasons := func(words ...string) (lines []string) {
		t.Helper()
		all, _, err := admin.Explain(ctx, words...)
		w.ok(err)
		for _, e := range all {
			for _, r := range e.Reasons {
				if r.By == entity.ByUser {
					lines = append(lines, e.Name+": "+r.Text+" → "+r.Hint)
				}
			}
		}
		return lines
	}
	tag := entity.MachineTag("0")
	m, err := w.st.Machine(ctx, "0")
	w.ok(err)
	w.ok(m.SetStatus(ctx, entity.Status{Status: entity.StatusStarted}))
	machiner := client.MachinerFacade{Caller: w.agent(tag).client()}
	tell := func(disk entity.FullDisk) { w.ok(machiner.SetFullDisk(ctx, tag, disk)) }
	check := func(name string, want ...string) {
		t.Helper()
		var words []string
		if name != "" {
			words = strings.Fields(name)
		}
		if diff := cmp.Diff(want, reasons(words...)); diff != "" {
			t.Errorf("explain %s differs:\n%s", name, diff)
		}
	}
	const hint = " → make room on the disk of /d (df -h, du -xh); what waits for it then goes on by itself"
	check("mysql/0")
	check("0")
	tell(entity.FullDisk{Dir: "/d", Below: 64 << 20, Need: 64 << 20})
	const nearly = "machine 0: machine 0: the disk is nearly full: /d has less than 64 MiB free" + hint
	check("mysql/0")
	check("0", nearly)
	check("", nearly)
	tell(entity.FullDisk{Dir: "/d", Below: 1 << 20, Need: 64 << 20, Stops: true})
	const full = "machine 0: the disk is full: /d has less than 1 MiB free, and needs 64 MiB; hooks and commands wait or fail" + hint
	check("mysql/0", "unit mysql/0: "+full)
	check("mysql/1")
	check("mysql", "service mysql: "+full)
	check("0", "machine 0: "+full)
	check("", "machine 0: "+full)
	tell(entity.FullDisk{})
	check("mysql/0")
	check("0")
}

// An agent that is connected but does not answer pings is reported as silent, long before its
// connection is given up. One that has never started is not reported as away. Workers that
// keep failing are named where something waits for them.
func TestExplainAwayAgentsAndFailingWorkers(t *testing.T) {
	t.Parallel()
	began := time.Now().Add(-3 * time.Minute)
	w := newWorld(t, func(c *facades.Config) {
		c.Failures = func(model string) []entity.WorkerFailure {
			if model == "" {
				return []entity.WorkerFailure{{Worker: "resumer", Error: "no disk", Since: began}}
			}
			return []entity.WorkerFailure{{Worker: "provisioner", Error: "no more addresses", Since: began}}
		}
	}).populate()
	w.ahead.Store(int64(time.Hour)) // agents that have not connected yet have been awaited for that long
	ctx, admin := t.Context(), w.admin().client()
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
		uniter := w.uniter(tag)
		if err := errors.Join(uniter.SetAgentStatus(ctx, tag, idle), uniter.SetUnitStatus(ctx, tag, active)); err != nil {
			t.Fatal(err)
		}
	}
	u1 := client.AgentFacade{Caller: w.agent(entity.UnitTag("mysql/1")).client()}
	// An agent that does not answer a ping is like a stopped process.
	var line presence.Line
	w.arriveBy(entity.UnitTag("mysql/0"), &line)
	w.arrive(entity.UnitTag("mysql/1"))
	line.Ping(time.Now())
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
	const failing = " worker \"uniter\" of unit mysql/1 keeps failing: cannot write: disk full\n → wait for it; or see what it does: juju debug-log --replay --no-tail -i unit-mysql-1\n"
	want(explained("mysql/1"), "unit mysql/1\n"+failing)
	want(explained("0"), "machine 0\n the agent of machine 0 has not come up on instance i-0\n → wait for it; or see what it does: juju debug-log --replay --no-tail -i machine-0\n")

	id, err := w.st.AddMachine(ctx, state.AddMachineParams{})
	if err != nil {
		t.Fatal(err)
	}
	want(explained(id.ID()), "machine "+id.ID()+"\n machine "+id.ID()+" has no instance: the provisioner must start one\n"+
		"  worker \"provisioner\" keeps failing: no more addresses\n  → it is tried again by itself; to see what fails: juju debug-log --replay --no-tail -m controller -l WARNING\n")
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
	// Below what waits for an agent is which of its workers fails, once. The reason names the agent, for programs.
	_, _, err = admin.DestroyUnits(ctx, entity.Destruction{}, "mysql/1")
	if err != nil {
		t.Fatal(err)
	}
	const below = "  worker \"uniter\" of unit mysql/1 keeps failing: cannot write: disk full\n"
	if text := explained("mysql/1"); strings.Count(text, below) != 1 || strings.Count(text, "keeps failing") != 1 {
		t.Errorf("the explanation of a unit whose agent must act and fails: %s", text)
	}
	reasons, _, err := admin.Explain(ctx, "mysql/1")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range reasons[0].Reasons {
		if r.By != "unit-mysql-1" {
			t.Errorf("%q is to be done by %q", r.Text, r.By)
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
	w := newWorld(t)
	w.ahead.Store(int64(time.Hour)) // the agents have been awaited for that long
	ctx := t.Context()
	const units = 12
	_, err := w.st.AddService(ctx, state.AddServiceParams{Name: "many", CharmURL: statetest.Charm(t, w.st, statetest.MySQL), Units: units})
	w.ok(err)
	for i := range units {
		u, err := w.st.Unit(ctx, fmt.Sprint("many/", i))
		w.ok(err)
		w.ok(u.SetAgentStatus(ctx, entity.Status{Status: entity.StatusIdle}))
	}
	all, _, err := w.admin().client().Explain(ctx, "many")
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
