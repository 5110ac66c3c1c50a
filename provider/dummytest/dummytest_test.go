package dummytest_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"juju/provider"
	"juju/provider/dummytest"
	"juju/provider/providertest"
	"juju/state/constraints"
	"juju/state/entity"
)

const controller = "c0000000-0000-4000-8000-000000000000"

// agents counts the agents that a Cloud has started.
type agents struct {
	mu     sync.Mutex
	living map[string]int // "MODEL/MACHINE" → how many
	err    error          // of the next start
}

func (a *agents) start(ctx context.Context, params provider.StartParams) (func(), error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.err; err != nil {
		a.err = nil
		return nil, err
	}
	if a.living == nil {
		a.living = map[string]int{}
	}
	key := params.Model + "/" + params.MachineID
	a.living[key]++
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.living[key]--
	}, nil
}

func (a *agents) list(t *testing.T) (all []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for key, n := range a.living {
		for range n {
			all = append(all, key)
		}
	}
	return all
}

func TestConformance(t *testing.T) {
	providertest.Run(t, func(t *testing.T) providertest.Harness {
		var a agents
		c := dummytest.New(a.start)
		c.SetSeries("jammy", "noble")
		c.SetZones("b", "a")
		return providertest.Harness{Profile: providertest.Dummy, Controller: controller, Open: c.Open, Agents: a.list,
			Expanded: func(_ *testing.T, id string) provider.Profile { return c.Expanded(id) },
			Kept:     func(*testing.T) []string { return c.Kept(controller) }}
	})
}

func open(t *testing.T, c *dummytest.Cloud) provider.Environ {
	t.Helper()
	e, err := c.Open(t.Context(), provider.Config{Controller: controller, Model: providertest.ModelA})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestBroken(t *testing.T) {
	c := dummytest.New(nil)
	e := open(t, c)
	c.Break("StopInstances")
	if err := e.StopInstances(t.Context()); err == nil || err.Error() != "dummy.StopInstances is broken" {
		t.Errorf("StopInstances: got error %v", err)
	}
	c.Mend("StopInstances")
	if err := e.StopInstances(t.Context()); err != nil {
		t.Errorf("StopInstances after it was mended: %v", err)
	}
}

func TestFail(t *testing.T) {
	c := dummytest.New(nil)
	e := open(t, c)
	final := errors.New("out of stock")
	c.Fail("StartInstance", 2, nil)
	c.Fail("StartInstance", 1, final)
	for i, retry := range []bool{true, true, false} {
		_, err := e.StartInstance(t.Context(), provider.StartParams{MachineID: "0", Nonce: "n"})
		if err == nil || provider.IsRetryable(err) != retry || errors.Is(err, final) == retry {
			t.Errorf("start %d: got error %v, want one to be tried again: %v", i, err, retry)
		}
	}
	if _, err := e.StartInstance(t.Context(), provider.StartParams{MachineID: "0", Nonce: "n"}); err != nil {
		t.Errorf("start 3: %v", err)
	}
}

// An agent that does not come up leaves no instance, and the next attempt gets a new one.
func TestAgentThatFailsToStart(t *testing.T) {
	a := agents{err: errors.New("no agent for you")}
	c := dummytest.New(a.start)
	e := open(t, c)
	if _, err := e.StartInstance(t.Context(), provider.StartParams{MachineID: "0", Nonce: "n"}); err == nil {
		t.Error("started without an agent")
	}
	if all, _ := e.Instances(t.Context()); len(all) != 0 {
		t.Errorf("got %v after a start that failed", all)
	}
	if inst, err := e.StartInstance(t.Context(), provider.StartParams{MachineID: "0", Nonce: "n"}); err != nil ||
		inst.ID != "dummy-2" {
		t.Errorf("got instance %q, error %v", inst.ID, err)
	}
}

func TestStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a agents
		c := dummytest.New(a.start)
		e := open(t, c)
		watch, cancel := context.WithCancel(t.Context())
		defer cancel()
		ops := c.Watch(watch)
		release := c.Stall("StartInstance")

		short, cancelShort := context.WithTimeout(t.Context(), time.Minute)
		defer cancelShort()
		if _, err := e.StartInstance(short, provider.StartParams{MachineID: "0", Nonce: "n"}); !errors.Is(err,
			context.DeadlineExceeded) {
			t.Errorf("a stalled start with a minute to go: got error %v", err)
		}
		done := make(chan error)
		go func() {
			_, err := e.StartInstance(t.Context(), provider.StartParams{MachineID: "1", Nonce: "n"})
			done <- err
		}()
		for _, want := range []dummytest.Op{{MachineID: "0", Stalled: true}, {MachineID: "0"},
			{MachineID: "1", Stalled: true}} {
			if op := <-ops; op.Method != "StartInstance" || op.MachineID != want.MachineID || op.Stalled != want.Stalled {
				t.Errorf("got %+v, want %+v", op, want)
			}
		}
		if living := a.list(t); len(living) != 0 {
			t.Errorf("agents %v live although their start stalls", living)
		}
		release()
		release()
		if err := <-done; err != nil {
			t.Errorf("a start that was let go: %v", err)
		}
		if op := <-ops; op.MachineID != "1" || op.Stalled || op.Err != nil || len(op.InstanceIDs) != 1 {
			t.Errorf("got %+v, want the end of the start", op)
		}
	})
}

