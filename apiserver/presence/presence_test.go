package presence

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"juju/state/entity"
)

// here returns a new connection.
func here() *Line { return new(Line) }

func TestPresence(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	p := New(func() time.Time { return now })
	started := entity.Status{Status: entity.StatusStarted}
	idle, active := entity.Status{Status: entity.StatusIdle}, entity.Status{Status: entity.StatusActive}
	words := func() (out string) {
		status := &entity.ModelStatus{
			Model: entity.ModelHeader{UUID: "m"},
			Machines: []entity.MachineStatus{{ID: "0", Status: started},
				{ID: "1", Status: entity.Status{Status: entity.StatusPending}},
				{ID: "2", Life: entity.Dead, Status: started}},
			Services: []entity.ServiceStatus{{Units: []entity.UnitStatus{
				{Name: "a/0", Agent: idle, Workload: active, Subordinates: []entity.UnitStatus{
					{Name: "s/0", Agent: idle, Workload: entity.Status{Status: entity.StatusError}}}},
				{Name: "a/1", Agent: entity.Status{Status: entity.StatusAllocating}, Workload: active},
			}}},
		}
		p.Mark(status, entity.Binaries{})
		for _, m := range status.Machines {
			out += string(m.Status.Status) + " "
		}
		for _, u := range status.AllUnits() {
			out += string(u.Agent.Status) + "/" + string(u.Workload.Status) + " "
		}
		return out
	}
	const well = "started pending started idle/active idle/error allocating/active "
	check := func(when, want string) {
		t.Helper()
		if got := words(); got != want {
			t.Errorf("%s: %s, want %s", when, got, want)
		}
	}
	check("just started, no agent is back yet", well)
	leaveM := p.Arrive("m", entity.MachineTag("0"), here(), entity.Binaries{})
	leaveA := p.Arrive("m", entity.UnitTag("a/0"), here(), entity.Binaries{})
	again := p.Arrive("m", entity.UnitTag("a/0"), here(), entity.Binaries{}) // the new connection begins before the old one ends
	p.Arrive("other", entity.UnitTag("s/0"), here(), entity.Binaries{})
	now = now.Add(LostAfter + 1)
	check("the subordinate never came back", "started pending started idle/active lost/error allocating/active ")
	p.Arrive("m", entity.UnitTag("s/0"), here(), entity.Binaries{})
	leaveA()
	leaveM()
	check("left just now, but for a/0's second connection", well)
	now = now.Add(LostAfter + 1)
	check("the machine's agent stays away", "down pending started idle/active idle/error allocating/active ")
	again()
	now = now.Add(LostAfter + 1)
	check("and the unit's", "down pending started lost/unknown idle/error allocating/active ")
	if since, lost := p.lost("m", entity.UnitTag("a/0")); !lost || !since.Equal(now.Add(-LostAfter-1)) {
		t.Errorf("a/0 is lost %v since %v", lost, since)
	}
	p.Arrive("m", entity.UnitTag("a/0"), here(), entity.Binaries{})
	check("it is back", "down pending started idle/active idle/error allocating/active ")

	// A stopped process keeps its connection, and does not answer pings.
	conn := here()
	p.Arrive("m", entity.MachineTag("0"), conn, entity.Binaries{})
	conn.Ping(now)
	now = now.Add(AnswerTime)
	if _, silent, missing := p.Missing("m", entity.MachineTag("0")); !silent || missing {
		t.Errorf("a ping is not answered at once: %v %v", silent, missing)
	}
	now = now.Add(1)
	check("a ping is unanswered", "started pending started idle/active idle/error allocating/active ")
	if since, silent, missing := p.Missing("m", entity.MachineTag("0")); !silent || !missing ||
		!since.Equal(now.Add(-AnswerTime-1)) {
		t.Errorf("the machine's agent is silent: %v %v, since %v", silent, missing, since)
	}
	conn.Ping(now) // makes no difference
	now = now.Add(LostAfter)
	check("and for longer", "down pending started idle/active idle/error allocating/active ")
	conn.Heard()
	check("it goes on", well)

	for i := range 5 * goneKept {
		p.Arrive("m", entity.UnitTag(fmt.Sprint("gone/", i)), here(), entity.Binaries{})()
		now = now.Add(time.Second)
	}
	if n := len(p.agents); n > goneKept+10 || p.gone > goneKept {
		t.Errorf("it remembers %d agents, %d of them gone", n, p.gone)
	}
}

