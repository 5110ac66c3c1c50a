package controller

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"juju/provider"
	"juju/state"
	"juju/state/entity"
	"juju/worker/provisioner"
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
	case n < u.loses:
		fault = lostAnswer
	case n < u.loses+u.fails/5:
		fault = lasting
	case n < u.loses+u.fails:
		fault = transient
	}
	if fault != noFault {
		u.faults[fmt.Sprint(method, " ", []string{"", "fails", "fails for good", "loses its answer"}[fault])]++
	}
	return fault
}

var errAway = errors.New("the cloud is away")

// before returns the error with which a call fails, and after the one that replaces its answer.
func (e unreliableEnviron) before(method string) (before, after error) {
	switch e.cloud.fault(method) {
	case transient:
		return provider.Retryable(errAway), nil
	case lasting:
		return entity.Errorf(entity.Invalid, "the cloud refuses"), nil
	case lostAnswer:
		return nil, provider.Retryable(errAway)
	}
	return nil, nil
}

func (e unreliableEnviron) StartInstance(ctx context.Context, p provider.StartParams) (provider.Instance, error) {
	before, after := e.before("StartInstance")
	if before != nil {
		return provider.Instance{}, before
	}
	in, err := e.Environ.StartInstance(ctx, p)
	if after != nil {
		return provider.Instance{}, after
	}
	return in, err
}

func (e unreliableEnviron) StopInstances(ctx context.Context, ids ...string) error {
	before, after := e.before("StopInstances")
	if before != nil {
		return before
	}
	return errors.Join(e.Environ.StopInstances(ctx, ids...), after)
}

func (e unreliableEnviron) Instances(ctx context.Context) ([]provider.Instance, error) {
	before, after := e.before("Instances")
	if err := errors.Join(before, after); err != nil {
		return nil, err
	}
	return e.Environ.Instances(ctx)
}

// Users add and destroy machines on an unreliable cloud, instances are lost, and the controller is
// stopped again and again. In the end there is one instance for each machine, the one that is
// recorded, and no other.
func TestMachinesOnAnUnreliableCloud(t *testing.T) {
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
	s := newSystem(t, Options{Provisioner: provisioner.Config{Pause: 20 * time.Millisecond,
		Retry: 100 * time.Millisecond, Look: 300 * time.Millisecond, Sure: 100 * time.Millisecond}})
	s.keepsLog()
	cloud := &unreliable{Open: s.cloud.Open, fails: fails, loses: loses, rand: rand.New(rand.NewPCG(seed, 0)), every: max(10, machines/restarts),
		signal: make(chan struct{}, 1), faults: map[string]int{}}
	s.restartOn(cloud.open)
	user := rand.New(rand.NewPCG(seed, 1))
	for range restarts {
		for range machines / restarts {
			_, err := s.st.AddMachine(s.ctx, state.AddMachineParams{})
			s.ok(err)
		}
		all, err := s.st.Machines(s.ctx)
		s.ok(err)
		for range len(all) / 8 {
			switch m := all[user.IntN(len(all))]; {
			case user.IntN(3) > 0:
				if err := m.Destroy(s.ctx, entity.Destruction{}); err != nil && !entity.IsNotFound(err) {
					t.Errorf("cannot destroy machine %s: %v", m.ID(), err)
				}
			case m.InstanceID() != "":
				s.cloud.Lose(m.InstanceID())
			}
		}
		select {
		case <-cloud.signal:
		case <-time.After(patience):
			t.Fatal("the provisioner has stopped calling the cloud")
		}
		s.restartOn(cloud.open)
	}
	cloud.mu.Lock()
	cloud.mended = true
	t.Logf("%d calls, of which: %v", cloud.calls, cloud.faults)
	cloud.mu.Unlock()
	// The user acts where the cloud has refused.
	s.until("the end of refusals", func(m *entity.ModelStatus) bool {
		failed, err := s.st.Provisioning().FailedMachines(s.ctx)
		s.ok(err)
		for _, m := range failed {
			if err := m.RetryProvisioning(s.ctx); err != nil && entity.KindOf(err) != entity.Invalid &&
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
	environ, err := s.cloud.Open(s.ctx, provider.Config{Controller: s.c.conf.Controller, Model: s.model})
	s.ok(err)
	tagged := func() string {
		all, err := environ.Instances(s.ctx)
		s.ok(err)
		var lines []string
		for _, in := range all {
			lines = append(lines, in.MachineID+" "+in.ID+" "+in.Nonce)
		}
		slices.SortFunc(lines, entity.CompareNatural)
		return strings.Join(lines, "\n")
	}
	recorded := func() string {
		all, err := s.st.Provisioning().MachineInfos(s.ctx)
		s.ok(err)
		var lines []string
		for _, m := range all {
			lines = append(lines, m.ID+" "+m.InstanceID+" "+m.Nonce)
		}
		slices.SortFunc(lines, entity.CompareNatural)
		return strings.Join(lines, "\n")
	}
	// Strays go at the provisioner's next looks.
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	ops := s.cloud.Watch(ctx)
	for tagged() != recorded() {
		if _, open := <-ops; !open {
			t.Fatalf("instances:\n%s\nmachines:\n%s", tagged(), recorded())
		}
	}
	if recorded() == "" {
		t.Error("no machine is left")
	}
}

// restartOn stops the controller, and starts another on a cloud.
func (s *system) restartOn(open provider.Open) {
	s.Helper()
	s.stop()
	s.c.options.Open = open
	s.start()
	var err error
	s.st, err = s.c.ctrl.Model(s.ctx, s.model)
	s.ok(err)
}
