package firewaller

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/juju/loggo"

	"juju/provider"
	"juju/provider/dummytest"
	"juju/provider/providertest"
	"juju/state/entity"
	"juju/state/modelconfig"
	"juju/worker"
)

// A model has what the worker sees of a model. Tests change it, which wakes the worker.
type model struct {
	mu     sync.Mutex
	x      entity.Exposure
	events chan struct{}
	fault  error
}

func newModel() *model {
	return &model{events: make(chan struct{}, 1),
		x: entity.Exposure{Mode: modelconfig.FirewallInstance, Instances: map[string][]entity.PortRange{}}}
}

func (m *model) WatchExposure(context.Context) (<-chan struct{}, error) {
	m.wake()
	return m.events, nil
}

func (m *model) wake() {
	select {
	case m.events <- struct{}{}:
	default:
	}
}

func (m *model) Exposure(context.Context) (entity.Exposure, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	x := m.x
	x.Instances = map[string][]entity.PortRange{}
	for id, open := range m.x.Instances {
		x.Instances[id] = slices.Clone(open)
	}
	return x, m.fault
}

func (m *model) change(f func(*entity.Exposure)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f(&m.x)
	m.wake()
}

func tcp(ports ...int) (all []entity.PortRange) {
	for _, p := range ports {
		all = append(all, entity.PortRange{From: p, To: p, Protocol: "tcp"})
	}
	return all
}

// A world is a worker between a model and a cloud with two instances.
type world struct {
	*testing.T
	model    *model
	cloud    *dummytest.Cloud
	environ  provider.Environ
	one, two string // ids of the instances
	stop     func()
	err      error // of the worker, after stop
}

func newWorld(t *testing.T) *world {
	w := &world{T: t, model: newModel(), cloud: dummytest.New(nil), stop: func() {}}
	var err error
	if w.environ, err = w.cloud.Open(t.Context(), provider.Config{Controller: "c", Model: providertest.ModelA}); err != nil {
		t.Fatal(err)
	}
	w.one, w.two = w.start("1"), w.start("2")
	w.model.change(func(x *entity.Exposure) { x.Instances[w.one], x.Instances[w.two] = nil, nil })
	return w
}

func (w *world) start(machine string) string {
	w.Helper()
	inst, err := w.environ.StartInstance(w.Context(), provider.StartParams{MachineID: machine, Nonce: "n"})
	if err != nil {
		w.Fatal(err)
	}
	return inst.ID
}

// run starts the worker, kept alive as the controller keeps it, in place of one that runs.
func (w *world) run() {
	w.stop()
	ctx, cancel := context.WithCancel(w.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		f := New(Config{API: w.model, Cloud: w.environ})
		w.err = worker.Run(ctx, time.Second, map[string]worker.Func{"firewaller": f})
	}()
	w.stop = func() {
		cancel()
		<-done
	}
}

// holds checks which ports are open, as in "22/tcp 80/tcp", and who are peers, once the worker has nothing
// left to do.
func (w *world) holds(when string, want map[string]string) {
	w.Helper()
	synctest.Wait()
	has, err := w.environ.Ingress(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	got := map[string]string{}
	for id, open := range has.Ports {
		got[id] = strings.Trim(fmt.Sprint(open), "[]")
	}
	if len(has.Peers) > 0 {
		got["peers"] = strings.Join(has.Peers, " ")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		w.Errorf("%s: the open ports (-want +got):\n%s", when, diff)
	}
}

// calls returns how often the cloud's rules were set.
func (w *world) calls() int { return w.count("SetIngress") }

func (w *world) count(method string) (n int) {
	for _, op := range w.cloud.Ops() {
		if op.Method == method {
			n++
		}
	}
	return n
}

// looks checks how often the cloud is asked for its rules in some time that begins with an act, if there is one, and how
// often they are set.
func (w *world) looks(when string, act func(), during time.Duration, reads, sets int) {
	w.Helper()
	reads, sets = reads+w.count("Ingress"), sets+w.calls()
	if act != nil {
		act()
	}
	time.Sleep(during)
	synctest.Wait()
	if r, s := w.count("Ingress"), w.calls(); r != reads || s != sets {
		w.Errorf("%s: %d reads and %d changes too many", when, r-reads, s-sets)
	}
}

func TestRulesFollowTheModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.run()
		defer func() { w.stop() }()
		w.holds("at first", map[string]string{w.one: "22/tcp", w.two: "22/tcp"})
		w.model.change(func(x *entity.Exposure) { x.Instances[w.one] = tcp(81, 80, 443) })
		w.holds("opened", map[string]string{w.one: "22/tcp 80-81/tcp 443/tcp", w.two: "22/tcp"})
		before := w.calls()
		w.model.wake()
		w.holds("an event about something else", map[string]string{w.one: "22/tcp 80-81/tcp 443/tcp", w.two: "22/tcp"})
		if n := w.calls(); n != before {
			t.Errorf("%d calls without a change", n-before)
		}
		w.model.change(func(x *entity.Exposure) {
			x.Instances[w.one] = tcp(443)
			delete(x.Instances, w.two)
			x.Hosts = []string{"192.0.2.1", "name"}
		})
		w.holds("closed, and a machine gone", map[string]string{w.one: "22/tcp 443/tcp", "peers": "192.0.2.1"})
		// Another hand has changed the cloud's rules, and later while the worker was away.
		if err := w.environ.SetIngress(t.Context(), provider.Ingress{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		w.holds("mended", map[string]string{w.one: "22/tcp 443/tcp", "peers": "192.0.2.1"})
		w.stop()
		w.model.change(func(x *entity.Exposure) { x.Instances[w.one] = nil })
		w.run()
		w.holds("after a restart", map[string]string{w.one: "22/tcp", "peers": "192.0.2.1"})
	})
}