// Agents on an instance that does not run are lost at once, not after LostAfter. Those that are
// connected are there, whatever the cloud says.
func TestAgentsOfAHaltedInstanceAreLostImmediately(t *testing.T) {
	t.Parallel()
	for word, want := range map[entity.StatusWord]string{
		"running":            "started idle active",
		entity.StatusStopped: "down: instance i-0 is stopped lost: instance i-0 is stopped unknown",
		entity.StatusMissing: "down: instance i-0 is missing lost: instance i-0 is missing unknown",
	} {
		p := New(time.Now)
		said := func() string {
			status := &entity.ModelStatus{
				Model: entity.ModelHeader{UUID: "m"},
				Machines: []entity.MachineStatus{{ID: "0", Status: entity.Status{Status: entity.StatusStarted}, InstanceID: "i-0",
					InstanceStatus: entity.Status{Status: word}}},
				Services: []entity.ServiceStatus{{Units: []entity.UnitStatus{{Name: "a/0", Machine: "0",
					Agent: entity.Status{Status: entity.StatusIdle}, Workload: entity.Status{Status: entity.StatusActive}}}}},
			}
			p.Mark(status, entity.Binaries{})
			u := status.Services[0].Units[0]
			text := ""
			for _, s := range []entity.Status{status.Machines[0].Status, u.Agent} {
				text += string(s.Status)
				if s.Message != "" {
					text += ": " + s.Message
				}
				text += " "
			}
			return text + string(u.Workload.Status)
		}
		leaveMachine := p.Arrive("m", entity.MachineTag("0"), here(), entity.Binaries{})
		leaveUnit := p.Arrive("m", entity.UnitTag("a/0"), here(), entity.Binaries{})
		if got, want := said(), "started idle active"; got != want {
			t.Errorf("%s, connected: %s, want %s", word, got, want)
		}
		leaveMachine()
		leaveUnit()
		if got := said(); got != want {
			t.Errorf("%s: %s, want %s", word, got, want)
		}
	}
}

// A full disk is said of its machine, before what else is said of it, and of units that are well; one that is nearly full
// only of the machine. What a watch tells changes with it. It is forgotten when the machine's agent leaves.
func TestFullDisks(t *testing.T) {
	t.Parallel()
	p := New(time.Now)
	machine := entity.MachineTag("0")
	said := func() (out []string) {
		status := &entity.ModelStatus{
			Model: entity.ModelHeader{UUID: "m"},
			Machines: []entity.MachineStatus{{ID: "0", Status: entity.Status{Status: entity.StatusStarted}},
				{ID: "1", Status: entity.Status{Status: entity.StatusStarted}}},
			Services: []entity.ServiceStatus{{Units: []entity.UnitStatus{
				{Name: "a/0", Machine: "0", Agent: entity.Status{Status: entity.StatusIdle}},
				{Name: "a/1", Machine: "0", Agent: entity.Status{Status: entity.StatusExecuting, Message: "running it"}},
				{Name: "a/2", Machine: "1", Agent: entity.Status{Status: entity.StatusIdle}}}}},
		}
		p.Mark(status, entity.Binaries{Version: "2.0.0", SHA256: "x"})
		for _, m := range status.Machines {
			out = append(out, m.Status.Message)
		}
		for _, u := range status.AllUnits() {
			out = append(out, u.Agent.Message)
		}
		return out
	}
	leave := p.Arrive("m", machine, here(), entity.Binaries{Version: "1.0.0"})
	var before map[entity.Tag]presentAgent
	check := func(when string, want ...string) {
		t.Helper()
		if got := said(); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", when, got, want)
		}
		now := p.present("m")
		if maps.Equal(now, before) {
			t.Errorf("%s: a watch tells nothing", when)
		}
		before = now
	}
	const pending = "upgrade to 2.0.0 is pending"
	check("with room", pending, "", "", "running it", "")
	disk := entity.FullDisk{Dir: "/d", Below: 64 << 20, Need: 64 << 20}
	p.SetFullDisk("m", machine, disk)
	check("nearly full", "the disk is nearly full: /d has less than 64 MiB free", "", "", "running it", "")
	disk.Below, disk.Stops = 1<<20, true
	p.SetFullDisk("m", machine, disk)
	full := []string{"the disk is full: /d has less than 1 MiB free, and needs 64 MiB; hooks and commands wait or fail", "",
		"the disk of machine 0 is full", "running it", ""}
	check("full", full...)
	p.SetFullDisk("m", machine, entity.FullDisk{})
	check("with room again", pending, "", "", "running it", "")
	p.SetFullDisk("m", machine, disk)
	check("full again", full...)
	leave()
	check("without an agent", pending, "", "", "running it", "")
	p.Arrive("m", machine, here(), entity.Binaries{Version: "1.0.0"})
	if got := p.FullDisk("m", machine); !got.IsZero() {
		t.Errorf("of an agent that is back it knows %v", got)
	}
}

