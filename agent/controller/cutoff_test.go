package controller

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"juju/state"
	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/mongo/mongotest"
)

// A wire is how one controller reaches the store. It can be cut.
type wire struct {
	dial func(context.Context, string) (net.Conn, error)

	mu    sync.Mutex
	isCut bool
	conns []net.Conn
}

func (w *wire) Dial(ctx context.Context, address string) (net.Conn, error) {
	conn, err := w.dial(ctx, address)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.isCut {
		conn.Close()
		return nil, errors.New("the wire is cut")
	}
	w.conns = append(w.conns, conn)
	return conn, nil
}

func (w *wire) cut(is bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.isCut = is
	if is {
		for _, conn := range w.conns {
			conn.Close()
		}
		w.conns = nil
	}
}

// addedNodes are the controllers that EnableHA has added to a system, once they are up.
type addedNodes struct {
	dial func(context.Context, string) (net.Conn, error) // to the store
	mu   sync.Mutex
	all  []*running
	stop map[string]func() // by machine
}

// stopAll stops all of them.
func (a *addedNodes) stopAll() {
	a.mu.Lock()
	stops := maps.Clone(a.stop)
	a.mu.Unlock()
	for _, stop := range stops {
		stop()
	}
}

func (a *addedNodes) up() []*running {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.all)
}

// startNode runs another controller of the system, whose configuration the provisioner has made.
func (s *system) startNode(dir string, text []byte) (stop func(), err error) {
	var conf config
	if err := json.Unmarshal(text, &conf); err != nil {
		return nil, err
	}
	if conf.Address, err = freeAddress(); err != nil {
		return nil, err
	}
	conf.Server = s.c.conf.Server
	o := s.c.options
	o.Store.Dial = s.nodes.dial
	c := &running{dir: dir, own: dir, conf: conf, options: o}
	c.ready = func() {
		s.nodes.mu.Lock()
		defer s.nodes.mu.Unlock()
		s.nodes.all = append(s.nodes.all, c)
	}
	return s.runNode(c), nil
}

// runNode runs another controller of the system until stop is called, or the test ends.
func (s *system) runNode(c *running) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			s.Errorf("controller %s ended with %v", c.conf.machine(), err)
		}
	})
	s.Cleanup(stop)
	s.nodes.mu.Lock()
	defer s.nodes.mu.Unlock()
	if s.nodes.stop == nil {
		s.nodes.stop = map[string]func(){}
	}
	s.nodes.stop[c.conf.machine()] = stop
	return stop
}

// newThreeControllers starts a system of three controllers on a set. The first one reaches it over first.
func newThreeControllers(t *testing.T, set *mongotest.Set, first func(context.Context, string) (net.Conn, error)) *system {
	t.Helper()
	s := newSystemIn(t, set.URL(), Options{Store: mongo.Options{Dial: first}, Provisioner: quick, LeadTerm: 2 * time.Second})
	s.nodes = &addedNodes{dial: set.Dial}
	own, err := s.c.ctrl.Model(s.ctx, s.c.conf.Model)
	s.ok(err)
	_, err = own.EnableHA(s.ctx, state.EnableHAParams{Controllers: 3})
	s.ok(err)
	s.eventually("three controllers", func() bool { return len(s.nodes.up()) == 2 })
	return s
}

// A controller that leads is cut off from the store: it stops leading before another one begins to. When it is back, it
// goes on as one that doesn't lead.
func TestALeaderIsCutOffFromTheStore(t *testing.T) {
	t.Parallel()
	set := mongotest.NewSet(t, 3)
	first := &wire{dial: set.Dial}
	s := newThreeControllers(t, set, first.Dial)
	leads := func() (who []string) {
		for _, c := range append(s.nodes.up(), s.c) {
			if epoch, _ := c.lead.get(); epoch != 0 {
				who = append(who, c.conf.machine())
			}
		}
		if len(who) > 1 {
			s.Fatalf("controllers %v lead at once", who)
		}
		return who
	}
	s.eventually("a leader", func() bool { return slices.Equal(leads(), []string{"0"}) })

	first.cut(true)
	s.eventually("another leader", func() bool { who := leads(); return len(who) == 1 && who[0] != "0" })
	var st *state.State
	var m *state.Machine
	s.eventually("a machine", func() bool { // a controller that is busy may restart too
		var err error
		if st, err = s.nodes.up()[0].ctrl.Model(s.ctx, s.model); err == nil {
			m, err = st.AddMachine(s.ctx, state.AddMachineParams{})
		}
		return err == nil
	})
	s.eventually("an instance", func() bool {
		now, err := st.Machine(s.ctx, m.ID())
		s.ok(err)
		return now.InstanceID() != ""
	})

	first.cut(false)
	s.eventually("the store", func() bool {
		_, err := s.st.AddMachine(s.ctx, state.AddMachineParams{})
		return err == nil
	})
	s.until("two machines with instances", func(m *entity.ModelStatus) bool {
		return len(m.Machines) == 2 && m.Machines[0].InstanceID != "" && m.Machines[1].InstanceID != ""
	})
	if who := leads(); len(who) != 1 || who[0] == "0" {
		t.Errorf("%v lead at the end", who)
	}
	if all := s.instances(s.st); len(all) != 2 {
		t.Errorf("two machines have the instances %v", all)
	}
}

// eventually waits until something holds that no watch tells.
func (s *system) eventually(what string, holds func() bool) {
	s.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			s.Fatalf("gave up waiting for %s", what)
		}
	}
}
