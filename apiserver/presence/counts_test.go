package presence

import (
	"fmt"
	"testing"
	"time"

	"juju/state/entity"
)

// Agents count as present wherever they are connected, until they have left or are silent for long.
func TestCounts(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	p := New(func() time.Time { return now })
	expect := func(when, want string) {
		t.Helper()
		if got := fmt.Sprint(p.Counts()); got != want {
			t.Errorf("%s: %s, want %s", when, got, want)
		}
	}
	expect("without agents", "map[]")
	machine, unit := entity.MachineTag("0"), entity.UnitTag("web/0")
	line := here()
	leave := p.Arrive("m", machine, line, entity.Binaries{})
	p.Arrive("m", machine, here(), entity.Binaries{})() // a second connection that ends
	p.SetFullDisk("m", machine, entity.FullDisk{Dir: "/d"})
	p.Arrive("other", unit, here(), entity.Binaries{})
	p.SetPeers([]string{"b"})
	p.SetPeer("b", "m", []entity.AgentPresence{{Agent: unit, Connected: true}, {Agent: machine}})
	expect("at two controllers", "map[m:{2 1} other:{1 0}]")
	line.Ping(now)
	now = now.Add(LostAfter)
	expect("when an answer is late", "map[m:{2 1} other:{1 0}]")
	now = now.Add(1)
	expect("when none comes", "map[m:{1 0} other:{1 0}]")
	line.Heard()
	leave()
	p.SetPeers(nil)
	expect("when it has left, and the other controller is lost", "map[other:{1 0}]")
}