// A watch of a model's status fires when an agent is lost and when it comes back, neither of
// which changes a document.
func TestPresenceWatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		p := New(time.Now)
		leave := p.Arrive("m", entity.UnitTag("a/0"), here(), entity.Binaries{})
		changes := make(chan struct{})
		events := p.Watch(ctx, "m", changes)
		expect := func(what string, want bool) {
			t.Helper()
			time.Sleep(2 * tick)
			synctest.Wait()
			fired := false
			select {
			case _, fired = <-events:
			default:
			}
			if fired != want {
				t.Errorf("%s: it fired: %v, want %v", what, fired, want)
			}
		}
		expect("nothing has changed", false)
		changes <- struct{}{}
		expect("a document has changed", true)
		time.Sleep(LostAfter)
		expect("agents that have not come are lost", true)
		leave()
		expect("an agent has left just now", false)
		time.Sleep(LostAfter)
		expect("it is lost", true)
		leave = p.Arrive("m", entity.UnitTag("a/0"), here(), entity.Binaries{})
		expect("it is back", true)
		p.Arrive("m", entity.UnitTag("never/0"), here(), entity.Binaries{})
		expect("so is one that counted as lost", true)
		p.Arrive("other", entity.UnitTag("a/0"), here(), entity.Binaries{})
		leave()
		p.Arrive("m", entity.UnitTag("a/0"), here(), entity.Binaries{})
		time.Sleep(LostAfter)
		expect("another model's agent has come, and one has only reconnected", false)
		close(changes)
		if _, open := <-events; open {
			t.Error("it continues without the watch of the documents")
		}
	})
}

// Those who watch the agents of a model's machines learn that one is gone, once for many that go
// together, and nothing of units or other models.
func TestDepartures(t *testing.T) {
	p := New(time.Now)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	gone := p.WatchDepartures(ctx, "m")
	signalled := func(want bool, when string) {
		t.Helper()
		select {
		case _, open := <-gone:
			if !open || !want {
				t.Errorf("%s: a signal (open: %v)", when, open)
			}
		default:
			if want {
				t.Errorf("%s: no signal", when)
			}
		}
	}
	signalled(true, "at first")
	first, second := p.Arrive("m", entity.MachineTag("0"), here(), entity.Binaries{}), p.Arrive("m", entity.MachineTag("0"), here(), entity.Binaries{})
	other := p.Arrive("m", entity.MachineTag("1"), here(), entity.Binaries{})
	unit, elsewhere := p.Arrive("m", entity.UnitTag("a/0"), here(), entity.Binaries{}), p.Arrive("n", entity.MachineTag("0"), here(), entity.Binaries{})
	first()
	unit()
	elsewhere()
	signalled(false, "while the agent has another connection")
	second()
	other()
	signalled(true, "when two have gone")
	signalled(false, "after that")
	cancel()
	if _, open := <-gone; open {
		t.Error("a signal at the end")
	}
	p.Arrive("m", entity.MachineTag("0"), here(), entity.Binaries{})()
	if len(p.departures) > 0 {
		t.Error("a watch is left")
	}
}
