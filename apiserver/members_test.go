package apiserver

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"juju/apiserver/admission"
	"juju/apiserver/client"
	"juju/apiserver/facades"
	"juju/apiserver/facades/facadestest"
	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/mongo/mongotest"
	"juju/state/statetest"
)

// However many agents connect, there is room for users, and for superusers. Those that are refused learn why.
func TestReservedConnections(t *testing.T) {
	for _, files := range []int{64, 256, 1024, 1 << 20} {
		l := limitsFor(files, math.MaxInt64)
		if l.Members+l.Unauthenticated > files-32 || l.UserConns < 8 || l.AgentConns < 8 || l.Reserved < 1 || l.Unauthenticated < 8 {
			t.Errorf("%d files: %+v", files, l)
		}
		s := &Server{config: Config{Config: facades.Config{Meter: unmetered{}}},
			members: admission.Members{Max: l.Members, Reserved: l.Reserved, OfUser: l.UserConns, OfAgent: l.AgentConns}}
		enter := func(id identity) (int, error) {
			for n := 0; ; n++ {
				if _, err := s.admit("model", id); err != nil {
					return n, err
				}
			}
		}
		var err error
		units := 0
		for n, i := 1, 0; n > 0; i++ {
			n, err = enter(identity{Identity: facades.Identity{Tag: entity.UnitTag(fmt.Sprint("evil/", i))}})
			units += n
		}
		if !errors.Is(err, entity.Unavailable) || !strings.Contains(err.Error(), "for unit agents; try again") {
			t.Errorf("%d files: %v", files, err)
		}
		if want := l.Members - (int(admission.Kinds)-1)*l.Reserved; units != want {
			t.Errorf("%d files: units have %d of %d connections, want %d", files, units, l.Members, want)
		}
		for _, id := range []facades.Identity{
			{Tag: entity.MachineTag("0")}, {Tag: entity.UserTag("bob"), ControllerAccess: controller.AccessLogin},
			{Tag: entity.UserTag("admin"), ControllerAccess: controller.AccessSuperuser},
		} {
			if n, _ := enter(identity{Identity: id}); n < min(l.Reserved, 8) {
				t.Errorf("%d files: %s has %d connections", files, id.Tag, n)
			}
		}
	}
}

// controllerOnSet creates a controller that shares its store, a simulated MongoDB.
func controllerOnSet(t *testing.T, set *mongotest.Set) (*controller.Controller, *state.State) {
	t.Helper()
	url, err := mongo.ParseURL(set.URL())
	statetest.OK(t, err)
	store, err := mongo.OpenURL(t.Context(), url, mongo.Options{Dial: set.Dial})
	statetest.OK(t, err)
	return statetest.ControllerOn(t, store, controller.Options{Shared: true})
}

// Where there are several controllers, an agent that logs in may have been told by another one what this one has yet to
// hear of, so nothing that was read before is used for it.
func TestAnAgentOfSeveralControllersReadsAnew(t *testing.T) {
	t.Parallel()
	set := mongotest.NewSet(t, 1)
	var reads atomic.Int64 // of the model's own document
	set.Heard = func(c mongotest.Command) {
		if c.Reads() && c.Collection == "model" {
			reads.Add(1)
		}
	}
	c, st := controllerOnSet(t, set)
	f := &facadestest.Controllers{All: []entity.ControllerNode{{Machine: "0"}}}
	w := newWorldOf(t, c, st, func(c *Config) { c.Controllers = f }).populate()
	events, err := st.Watches().ModelConfig(t.Context())
	w.ok(err)
	life := func() (read bool) {
		t.Helper()
		before := reads.Load()
		_, err := st.Agents().AsWatched().Life(t.Context())
		w.ok(err)
		return reads.Load() > before
	}
	for range events { // the second one comes once the changes are followed
		life()
		if !life() {
			break
		}
	}
	w.dial(w.info(entity.UnitTag("mysql/0")))
	if life() {
		t.Error("with one controller, the login of an agent made the model be read again")
	}
	f.All = append(f.All, entity.ControllerNode{Machine: "1"})
	w.dial(w.info(entity.UnitTag("mysql/0")))
	if !life() {
		t.Error("with two controllers, an agent that has just logged in reads what was read before")
	}
}

// An agent that is refused stops for good. So a controller that reaches only a former primary of its MongoDB, and does not
// know what another controller has just written, does not refuse one.
func TestAnAgentIsRefusedForCertain(t *testing.T) {
	t.Parallel()
	set := mongotest.NewReplicas(t, 3)
	url, err := mongo.ParseURL(set.URL("wtimeoutMS=500"))
	statetest.OK(t, err)
	open := func(name string, answer time.Duration) *mongo.Store {
		store, err := mongo.OpenURL(t.Context(), url, mongo.Options{Dial: set.DialAs(name), Answer: answer})
		statetest.OK(t, err)
		return store
	}
	c, st := statetest.ControllerOn(t, open("a", time.Second), controller.Options{Shared: true})
	w := newWorldOf(t, c, st)
	m, err := st.AddMachine(t.Context(), state.AddMachineParams{})
	w.ok(err)
	w.ok(m.SetProvisioned(t.Context(), entity.Instance{ID: "i-0", Nonce: nonce}))
	beside := open("b", 0)
	b, err := controller.Open(t.Context(), beside, controller.Options{Shared: true})
	w.ok(err)
	t.Cleanup(func() { b.Close(); w.ok(beside.Close()) })
	other, err := b.Model(t.Context(), st.UUID())
	w.ok(err)

	set.Split(t, "a")
	tag := entity.MachineTag(m.ID())
	w.passwords[tag] = w.newPassword(other, tag)
	login := func() error {
		conn, err := client.Dial(t.Context(), w.info(tag))
		if err == nil {
			conn.Close()
		}
		return err
	}
	if err := login(); !errors.Is(err, entity.Unavailable) {
		t.Errorf("an agent of which another controller knows: %v", err)
	}
	set.Heal()
	eventually(t, "the agent is let in", func() bool { return login() == nil })
	w.passwords[tag] = "wrong"
	eventually(t, "an agent with a wrong password is refused", func() bool { return errors.Is(login(), entity.Unauthorized) })
}