// Rules that were set are compared soon with the cloud's, those that were found to hold every five minutes.
func TestTheCloudIsAskedSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.looks("at first", w.run, time.Second, 1, 1)
		defer func() { w.stop() }()
		w.looks("a little later", nil, 5*time.Second, 1, 0)
		w.looks("in an hour", nil, time.Hour, 12, 0)
		opened := func() { w.model.change(func(x *entity.Exposure) { x.Instances[w.one] = tcp(80) }) }
		w.looks("after a change", opened, 6*time.Second, 1, 1)
		gone := func() {
			w.model.change(func(x *entity.Exposure) { x.Instances, x.Hosts = nil, []string{"192.0.2.1"} })
		}
		w.looks("after the last machine of the cloud has gone", gone, time.Hour, 12, 1)
	})
}

// The rules of an instance follow its address as soon as the model knows it.
func TestRulesFollowAddresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.run()
		defer func() { w.stop() }()
		for n, address := range []string{"10.0.0.1", "10.0.0.2"} {
			time.Sleep(time.Hour) // the rules were found to hold, and are looked at seldom
			before := w.calls()
			for range 2 {
				w.model.change(func(x *entity.Exposure) { x.Addresses = map[string][]string{w.one: {address}} })
				synctest.Wait()
			}
			if got := w.calls() - before; got != 1 {
				t.Errorf("address %d: the rules were set %d times, want once", n, got)
			}
		}
	})
}

func TestModes(t *testing.T) {
	for mode, want := range map[string]map[string]string{
		modelconfig.FirewallGlobal: {"dummy-1": "22/tcp 80/tcp 443/tcp", "dummy-2": "22/tcp 80/tcp 443/tcp"},
		modelconfig.FirewallNone:   {},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.model.x.Mode = mode
			w.model.x.Instances[w.one], w.model.x.Instances[w.two] = tcp(80), tcp(443, 80)
			w.run()
			defer func() { w.stop() }()
			w.holds(mode, want)
			if mode == modelconfig.FirewallGlobal {
				w.model.change(func(x *entity.Exposure) { x.Instances[w.two] = tcp(443) })
				w.holds("another still needs it", want)
				w.model.change(func(x *entity.Exposure) { x.Instances[w.one] = nil })
				w.holds("the last has closed it", map[string]string{w.one: "22/tcp 443/tcp", w.two: "22/tcp 443/tcp"})
			}
		})
	}
}

// What is open to networks follows the model too; in the mode global it is on all instances.
func TestRulesForNetworks(t *testing.T) {
	for mode, both := range map[string]bool{modelconfig.FirewallInstance: false, modelconfig.FirewallGlobal: true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.model.x.Mode = mode
			w.run()
			defer func() { w.stop() }()
			for _, cidr := range []string{"10.0.0.0/8", "192.0.2.0/24"} {
				from := []entity.PortsFrom{{CIDR: cidr, Ports: tcp(80)}}
				w.model.change(func(x *entity.Exposure) { x.From = map[string][]entity.PortsFrom{w.one: from} })
				synctest.Wait()
				want := map[string][]entity.PortsFrom{w.one: from}
				if both {
					want[w.two] = from
				}
				has, err := w.environ.Ingress(t.Context())
				if diff := cmp.Diff(want, has.From); err != nil || diff != "" {
					t.Errorf("mode %s (-want +got): %v\n%s", mode, err, diff)
				}
			}
			w.model.change(func(x *entity.Exposure) { x.From = nil })
			w.holds("closed again", map[string]string{w.one: "22/tcp", w.two: "22/tcp"})
			if has, err := w.environ.Ingress(t.Context()); err != nil || len(has.From) > 0 {
				t.Errorf("mode %s: still open are %v (%v)", mode, has.From, err)
			}
		})
	}
}

