package provisioner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"juju/provider"
	"juju/state/entity"
	"juju/state/modelconfig"
	"juju/worker"
)

// story runs a provisioner for the model and the cloud while tell runs. It fails the test
// unless the provisioner ends with its context and leaves no goroutine.
func story(t *testing.T, model *fakeModel, cloud *fakeCloud, change func(*Config), tell func(t *testing.T)) {
	synctest.Test(t, func(t *testing.T) {
		// A channel made outside of a synctest bubble stops the bubble's clock.
		model.events, model.configs, model.agents = make(chan []string), make(chan struct{}), make(chan struct{})
		config := Config{API: model, Environ: cloud,
			AgentConfig: func(m entity.MachineInfo, password, nonce string) ([]byte, error) {
				return []byte(m.ID + " " + password + " " + nonce), nil
			}}
		if change != nil {
			change(&config)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- New(config)(ctx) }()
		model.first()
		tell(t)
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("the provisioner ended with %v", err)
		}
	})
}

func expect(t *testing.T, model *fakeModel, want ...string) {
	t.Helper()
	synctest.Wait()
	if got := model.String(); got != strings.Join(want, "\n") {
		t.Errorf("machines:\n%s\nwant:\n%s", got, strings.Join(want, "\n"))
	}
}

func pending(id string) entity.MachineInfo {
	return entity.MachineInfo{ID: id, Status: entity.StatusPending}
}

func TestLifeOfAMachine(t *testing.T) {
	model, cloud := newModel(), &fakeCloud{}
	var got provider.StartParams
	cloud.onStart = func(_ context.Context, p provider.StartParams) error { got = p; return nil }
	story(t, model, cloud, nil, func(t *testing.T) {
		m := pending("1")
		m.Series, m.Constraints, m.Placement = "jammy", "mem=2G", "zone=a"
		model.mu.Lock()
		// No event says so yet.
		model.config = modelconfig.New(map[string]string{modelconfig.UserData: "packages: [curl]"}, "jammy")
		model.mu.Unlock()
		model.set(m)
		expect(t, model, "1 alive i-1 pending")
		if !strings.HasPrefix(got.Nonce, "machine-0:") || len(got.Nonce) != len("machine-0:")+36 {
			t.Errorf("nonce %q", got.Nonce)
		}
		if got.Series != "jammy" || got.Constraints.String() != "mem=2048M" || got.Placement != "zone=a" ||
			got.UserData != "packages: [curl]" {
			t.Errorf("started with %+v", got)
		}
		if want := "1 secret-1 " + got.Nonce; string(got.AgentConfig) != want {
			t.Errorf("agent's configuration is %q, want %q", got.AgentConfig, want)
		}

		// While the machine is Dying, its agent acts.
		m = model.machine("1")
		m.Life = entity.Dying
		model.set(m)
		expect(t, model, "1 dying i-1 pending")
		m.Life = entity.Dead
		model.set(m)
		expect(t, model)
		if want := []string{"start 1", "stop i-1"}; !slices.Equal(cloud.log, want) {
			t.Errorf("the cloud saw %q, want %q", cloud.log, want)
		}
		// The event of the removal itself.
		model.events <- []string{"1"}
		expect(t, model)
	})
}

