package instancemutater

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"juju/provider"
	"juju/provider/dummytest"
	"juju/state/entity"
	"juju/worker"
)

// A fakeModel has machines whose instances should have profiles.
type fakeModel struct {
	mu     sync.Mutex
	events chan struct{}
	wanted map[string][]entity.CharmProfile // by machine
	at     map[string]string                // the instances
	has    map[string][]entity.ProfileRef   // by machine, as recorded
	failed map[string]string                // by machine, likewise
	fault  error                            // of SetCharmProfiles
	reads  int                              // of the work
}

func newModel() *fakeModel {
	return &fakeModel{events: make(chan struct{}, 1), wanted: map[string][]entity.CharmProfile{}, at: map[string]string{},
		has: map[string][]entity.ProfileRef{}, failed: map[string]string{}}
}

func (m *fakeModel) wake() {
	select {
	case m.events <- struct{}{}:
	default:
	}
}

func (m *fakeModel) WatchProfiles(context.Context) (<-chan struct{}, error) { return m.events, nil }

func (m *fakeModel) ProfileWork(context.Context) (work []entity.ProfileWork, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reads++
	for id, instance := range m.at {
		if want := entity.ProfileRefs(m.wanted[id]); m.failed[id] != "" || !slices.Equal(want, m.has[id]) {
			work = append(work, entity.ProfileWork{Machine: id, Instance: instance, Wanted: want, Recorded: true})
		}
	}
	slices.SortFunc(work, func(a, b entity.ProfileWork) int { return strings.Compare(a.Machine, b.Machine) })
	return work, nil
}

func (m *fakeModel) CharmProfiles(_ context.Context, machine entity.Tag) ([]entity.CharmProfile, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.at[machine.ID] == "" {
		return nil, entity.Errorf(entity.NotFound, "machine %s not found", machine.ID)
	}
	return m.wanted[machine.ID], nil
}

func (m *fakeModel) SetCharmProfiles(_ context.Context, machine entity.Tag, set entity.ProfilesSet) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fault != nil {
		return m.fault
	}
	if m.at[machine.ID] == set.Instance {
		m.failed[machine.ID] = set.Failed
		if set.Failed == "" {
			m.has[machine.ID] = set.Has
		}
		m.wake()
	}
	return nil
}

// want gives machines other profiles, and fires the watch.
func (m *fakeModel) want(machine string, profiles ...entity.CharmProfile) {
	m.mu.Lock()
	m.wanted[machine] = profiles
	m.mu.Unlock()
	m.wake()
}

// A rig runs the worker on a cloud in memory.
type rig struct {
	*testing.T
	model *fakeModel
	cloud *dummytest.Cloud
	env   provider.Environ
	ended chan error

	stalls atomic.Pointer[string] // the instance that can't be changed until resume is closed
	resume chan struct{}
}

// SetProfiles implements provider.Profiler.
func (r *rig) SetProfiles(ctx context.Context, id string, profiles []provider.Profile) error {
	if stalls := r.stalls.Load(); stalls != nil && *stalls == id {
		<-r.resume
	}
	return r.env.Profiler().SetProfiles(ctx, id, profiles)
}

// story runs f while the worker runs on a cloud with these machines.
func story(t *testing.T, machines []string, f func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{T: t, model: newModel(), cloud: dummytest.New(nil), ended: make(chan error, 1),
			resume: make(chan struct{})}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var err error
		if r.env, err = r.cloud.Open(ctx, provider.Config{Controller: "c", Model: "m"}); err != nil {
			t.Fatal(err)
		}
		for _, id := range machines {
			in, err := r.env.StartInstance(ctx, provider.StartParams{MachineID: id, Nonce: "n"})
			if err != nil {
				t.Fatal(err)
			}
			r.model.at[id], r.model.has[id] = in.ID, []entity.ProfileRef{}
		}
		go func() { r.ended <- New(Config{API: r.model, Cloud: r})(ctx) }()
		f(r)
		cancel()
		if err := <-r.ended; !errors.Is(err, context.Canceled) {
			t.Errorf("ended with %v", err)
		}
	})
}

func profile(name string) entity.CharmProfile {
	return entity.CharmProfile{Name: name, LXDProfile: entity.LXDProfile{Config: map[string]string{"user.it": name}}}
}

// bad is a profile that the cloud does not accept.
func bad(name string) entity.CharmProfile {
	p := profile(name)
	p.Devices = map[string]map[string]string{"odd": {}}
	return p
}

