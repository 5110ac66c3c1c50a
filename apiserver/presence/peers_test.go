package presence

import (
	"fmt"
	"testing"
	"time"

	"juju/state/entity"
)

// Two controllers that tell each other what changes know the same.
func TestPeersTellEachOther(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	a, b := New(func() time.Time { return now }), New(func() time.Time { return now })
	tell := func() {
		for model, agents := range a.Changes() {
			b.SetPeer("a", model, agents)
		}
		if again := a.Changes(); again != nil {
			t.Errorf("told again, though nothing has changed: %v", again)
		}
	}
	unit, machine := entity.UnitTag("web/0"), entity.MachineTag("0")
	missing := func(when string, tag entity.Tag, wantSilent, want bool) {
		t.Helper()
		for name, p := range map[string]*Recorder{"a": a, "b": b} {
			if _, silent, missing := p.Missing("m", tag); silent != wantSilent || missing != want {
				t.Errorf("%s, %s of %s: silent %v, missing %v; want %v, %v", when, tag, name, silent, missing, wantSilent, want)
			}
		}
	}
	now = now.Add(time.Hour)
	missing("never connected", unit, false, true)
	line := here()
	leave := a.Arrive("m", unit, line, entity.Binaries{Version: "1.2.3"})
	a.SetFailures("m", unit, []entity.WorkerFailure{{Worker: "uniter"}})
	leaveMachine := a.Arrive("m", machine, here(), entity.Binaries{})
	a.SetFirewallError("m", machine, "no nft")
	a.SetFullDisk("m", machine, entity.FullDisk{Dir: "/d"})
	tell()
	if b.Connected("m", unit) {
		t.Error("an agent is connected to a controller that is not known to be up")
	}
	b.SetPeers([]string{"a"})
	missing("connected to a", unit, false, false)
	if !b.Connected("m", unit) || len(b.Failures("m", unit)) != 1 || b.FirewallErrors("m")["0"] != "no nft" ||
		b.FullDisk("m", machine).Dir != "/d" {
		t.Errorf("b knows %v, %v, %v", b.Connected("m", unit), b.Failures("m", unit), b.FirewallErrors("m"))
	}
	if binaries, _ := b.binaries("m", unit); binaries.Version != "1.2.3" {
		t.Errorf("b knows binaries %v", binaries)
	}
	if b.Connected("other", unit) {
		t.Error("an agent is connected in another model")
	}

	// A ping that is just sent is no silence.
	line.Ping(now)
	tell()
	now = now.Add(AnswerTime + 1)
	tell()
	missing("silent", unit, true, true)
	line.Heard()
	tell()
	missing("heard again", unit, false, false)

	// A departure is an event at b, as it is at a.
	departures := b.WatchDepartures(t.Context(), "m")
	<-departures
	leaveMachine()
	tell()
	<-departures
	missing("just left", machine, false, false)
	now = now.Add(LostAfter + 1)
	missing("left", machine, false, true)

	// An agent that moves from one to the other is never missing.
	back := b.Arrive("m", unit, here(), entity.Binaries{})
	leave()
	tell()
	now = now.Add(time.Hour)
	if _, _, missing := b.Missing("m", unit); missing {
		t.Error("an agent that is connected here is missing, since it left a")
	}
	back()

	// When a controller is lost, so are the connections to it.
	a.Arrive("m", unit, here(), entity.Binaries{})
	a.Arrive("m", machine, here(), entity.Binaries{})
	tell()
	b.SetPeers(nil)
	<-departures
	if _, _, missing := b.Missing("m", unit); missing || b.Connected("m", unit) {
		t.Error("the agents of a lost controller have no time to connect to another one")
	}
	now = now.Add(LostAfter + 1)
	if _, _, missing := b.Missing("m", unit); !missing {
		t.Error("the agents of a lost controller are not missing")
	}
	b.SetPeers([]string{"a"})
	if !b.Connected("m", unit) {
		t.Error("the controller is back, and its agents are not")
	}

	// A controller that has restarted knows nothing, so its agents have left just now.
	b.SetPeer("a", "m", nil)
	if _, _, missing := b.Missing("m", unit); missing || b.Connected("m", unit) {
		t.Error("the agents of a restarted controller have no time to connect again")
	}
	now = now.Add(LostAfter + 1)
	if _, _, missing := b.Missing("m", unit); !missing {
		t.Error("the agents of a restarted controller are not missing")
	}
}

// Agents of a controller that has clearly more than the others spread, a part of them at a time.
func TestAgentsSpread(t *testing.T) {
	t.Parallel()
	p := New(time.Now)
	ended := 0
	var leave []func()
	arrive := func(n int) {
		for range n {
			var l Line
			l.End = func(error) { ended++ }
			leave = append(leave, p.Arrive("m", entity.UnitTag(fmt.Sprintf("web/%d", len(leave))), &l, entity.Binaries{}))
		}
	}
	other := func(node string, n int) {
		var agents []entity.AgentPresence
		for i := range n {
			agents = append(agents, entity.AgentPresence{Agent: entity.UnitTag(fmt.Sprintf("%s/%d", node, i)), Connected: true})
		}
		p.SetPeer(node, "m", agents)
	}
	ends := func(when string, want int) {
		t.Helper()
		ended = 0
		if p.Balance(); ended != want {
			t.Errorf("%s, %d connections ended, want %d", when, ended, want)
		}
	}
	arrive(30)
	p.Arrive("m", entity.MachineTag("0"), here(), entity.Binaries{}) // of the controller's own process
	ends("alone", 0)
	other("b", 0)
	other("c", 0)
	ends("while the others are lost", 0)
	p.SetPeers([]string{"b", "c"})
	ends("with two others", 10)
	other("b", 28)
	other("c", 28)
	ends("with as many", 0)
	other("c", 20)
	ends("with a few less", 2)
	p.SetPeers([]string{"b"})
	ends("with one other that has as many", 0)

	ended = 0
	if p.SendAway(); ended != 30 {
		t.Errorf("%d connections are sent away, want all 30", ended)
	}
	ended = 0
	p.SetPeers(nil)
	if p.SendAway(); ended != 0 {
		t.Errorf("%d connections are sent away while no other controller is up", ended)
	}
}