// An instance is started with the profiles of charms that its machine should have then, and it is recorded which. A cloud
// without profiles gets none, and nothing is recorded.
func TestProfiles(t *testing.T) {
	for _, can := range []bool{true, false} {
		model, cloud := newModel(), &fakeCloud{}
		one := entity.CharmProfile{Name: "juju-m-a00000-web-1", LXDProfile: entity.LXDProfile{Config: map[string]string{"security.nesting": "true"}}}
		model.profiles = map[string][]entity.CharmProfile{"1": {one}}
		if can {
			cloud.profiler = struct{ provider.Profiler }{}
		}
		var got []provider.Profile
		cloud.onStart = func(_ context.Context, p provider.StartParams) error { got = append(got, p.Profiles...); return nil }
		story(t, model, cloud, nil, func(t *testing.T) {
			model.set(pending("1"))
			expect(t, model, "1 alive i-1 pending")
			model.set(pending("2"))
			expect(t, model, "1 alive i-1 pending", "2 alive i-2 pending")
			var want []provider.Profile
			recorded := map[string][]entity.ProfileRef{}
			if can {
				want = []provider.Profile{one}
				recorded["1"], recorded["2"] = []entity.ProfileRef{one.Ref()}, []entity.ProfileRef{}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("started with (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(recorded, model.recorded); diff != "" {
				t.Errorf("recorded (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMachinesThatNeedNoInstance(t *testing.T) {
	manager := entity.MachineInfo{ID: "0", Manager: true, InstanceID: entity.BootstrapInstance}
	failed := entity.MachineInfo{ID: "3", Status: entity.StatusError}
	model, cloud := newModel(manager, failed,
		entity.MachineInfo{ID: "1", Life: entity.Dying},
		entity.MachineInfo{ID: "2", Life: entity.Dead}), &fakeCloud{}
	cloud.onStart = func(context.Context, provider.StartParams) error { return errors.New("not expected") }
	story(t, model, cloud, nil, func(t *testing.T) {
		expect(t, model, "0 alive controller", "3 alive error")
		manager.Life = entity.Dead
		model.set(manager)
		expect(t, model, "3 alive error")
	})
	if len(cloud.log) > 0 {
		t.Errorf("the cloud saw %q", cloud.log)
	}
}

func TestStraysAreStoppedAtTheStart(t *testing.T) {
	model := newModel(entity.MachineInfo{ID: "1", InstanceID: "old-1"}, pending("2"))
	cloud := &fakeCloud{instances: []provider.Instance{
		{ID: "old-1", MachineID: "1"},
		{ID: "twin", MachineID: "1"},
		{ID: "unrecorded", MachineID: "2", Nonce: "machine-0:x"},
		{ID: "gone", MachineID: "7"},
	}}
	story(t, model, cloud, nil, func(t *testing.T) {
		expect(t, model, "1 alive old-1", "2 alive i-1 pending")
	})
	if got := cloud.ids(); got != "old-1 i-1" {
		t.Errorf("instances %q", got)
	}
	// Before that, only the instances that could be mistaken for their successors may be
	// stopped.
	before := slices.Index(cloud.log, "stop unrecorded")
	if slices.Sort(cloud.log[before+1:]); !slices.Contains(cloud.log[before+1:], "start 2") {
		t.Errorf("the cloud saw %q", cloud.log)
	}
}

func TestFailedStarts(t *testing.T) {
	for _, test := range []struct {
		about   string
		fail    func(attempt int) error
		starts  int
		want    string
		message string
	}{{
		about:  "passes after two attempts",
		fail:   func(n int) error { return map[bool]error{true: provider.Retryable(errors.New("busy"))}[n < 3] },
		starts: 3, want: "1 alive i-1 pending",
	}, {
		about:  "never passes",
		fail:   func(int) error { return provider.Retryable(errors.New("no capacity")) },
		starts: 4, want: "1 alive error", message: "cannot start an instance: no capacity",
	}, {
		about: "passes over to another error",
		fail: func(n int) error {
			if n == 1 {
				return provider.Retryable(errors.New("busy"))
			}
			return errors.New("no image")
		},
		starts: 2, want: "1 alive error", message: "cannot start an instance: busy; then: no image",
	}, {
		about: "waits for room on the disk",
		fail: func(n int) error {
			if n < 20 {
				return fmt.Errorf("cannot start a process: %w", syscall.ENOSPC)
			}
			return nil
		},
		starts: 20, want: "1 alive i-1 pending",
	}, {
		about: "waits for files and processes, and is then busy",
		fail: func(n int) error {
			lacks := []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EAGAIN}
			switch {
			case n <= 16:
				return fmt.Errorf("cannot start a process: %w", lacks[n%4])
			case n <= 18:
				return provider.Retryable(errors.New("busy"))
			}
			return nil
		},
		starts: 19, want: "1 alive i-1 pending",
	}, {
		about:  "can't be had",
		fail:   func(int) error { return entity.Errorf(entity.Invalid, `invalid constraint value: arch=vax`) },
		starts: 1, want: "1 alive error", message: "cannot start an instance: invalid constraint value: arch=vax",
	}, {
		about:  "leaves half an instance",
		fail:   func(int) error { return errHalfMade },
		starts: 4, want: "1 alive error", message: "cannot start an instance: out of patience",
	}} {
		t.Run(test.about, func(t *testing.T) {
			model, cloud := newModel(pending("1"), pending("2")), &fakeCloud{}
			attempts := 0
			nonces := map[string]bool{}
			cloud.onStart = func(_ context.Context, p provider.StartParams) error {
				if p.MachineID == "2" {
					return nil
				}
				attempts++
				nonces[p.Nonce] = true
				return test.fail(attempts)
			}
			story(t, model, cloud, func(c *Config) { c.Attempts = 4 }, func(t *testing.T) {
				time.Sleep(time.Hour)
				synctest.Wait()
				got := strings.Split(model.String(), "\n")
				if !strings.HasPrefix(got[0], strings.TrimSuffix(test.want, "i-1 pending")) || model.messages["1"] != test.message {
					t.Errorf("machine %q with message %q, want %q and %q", got[0], model.messages["1"], test.want, test.message)
				}
				if model.machine("2").InstanceID == "" {
					t.Error("the other machine has no instance")
				}
			})
			if attempts != test.starts || len(nonces) != 1 {
				t.Errorf("%d attempts with %d nonces, want %d with one", attempts, len(nonces), test.starts)
			}
			if n := len(cloud.instances); model.machine("1").InstanceID == "" && n != 1 {
				t.Errorf("instances left: %s", cloud.ids())
			}
		})
	}
}

// While a start is tried again, its machine says why, and no longer once it has an instance. When what a
// failed start has left can't be removed, the machine says first why the start failed, and can be retried.
func TestAMachineSaysWhatItsStartWaitsFor(t *testing.T) {
	model, cloud := newModel(pending("1")), &fakeCloud{}
	var full, broken, stuck atomic.Bool
	full.Store(true)
	cloud.onStart = func(context.Context, provider.StartParams) error {
		switch {
		case full.Load():
			return fmt.Errorf("cannot start a process: %w", syscall.ENOSPC)
		case broken.Load():
			return errHalfMade
		}
		return nil
	}
	cloud.onStop = func(string) error {
		if stuck.Load() {
			return errors.New("no")
		}
		return nil
	}
	says := func(word, want string) {
		t.Helper()
		synctest.Wait()
		if got := model.message("1"); got != want {
			t.Errorf("it says %q, want %q", got, want)
		}
		expect(t, model, "1 alive "+word)
	}
	retry := func() {
		model.mu.Lock()
		model.messages["1"] = ""
		model.mu.Unlock()
		model.set(pending("1"))
	}
	const failed, left = "cannot start an instance: out of patience", "cannot remove what an earlier start left behind: no"
	story(t, model, cloud, nil, func(t *testing.T) {
		after(time.Hour)
		says("pending", "cannot start an instance yet, trying again: cannot start a process: no space left on device")
		broken.Store(true)
		stuck.Store(true)
		full.Store(false)
		after(10 * time.Minute)
		says("error", failed+"; "+left)
		if i := slices.Index(model.said, failed+"; "+left); i < 1 || model.said[i-1] != failed {
			t.Errorf("it said %q", model.said)
		}
		broken.Store(false)
		retry()
		says("pending", "cannot start an instance yet, trying again: "+left)
		after(10 * time.Minute)
		says("error", "cannot start an instance: "+left)
		retry()
		after(time.Minute)
		says("pending", "cannot start an instance yet, trying again: "+left)
		stuck.Store(false)
		after(time.Hour)
		says("i-2 pending", "")
		if got := cloud.ids(); got != "i-2" {
			t.Errorf("instances %q", got)
		}
	})
}

// A start that lacks what others may release is tried less and less often, and never given up; neither is the removal
// of what a start has left.
func TestShortagesAreWaitedFor(t *testing.T) {
	model, cloud := newModel(pending("1")), &fakeCloud{}
	lacks := fmt.Errorf("pipe2: %w", syscall.EMFILE)
	var starts atomic.Int64
	var short, broken atomic.Bool
	short.Store(true)
	cloud.onStart = func(context.Context, provider.StartParams) error {
		starts.Add(1)
		switch {
		case broken.Load():
			return errHalfMade
		case short.Load():
			return lacks
		}
		return nil
	}
	cloud.onStop = func(string) error {
		if short.Load() {
			return lacks
		}
		return nil
	}
	says := func(word, want string) {
		t.Helper()
		synctest.Wait()
		if got := model.message("1"); got != want {
			t.Errorf("it says %q, want %q", got, want)
		}
		expect(t, model, "1 alive "+word)
	}
	const left = "cannot remove what an earlier start left behind: pipe2: too many open files"
	story(t, model, cloud, nil, func(t *testing.T) {
		after(time.Hour)
		says("pending", "cannot start an instance yet, trying again: pipe2: too many open files")
		if n := starts.Load(); n < 100 || n > 130 {
			t.Errorf("it was tried %d times in an hour, want every half a minute", n)
		}
		broken.Store(true)
		after(10 * time.Minute)
		says("error", "cannot start an instance: out of patience; "+left)
		broken.Store(false)
		model.mu.Lock()
		model.messages["1"] = ""
		model.mu.Unlock()
		model.set(pending("1"))
		after(time.Hour)
		says("pending", "cannot start an instance yet, trying again: "+left)
		short.Store(false)
		after(time.Minute)
		says("i-2 pending", "")
	})
}

// What a failed start has left goes when the machine has gone, whatever the harvest mode, and when it
// waits for the user.
func TestWhatAFailedStartLeavesGoesInTheEnd(t *testing.T) {
	for _, removed := range []bool{true, false} {
		t.Run(fmt.Sprint("removed ", removed), func(t *testing.T) {
			model, cloud := newModel(pending("1")), &fakeCloud{}
			model.config = modelconfig.New(map[string]string{modelconfig.HarvestMode: modelconfig.HarvestNone}, "jammy")
			var stuck atomic.Bool
			stuck.Store(true)
			cloud.onStart = func(context.Context, provider.StartParams) error { return errHalfMade }
			cloud.onStop = func(string) error {
				if stuck.Load() {
					return errors.New("no")
				}
				return nil
			}
			story(t, model, cloud, nil, func(t *testing.T) {
				after(10 * time.Minute)
				expect(t, model, "1 alive error")
				if removed {
					model.mu.Lock()
					delete(model.machines, "1")
					model.mu.Unlock()
				}
				stuck.Store(false)
				after(time.Minute)
				if got := cloud.ids(); got != "" {
					t.Errorf("instances left: %s", got)
				}
				if got := model.message("1"); !removed && got != "cannot start an instance: out of patience" {
					t.Errorf("it says %q", got)
				}
			})
		})
	}
}

// A machine whose agent can't be configured says so.
func TestAMachineSaysThatItsAgentCannotBeConfigured(t *testing.T) {
	model, cloud := newModel(pending("1")), &fakeCloud{}
	var broken atomic.Bool
	broken.Store(true)
	story(t, model, cloud, func(c *Config) {
		c.Tools = func(context.Context) (map[string]provider.Tools, error) {
			if broken.Load() {
				return nil, errors.New("no archive")
			}
			return nil, nil
		}
	}, func(t *testing.T) {
		expect(t, model, "1 alive pending")
		if got := model.message("1"); got != "cannot start an instance yet, trying again: "+
			"cannot choose its agent binaries: no archive" {
			t.Errorf("it says %q", got)
		}
		broken.Store(false)
		after(time.Minute)
		expect(t, model, "1 alive i-1 pending")
		if got := model.message("1"); got != "" {
			t.Errorf("it says %q", got)
		}
	})
}

// An instance is started in the spaces that are demanded of it. While the model lacks one, the machine says so, and waits.
func TestInstancesAreStartedInTheirSpaces(t *testing.T) {
	model, cloud := newModel(pending("1")), &fakeCloud{}
	want := entity.MachineSpaces{In: []entity.Space{{ID: "1", Name: "db"}}}
	model.spaces = map[string]entity.MachineSpaces{"1": want}
	model.faults["MachineSpaces"] = entity.Errorf(entity.Invalid, `space "db" not found`)
	var got entity.MachineSpaces
	cloud.onStart = func(_ context.Context, p provider.StartParams) error {
		got = p.Spaces
		return nil
	}
	story(t, model, cloud, nil, func(t *testing.T) {
		expect(t, model, "1 alive pending")
		if got := model.message("1"); got != `cannot start an instance yet, trying again: space "db" not found` {
			t.Errorf("it says %q", got)
		}
		after(time.Minute)
		expect(t, model, "1 alive i-1 pending")
		if len(got.In) != 1 || got.In[0].Name != "db" {
			t.Errorf("its instance is started in %v, want %v", got, want)
		}
	})
}

// That a machine is going says nothing about it to users.
func TestAMachineThatGoesBeforeItsStart(t *testing.T) {
	model, cloud := newModel(pending("1")), &fakeCloud{}
	model.faults["NewPassword"] = entity.Errorf(entity.NotAlive, "machine 1 is not alive")
	story(t, model, cloud, nil, func(t *testing.T) {
		after(time.Minute)
		expect(t, model, "1 alive i-1 pending")
		if len(model.said) > 0 {
			t.Errorf("it says %q", model.said)
		}
	})
}

func TestMachineDestroyedWhileItsInstanceStarts(t *testing.T) {
	model, cloud := newModel(pending("1")), &fakeCloud{}
	cloud.onStart = func(context.Context, provider.StartParams) error { time.Sleep(time.Minute); return nil }
	story(t, model, cloud, nil, func(t *testing.T) {
		synctest.Wait()
		m := model.machine("1")
		m.Life = entity.Dying
		model.set(m)
		time.Sleep(2 * time.Minute)
		expect(t, model)
	})
	if got := cloud.ids(); got != "" {
		t.Errorf("instances left: %s", got)
	}
}

// A machine that is Alive and for which the controller takes no instance is not tried again without
// a pause.
func TestAMachineThatTakesNoInstance(t *testing.T) {
	model, cloud := newModel(pending("1")), &fakeCloud{}
	starts := 0
	cloud.onStart = func(context.Context, provider.StartParams) error {
		model.mu.Lock()
		defer model.mu.Unlock()
		if starts++; starts > 1000 {
			return nil
		}
		model.faults["SetProvisioned"] = entity.Errorf(entity.NotAlive, "machine 1 is not alive")
		return nil
	}
	story(t, model, cloud, nil, func(t *testing.T) { time.Sleep(10 * time.Minute) })
	if starts < 4 || starts > 1000 {
		t.Errorf("it has started %d instances in 10 minutes", starts)
	}
}

func TestAnswerOfSetProvisionedIsLost(t *testing.T) {
	for _, recorded := range []bool{true, false} {
		t.Run(fmt.Sprint("recorded ", recorded), func(t *testing.T) {
			model, cloud := newModel(pending("1")), &fakeCloud{}
			story(t, model, cloud, nil, func(t *testing.T) {
				synctest.Wait()
				model.mu.Lock()
				model.machines["2"] = pending("2")
				model.faults["SetProvisioned"] = errors.New("connection lost")
				model.mu.Unlock()
				model.events <- []string{"2"}
				synctest.Wait()
				if recorded { // as if the call had succeeded
					model.mu.Lock()
					m := model.machines["2"]
					m.InstanceID = "i-2"
					model.machines["2"] = m
					model.mu.Unlock()
				}
				time.Sleep(time.Hour)
				synctest.Wait()
			})
			want := "i-1 i-3" // a new one started, the lost one stopped
			if recorded {
				want = "i-1 i-2"
			}
			if got := cloud.ids(); got != want {
				t.Errorf("instances %q, want %q", got, want)
			}
		})
	}
}

func TestStartsAreParallelWithinABound(t *testing.T) {
	var machines []entity.MachineInfo
	for i := range 20 {
		machines = append(machines, pending(fmt.Sprint(i)))
	}
	model, cloud := newModel(machines...), &fakeCloud{}
	cloud.onStart = func(context.Context, provider.StartParams) error { time.Sleep(time.Minute); return nil }
	story(t, model, cloud, func(c *Config) { c.Parallel = 4 }, func(t *testing.T) {
		began := time.Now()
		time.Sleep(5*time.Minute + time.Second)
		synctest.Wait()
		if len(cloud.instances) != 20 || cloud.maxRunning != 4 {
			t.Errorf("after %v there are %d instances, at most %d were started at once", time.Since(began), len(cloud.instances),
				cloud.maxRunning)
		}
	})
}

// However long a start takes, or waits for room: what is to go goes, and other starts have their turns.
func TestAStartHoldsUpNoOtherMachine(t *testing.T) {
	going := entity.MachineInfo{ID: "2", Life: entity.Dying, InstanceID: "i-9"}
	dead := going
	dead.Life = entity.Dead
	one := func(c *Config) { c.Parallel = 1 }
	t.Run("a full disk", func(t *testing.T) {
		model, cloud := newModel(pending("1"), going), &fakeCloud{instances: []provider.Instance{{ID: "i-9", MachineID: "2"}}}
		cloud.onStart = func(_ context.Context, p provider.StartParams) error {
			if p.MachineID == "1" {
				return fmt.Errorf("cannot start a process: %w", syscall.ENOSPC)
			}
			return nil
		}
		story(t, model, cloud, one, func(t *testing.T) {
			expect(t, model, "1 alive pending", "2 dying i-9")
			model.set(dead)
			expect(t, model, "1 alive pending")
			model.set(pending("3"))
			expect(t, model, "1 alive pending", "3 alive i-1 pending")
		})
	})
	t.Run("a slow start", func(t *testing.T) {
		model, cloud := newModel(pending("1"), going), &fakeCloud{instances: []provider.Instance{{ID: "i-9", MachineID: "2"}}}
		cloud.onStart = func(context.Context, provider.StartParams) error { time.Sleep(15 * time.Minute); return nil }
		story(t, model, cloud, one, func(t *testing.T) {
			expect(t, model, "1 alive pending", "2 dying i-9")
			model.set(dead)
			expect(t, model, "1 alive pending")
			model.set(pending("3"))
			expect(t, model, "1 alive pending", "3 alive pending")
			model.set(entity.MachineInfo{ID: "3", Life: entity.Dying}) // while it waits for its turn
			after(15 * time.Minute)
			expect(t, model, "1 alive i-1 pending")
			if want := []string{"start 1", "stop i-9"}; !slices.Equal(cloud.log, want) {
				t.Errorf("the cloud saw %q, want %q", cloud.log, want)
			}
		})
	})
}

func TestEndsWithItsContext(t *testing.T) {
	model, cloud := newModel(pending("1"), pending("2")), &fakeCloud{}
	cloud.onStart = func(ctx context.Context, p provider.StartParams) error {
		if p.MachineID == "1" {
			return provider.Retryable(errors.New("busy")) // in a pause between two attempts
		}
		<-ctx.Done()
		return ctx.Err()
	}
	story(t, model, cloud, nil, func(t *testing.T) { synctest.Wait() })
	if strings.Contains(model.String(), "error") {
		t.Errorf("a machine was blamed for the end of the provisioner:\n%s", model)
	}
	// Nor does it end before the first look.
	model = newModel(entity.MachineInfo{ID: "1", InstanceID: "i-9", Status: entity.StatusStarted})
	model.onObserve = func(ctx context.Context) { <-ctx.Done() }
	cloud.instances = []provider.Instance{{ID: "i-9", MachineID: "1"}}
	story(t, model, cloud, nil, func(t *testing.T) { synctest.Wait() })
}

// What happens to a machine while its instance is being recorded is seen to after that.
func TestAMachineThatDiesWhileItsInstanceIsRecorded(t *testing.T) {
	model, cloud := newModel(pending("1")), &fakeCloud{addresses: []string{"10.0.0.1"}} // so no look follows
	model.onProvisioned = func() {
		m := model.machine("1")
		m.Life = entity.Dead
		model.set(m)
	}
	story(t, model, cloud, nil, func(t *testing.T) { expect(t, model) })
	if got := cloud.ids(); got != "" {
		t.Errorf("instances left: %s", got)
	}
}

func TestWatchEnds(t *testing.T) {
	for _, end := range []func(*fakeModel){func(m *fakeModel) { close(m.events) }, func(m *fakeModel) { close(m.agents) },
		func(m *fakeModel) { close(m.configs) }} {
		model := newModel()
		end(model)
		if err := New(Config{API: model, Environ: &fakeCloud{}})(t.Context()); !errors.Is(err, worker.ErrWatchEnded) {
			t.Errorf("got %v", err)
		}
	}
	// A start that goes on ends too.
	synctest.Test(t, func(t *testing.T) {
		model, cloud := newModel(pending("1")), &fakeCloud{}
		cloud.onStart = func(ctx context.Context, _ provider.StartParams) error {
			<-ctx.Done()
			return ctx.Err()
		}
		done := make(chan error)
		config := Config{API: model, Environ: cloud,
			AgentConfig: func(entity.MachineInfo, string, string) ([]byte, error) { return nil, nil }}
		go func() { done <- New(config)(t.Context()) }()
		model.first()
		synctest.Wait()
		close(model.events)
		if err := <-done; !errors.Is(err, worker.ErrWatchEnded) {
			t.Errorf("got %v", err)
		}
	})
}
