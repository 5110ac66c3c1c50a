package controller

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"juju/provider"
	"juju/state/entity"
)

// An unreliable cloud fails some calls, and does what others ask for without saying so.
type unreliable struct {
	provider.Open
	fails, loses int // of a hundred calls

	mu     sync.Mutex
	rand   *rand.Rand
	mended bool
	calls  int
	every  int           // calls until the next signal
	signal chan struct{} // of a time to kill the controller
	faults map[string]int

	// The first start after each advance is late: it begins at the second advance from then on.
	due   bool
	late  [2]chan struct{} // closed at the next advance, and at the one after it
	tardy sync.WaitGroup   // late starts
}

func (u *unreliable) advance() {
	u.mu.Lock()
	defer u.mu.Unlock()
	close(u.late[0])
	u.late, u.due = [2]chan struct{}{u.late[1], make(chan struct{})}, true
}

func (u *unreliable) open(ctx context.Context, config provider.Config) (provider.Environ, error) {
	e, err := u.Open(ctx, config)
	return unreliableEnviron{e, u}, err
}

type unreliableEnviron struct {
	provider.Environ
	cloud *unreliable
}

// The faults of a call.
const (
	noFault = iota
	transient
	lasting
	lostAnswer
	late // a start that begins when its controller was killed, and the next one too
)

// fault draws the fault of a call.
func (u *unreliable) fault(method string) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.mended {
		return noFault
	}
	if u.calls++; u.calls%u.every == 0 {
		select {
		case u.signal <- struct{}{}:
		default:
		}
	}
	fault := noFault
	switch n := u.rand.IntN(100); {
	case u.due && method == "StartInstance":
		fault, u.due = late, false
		u.tardy.Add(1)
	case n < u.loses:
		fault = lostAnswer
	case n < u.loses+u.fails/5:
		fault = lasting
	case n < u.loses+u.fails:
		fault = transient
	}
	if fault != noFault {
		u.faults[fmt.Sprint(method, " ", []string{"", "fails", "fails for good", "loses its answer", "is late"}[fault])]++
	}
	return fault
}

var (
	errAway = errors.New("the cloud is away")
	errLate = errors.New("the cloud is late") // no one is there to hear it
)

// before returns the error with which a call fails, and after the one that replaces its answer.
func (e unreliableEnviron) before(ctx context.Context, method string) (before, after error) {
	switch e.cloud.fault(method) {
	case transient:
		return provider.Retryable(errAway), nil
	case lasting:
		return entity.Errorf(entity.Invalid, "the cloud refuses"), nil
	case lostAnswer:
		return nil, provider.Retryable(errAway)
	case late:
		e.cloud.mu.Lock()
		wait := e.cloud.late[1]
		e.cloud.mu.Unlock()
		select {
		case <-wait:
		case <-ctx.Done():
		}
		return nil, errLate
	}
	return nil, nil
}

func (e unreliableEnviron) StartInstance(ctx context.Context, p provider.StartParams) (provider.Instance, error) {
	before, after := e.before(ctx, "StartInstance")
	if before != nil {
		return provider.Instance{}, before
	}
	in, err := e.Environ.StartInstance(ctx, p)
	if after == errLate {
		e.cloud.tardy.Done()
	}
	if after != nil {
		return provider.Instance{}, after
	}
	return in, err
}

func (e unreliableEnviron) StopInstances(ctx context.Context, ids ...string) error {
	before, after := e.before(ctx, "StopInstances")
	if before != nil {
		return before
	}
	return errors.Join(e.Environ.StopInstances(ctx, ids...), after)
}

func (e unreliableEnviron) Instances(ctx context.Context) ([]provider.Instance, error) {
	before, after := e.before(ctx, "Instances")
	if err := errors.Join(before, after); err != nil {
		return nil, err
	}
	return e.Environ.Instances(ctx)
}

// Users add and destroy machines on an unreliable cloud, instances are lost, and the controller is
// killed again and again, or stopped. In the end there is one instance for each machine, the one that is
// recorded, and no other.
func TestMachinesOnAnUnreliableCloud(t *testing.T) {
	t.Parallel()
	// With few machines more must go wrong.
	machines, restarts, fails, loses := 24, 4, 30, 20
	if testing.Short() {
		machines, restarts = 12, 2
	}
	if os.Getenv("JUJU_SOAK") != "" {
		machines, restarts, fails, loses = 500, 40, 10, 1
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	s := newSystem(t, Options{Provisioner: quick})
	s.keepsLog()
	cloud := &unreliable{Open: s.cloud.Open, fails: fails, loses: loses, rand: rand.New(rand.NewPCG(seed, 0)),
		every: max(10, machines/restarts), signal: make(chan struct{}, 1), faults: map[string]int{}, due: true,
		late: [2]chan struct{}{make(chan struct{}), make(chan struct{})}}
	environ, err := s.cloud.Open(s.ctx, provider.Config{Controller: s.c.conf.Controller, Model: s.model})
	s.ok(err)
	s.stop()
	socket := (&remoteCloud{s.ctx, cloud.open}).serve(s)
	user := rand.New(rand.NewPCG(seed, 1))
	for n := range restarts {
		p := s.begin(mortal{Socket: socket, Add: machines / restarts, Destroy: n * machines / restarts / 12,
			Seed: user.Uint64()})
		there, err := environ.Instances(s.ctx)
		s.ok(err)
		for range len(there) / 24 {
			s.cloud.Lose(there[user.IntN(len(there))].ID)
		}
		select {
		case <-cloud.signal:
		case <-time.After(patience):
			t.Fatal("the provisioner has stopped calling the cloud")
		}
		if n%4 == 3 { // one of them may end as it likes
			p.signal(syscall.SIGTERM)
			p.end(0)
		} else {
			p.signal(syscall.SIGKILL)
			p.end(syscall.SIGKILL)
		}
		cloud.advance()
	}
	cloud.mu.Lock()
	cloud.mended = true
	t.Logf("%d calls, of which: %v", cloud.calls, cloud.faults)
	cloud.mu.Unlock()
	s.restartOn(cloud.open)
	// The user acts where the cloud has refused.
	s.until("the end of refusals", func(m *entity.ModelStatus) bool {
		failed, err := s.st.Provisioning().FailedMachines(s.ctx)
		s.ok(err)
		for _, m := range failed {
			if err := m.RetryProvisioning(s.ctx, nil); err != nil && entity.KindOf(err) != entity.Invalid &&
				!entity.IsNotFound(err) && entity.KindOf(err) != entity.NotAlive {
				t.Error(err)
			}
		}
		for _, m := range m.Machines {
			if m.Life != entity.Alive || m.Status.Status != entity.StatusStarted || m.InstanceID == "" {
				return false
			}
		}
		return len(failed) == 0
	})
	now := func() string {
		all, err := environ.Instances(s.ctx)
		s.ok(err)
		return tagged(all)
	}
	cloud.advance()
	cloud.advance()
	cloud.tardy.Wait()
	// Strays go at the provisioner's next looks.
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	ops := s.cloud.Watch(ctx)
	for now() != s.recorded() {
		if _, open := <-ops; !open {
			t.Fatalf("instances:\n%s\nmachines:\n%s", now(), s.recorded())
		}
	}
	if s.recorded() == "" {
		t.Error("no machine is left")
	}
}

// restartOn starts the controller on a cloud. It must have been stopped.
func (s *system) restartOn(open provider.Open) {
	s.Helper()
	s.c.options.Open = open
	s.start()
	var err error
	s.st, err = s.c.ctrl.Model(s.ctx, s.model)
	s.ok(err)
}