// check checks what the machine's instance has, and what is recorded of it.
func (r *rig) check(machine, has, failed string) {
	r.Helper()
	synctest.Wait()
	r.model.mu.Lock()
	defer r.model.mu.Unlock()
	var got, recorded []string
	for _, p := range r.cloud.Profiles(r.model.at[machine]) {
		got = append(got, p.Name)
	}
	for _, ref := range r.model.has[machine] {
		recorded = append(recorded, ref.Name)
	}
	if strings.Join(got, " ") != has || strings.Join(recorded, " ") != has {
		r.Errorf("machine %s has %q and it is recorded that it has %q, want %q", machine, got, recorded, has)
	}
	if is := r.model.failed[machine]; is != failed {
		r.Errorf("of machine %s, the failure is %q, want %q", machine, is, failed)
	}
}

func TestGivesProfiles(t *testing.T) {
	story(t, []string{"0", "1"}, func(r *rig) {
		r.model.want("0", profile("web-0"))
		r.check("0", "web-0", "")
		r.check("1", "", "")
		r.model.want("0", profile("log-0"), profile("web-1"))
		r.model.want("1", profile("log-0"))
		r.check("0", "log-0 web-1", "")
		r.check("1", "log-0", "")
		r.model.want("0")
		r.check("0", "", "")
		reads := r.model.reads
		r.model.wake()
		synctest.Wait()
		if r.model.reads != reads+1 {
			t.Errorf("the work was read %d times for one event", r.model.reads-reads)
		}
	})
}

// What fails is recorded with the reason, and tried again after longer and longer pauses, but other profiles at once.
// Other machines get theirs meanwhile.
func TestFailures(t *testing.T) {
	story(t, []string{"0", "1"}, func(r *rig) {
		const why = "a device of profile web-0 has no type"
		r.model.want("0", bad("web-0"))
		r.model.want("1", profile("web-0"))
		r.check("0", "", why)
		r.check("1", "web-0", "")
		tries := func(want int) {
			t.Helper()
			synctest.Wait()
			n := 0
			for _, op := range r.cloud.Ops() {
				if op.Method == "SetProfiles" && op.InstanceIDs[0] == r.model.at["0"] {
					n++
				}
			}
			if n != want {
				t.Errorf("it was tried %d times, want %d", n, want)
			}
		}
		tries(1)
		r.model.wake()
		tries(1)
		time.Sleep(10 * time.Second)
		tries(2)
		time.Sleep(10 * time.Second)
		tries(2)
		time.Sleep(10 * time.Second)
		tries(3)
		time.Sleep(time.Hour)
		tries(3 + 14) // after 40, 80 and 160 seconds, and then every 300
		r.model.want("0", profile("web-1"))
		tries(3 + 15)
		r.check("0", "web-1", "")
	})
}

// An instance that is stuck holds up its machine alone, and a machine that is removed meanwhile nothing.
func TestSlowCloud(t *testing.T) {
	story(t, []string{"0", "1"}, func(r *rig) {
		stuck := r.model.at["0"]
		r.stalls.Store(&stuck)
		r.model.want("0", profile("web-0"))
		synctest.Wait()
		r.model.want("1", profile("web-0"))
		r.check("1", "web-0", "")
		r.check("0", "", "")
		close(r.resume)
		r.check("0", "web-0", "")
		r.model.mu.Lock()
		r.model.at["2"] = "dummy-9"
		r.model.mu.Unlock()
		r.model.want("2", profile("web-0"))
		r.check("2", "", "instance dummy-9 does not exist")
	})
}

// The worker fails when the controller does.
func TestControllerFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, cloud := newModel(), dummytest.New(nil)
		env, err := cloud.Open(t.Context(), provider.Config{Controller: "c", Model: "m"})
		if err != nil {
			t.Fatal(err)
		}
		m.at["0"], m.fault = "dummy-1", fmt.Errorf("the store is away")
		m.want("0", profile("web-0"))
		if err := New(Config{API: m, Cloud: env.Profiler()})(t.Context()); err != m.fault {
			t.Errorf("ended with %v", err)
		}
		m.events = make(chan struct{})
		close(m.events)
		if err := New(Config{API: m, Cloud: env.Profiler()})(t.Context()); !errors.Is(err, worker.ErrWatchEnded) {
			t.Errorf("ended with %v", err)
		}
	})
}