func TestLose(t *testing.T) {
	var a agents
	c := dummytest.New(a.start)
	e := open(t, c)
	inst, err := e.StartInstance(t.Context(), provider.StartParams{MachineID: "0", Nonce: "n"})
	if err != nil {
		t.Fatal(err)
	}
	if !c.Lose(inst.ID) || c.Lose(inst.ID) {
		t.Error("an instance must get lost, and once only")
	}
	if all, _ := e.Instances(t.Context()); len(all) != 0 {
		t.Errorf("got %v, want nothing", all)
	}
	if living := a.list(t); len(living) != 0 {
		t.Errorf("agents %v of a lost instance live", living)
	}
	ops := c.Ops()
	if last := ops[len(ops)-2]; last.Method != "Lose" || last.InstanceIDs[0] != inst.ID {
		t.Errorf("got operations %+v, want the loss in them", ops)
	}
}

func TestJam(t *testing.T) {
	c := dummytest.New(nil)
	e := open(t, c)
	for _, id := range []string{"0", "1"} {
		if _, err := e.StartInstance(t.Context(), provider.StartParams{MachineID: id, Nonce: "n"}); err != nil {
			t.Fatal(err)
		}
	}
	c.Jam("dummy-1")
	err := e.StopInstances(t.Context(), "dummy-1")
	if err == nil || entity.Hint(err) != "Remove from the cloud what is left of: dummy-1" {
		t.Errorf("got %v with hint %q", err, entity.Hint(err))
	}
	if err := e.StopInstances(t.Context(), "dummy-2"); err != nil {
		t.Error(err)
	}
	if err := e.Destroy(t.Context()); err == nil || entity.Hint(err) != "Remove from the cloud what is left of: dummy-1" {
		t.Errorf("got %v with hint %q", err, entity.Hint(err))
	}
	if !c.Lose("dummy-1") {
		t.Error("what the hint says can't be done")
	}
	if err := e.Destroy(t.Context()); err != nil || entity.Hint(err) != "" {
		t.Errorf("got %v with hint %q", err, entity.Hint(err))
	}
}

func TestConstraints(t *testing.T) {
	e := open(t, dummytest.New(nil))
	rules, err := e.ConstraintRules(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cons, _ := constraints.Parse("cpu-power=100 virt-type=kvm mem=3G cores=4 arch=arm64")
	if vain, err := rules.Check(cons); err != nil || len(vain) != 2 || vain[0] != "cpu-power" || vain[1] != "virt-type" {
		t.Errorf("demanded in vain: %v, error %v", vain, err)
	}
	inst, err := e.StartInstance(t.Context(),
		provider.StartParams{MachineID: "0", Nonce: "n", Placement: "valid", Constraints: cons})
	if err != nil {
		t.Fatal(err)
	}
	if got := inst.Hardware.String(); got != "arch=arm64 cores=4 mem=3072M root-disk=8192M" {
		t.Errorf("got hardware %q", got)
	}
	if err := e.PrecheckInstance(t.Context(), provider.PrecheckParams{Placement: "attic"}); err == nil ||
		err.Error() != "attic placement is invalid" {
		t.Errorf("got error %v", err)
	}
}

// The log holds about the last ten thousand operations, and a slow reader delays no one.
func TestLogIsBounded(t *testing.T) {
	c := dummytest.New(nil)
	e := open(t, c)
	ops := c.Watch(t.Context())
	const n = 25000
	for range n {
		e.PrecheckInstance(t.Context(), provider.PrecheckParams{})
	}
	e.Destroy(t.Context())
	if kept := len(c.Ops()); kept < 10000 || kept > 11000 {
		t.Errorf("the log holds %d operations", kept)
	}
	for op := range ops {
		if op.Method == "Destroy" {
			return
		}
	}
}