// A cloud without a firewall is named in the log, once until it has one, and as a warning only if it matters.
func TestNoFirewall(t *testing.T) {
	var log loggo.TestWriter
	if err := loggo.RegisterWriter("test", &log); err != nil {
		t.Fatal(err)
	}
	defer loggo.RemoveWriter("test")
	warnings := func() (n int) {
		for _, e := range log.Log() {
			if e.Level >= loggo.WARNING {
				n++
			}
		}
		return n
	}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.cloud.SetFirewall(false)
		defer func() { w.stop() }()
		w.looks("a cloud without a firewall", w.run, time.Hour+time.Second, 13, 0)
		if n := warnings(); n != 0 {
			t.Errorf("%d warnings while nothing is exposed", n)
		}
		w.model.change(func(x *entity.Exposure) { x.Instances[w.one] = tcp(80) })
		time.Sleep(time.Hour)
		if n := warnings(); n != 1 {
			t.Errorf("%d warnings of what is exposed, want one", n)
		}
		for _, has := range []bool{true, false} {
			w.cloud.SetFirewall(has)
			time.Sleep(time.Hour)
		}
		if n := warnings(); n != 2 {
			t.Errorf("%d warnings in all, want another when the firewall has gone again", n)
		}
	})
}

// Users are told why ports are not closed, once, and when they are.
func TestUsersAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		ctx, cancel := context.WithCancel(t.Context())
		var told []string
		f := New(Config{API: w.model, Cloud: w.environ, Report: func(_ context.Context, why string) error {
			if told = append(told, why); len(told) == 2 {
				return fmt.Errorf("the controller is away")
			}
			return nil
		}})
		done := make(chan error)
		run := func() { done <- f(ctx) }
		go run()
		time.Sleep(time.Hour)
		w.cloud.SetFirewall(false)
		if err := <-done; err == nil || err.Error() != "the controller is away" {
			t.Errorf("a failure to tell: %v", err)
		}
		go run()
		time.Sleep(time.Hour)
		w.cloud.SetFirewall(true)
		time.Sleep(time.Hour)
		cancel()
		<-done
		const why = "the dummy has no firewall"
		if want := []string{"", why, why, ""}; !slices.Equal(told, want) {
			t.Errorf("told were %q, want %q", told, want)
		}
	})
}

// Whatever the model goes through while the cloud fails and the worker is restarted, in the end the
// cloud has the model's rules; and when it fails no more, it has them at once.
func TestRandomChangesWhileTheCloudFails(t *testing.T) {
	for seed := range uint64(50) {
		synctest.Test(t, func(t *testing.T) {
			w, random := newWorld(t), rand.New(rand.NewPCG(seed, 0))
			if seed%3 == 0 {
				w.model.x.Mode = modelconfig.FirewallGlobal
			}
			w.run()
			defer func() { w.stop() }()
			for range 200 {
				switch random.IntN(8) {
				case 0:
					w.run()
				case 1:
					w.cloud.Fail([]string{"Ingress", "SetIngress"}[random.IntN(2)], 1+random.IntN(3), nil)
				case 2:
					w.cloud.Fail("SetIngress", 1, fmt.Errorf("never"))
				case 3:
					if err := w.environ.SetIngress(t.Context(), provider.Ingress{}); err != nil {
						t.Log(err)
					}
				case 4:
					time.Sleep(time.Duration(random.IntN(600)) * time.Second)
				default:
					w.changeAtRandom(random)
				}
			}
			time.Sleep(20 * time.Minute)
			w.holds(fmt.Sprintf("seed %d, in the end", seed), w.wanted())
			has, err := w.environ.Ingress(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for w.environ.SetIngress(t.Context(), has) != nil {
				t.Log("it was to fail once more")
			}
			for n := range 5 {
				w.changeAtRandom(random)
				w.holds(fmt.Sprintf("seed %d, change %d while all works", seed, n), w.wanted())
			}
		})
	}
}

// changeAtRandom opens other ports of an instance, has it go, or has a manual machine come or go.
func (w *world) changeAtRandom(random *rand.Rand) {
	w.model.change(func(x *entity.Exposure) {
		id := []string{w.one, w.two}[random.IntN(2)]
		switch random.IntN(6) {
		case 0:
			delete(x.Instances, id)
		case 1:
			x.Hosts = []string{"192.0.2.1", "192.0.2.2"}[:random.IntN(3)]
		default:
			var ports []int
			for _, n := range random.Perm(5)[:random.IntN(4)] {
				ports = append(ports, 80+2*n) // no two are one range
			}
			x.Instances[id] = tcp(ports...)
		}
	})
}

// wanted returns what the cloud is to have by the model, in the words of holds.
func (w *world) wanted() map[string]string {
	x, _ := w.model.Exposure(w.Context())
	want := map[string]string{}
	for id := range x.Instances {
		open := map[int]bool{22: true}
		for other, ports := range x.Instances {
			for _, p := range ports {
				if other == id || x.Mode == modelconfig.FirewallGlobal {
					open[p.From] = true
				}
			}
		}
		var words []string
		for _, port := range slices.Sorted(maps.Keys(open)) {
			words = append(words, fmt.Sprintf("%d/tcp", port))
		}
		want[id] = strings.Join(words, " ")
	}
	if len(want) > 0 && len(x.Hosts) > 0 {
		want["peers"] = strings.Join(x.Hosts, " ")
	}
	return want
}
