package provisioner

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"juju/provider"
	"juju/state/entity"
	"juju/state/modelconfig"
	"juju/worker"
)

// after lets time pass, and lets everything that follows happen.
func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (c *fakeCloud) lose(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.instances = slices.DeleteFunc(c.instances, func(in provider.Instance) bool { return in.ID == id })
}

func (m *fakeModel) message(of string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.messages[of]
}

func TestInstanceThatCannotBeStoppedIsReportedAndTriedAgain(t *testing.T) {
	model := newModel(entity.MachineInfo{ID: "1", Life: entity.Dead, InstanceID: "i-9"}, pending("2"))
	cloud := &fakeCloud{instances: []provider.Instance{{ID: "i-9", MachineID: "1"}}}
	tries := 0
	cloud.onStop = func(string) error {
		if tries++; tries < 3 {
			return entity.WithHint(errors.New("no answer"), "Pull the plug.")
		}
		return nil
	}
	story(t, model, cloud, nil, func(t *testing.T) {
		expect(t, model, "1 dead i-9", "2 alive i-1 pending")
		if got := model.message("instance of 1"); got != "no answer; Pull the plug." {
			t.Errorf("users are told %q", got)
		}
		after(31 * time.Second)
		expect(t, model, "1 dead i-9", "2 alive i-1 pending")
		after(31 * time.Second)
		expect(t, model, "2 alive i-1 pending")
	})
}

// What the cloud does not find is its own matter: the machine is not taken for gone.
func TestWhatTheCloudDoesNotFindIsNoMachine(t *testing.T) {
	model := newModel(entity.MachineInfo{ID: "1", Life: entity.Dead, InstanceID: "i-9"}, pending("2"))
	tries := 0
	missing := func() error {
		if tries++; tries < 3 {
			return entity.Errorf(entity.NotFound, "no project p")
		}
		return nil
	}
	cloud := &fakeCloud{instances: []provider.Instance{{ID: "i-9", MachineID: "1"}},
		onStop: func(string) error { return missing() },
		onStart: func(context.Context, provider.StartParams) error {
			return entity.WithHint(entity.Errorf(entity.NotFound, "no image"), "Make one.")
		}}
	story(t, model, cloud, nil, func(t *testing.T) {
		expect(t, model, "1 dead i-9", "2 alive error")
		if got := model.message("2"); got != "cannot start an instance: no image; Make one." {
			t.Errorf("users are told %q", got)
		}
		after(2 * time.Minute)
		expect(t, model, "2 alive error")
	})
}

// A forced removal of a machine leaves a stray instance. It is stopped as soon as the cloud
// allows it, and its leftover is deleted.
func TestLeftoversAreStoppedLater(t *testing.T) {
	for _, by := range []string{"us", "hand"} {
		t.Run("by "+by, func(t *testing.T) {
			model := newModel(entity.MachineInfo{ID: "1", Life: entity.Dead, InstanceID: "i-9"})
			cloud := &fakeCloud{instances: []provider.Instance{{ID: "i-9", MachineID: "1"}}}
			var refuse error = errors.New("no answer")
			var stops atomic.Int32
			cloud.onStop = func(string) error { stops.Add(1); return refuse }
			story(t, model, cloud, nil, func(t *testing.T) {
				synctest.Wait()
				model.mu.Lock()
				delete(model.machines, "1")
				model.leftovers = []entity.Leftover{{ID: "r", Instance: "i-9"}}
				model.mu.Unlock()
				before := stops.Load()
				model.events <- []string{"1"}
				synctest.Wait()
				if stops.Load() <= before {
					t.Error("the stop was not tried again when the machine went")
				}
				after(10 * time.Minute)
				if left, _ := model.Leftovers(t.Context()); len(left) != 1 {
					t.Error("what is there was forgotten")
				}
				if by == "hand" {
					cloud.lose("i-9")
				} else {
					cloud.mu.Lock()
					refuse = nil
					cloud.mu.Unlock()
				}
				after(3 * time.Minute)
				if left, _ := model.Leftovers(t.Context()); cloud.ids() != "" || len(left) != 0 {
					t.Errorf("left are %q and %v", cloud.ids(), left)
				}
			})
		})
	}
}

// The machine is removed by force while the cloud is stopping its instance; then the cloud
// fails.
func TestAMachineRemovedWhileItsInstanceIsStopped(t *testing.T) {
	model := newModel(entity.MachineInfo{ID: "1", Life: entity.Dead, InstanceID: "i-9"})
	cloud := &fakeCloud{instances: []provider.Instance{{ID: "i-9", MachineID: "1"}}}
	stops := 0
	cloud.onStop = func(string) error {
		if stops++; stops > 1 {
			return nil
		}
		model.mu.Lock()
		defer model.mu.Unlock()
		delete(model.machines, "1")
		return errors.New("no answer")
	}
	story(t, model, cloud, nil, func(t *testing.T) {
		after(time.Second)
		if cloud.ids() != "" {
			t.Errorf("left is %q: the stop was not tried again when the machine went", cloud.ids())
		}
	})
}

// An error in a scan is reported as a failure of the worker, which juju explain shows, until a scan succeeds.
func TestFailedObservationFailsTheWorker(t *testing.T) {
	for what, fail := range map[string]func(*fakeModel, *fakeCloud, error){
		"cannot list the cloud's instances: away": func(_ *fakeModel, c *fakeCloud, err error) { c.away = err },
		"cannot stop stray instance i-7: away": func(_ *fakeModel, c *fakeCloud, err error) {
			if c.onStop = nil; err != nil {
				c.onStop = func(string) error { return err }
				c.instances = []provider.Instance{{ID: "i-7", MachineID: "7"}}
			}
		},
		"cannot stop stray instance i-8: away": func(_ *fakeModel, c *fakeCloud, err error) { // and then it is stopped by hand
			if c.onStop, c.instances = func(string) error { return err }, nil; err != nil {
				c.instances = []provider.Instance{{ID: "i-8", MachineID: "7"}}
			}
		},
		"cannot delete obsolete leftovers: away": func(m *fakeModel, _ *fakeCloud, err error) {
			if m.keeps = err; err != nil {
				m.leftovers = []entity.Leftover{{Instance: "i-9"}}
			}
		},
		"cannot read the leftovers: away": func(m *fakeModel, c *fakeCloud, err error) { // any more
			c.onList = func() {
				m.mu.Lock()
				defer m.mu.Unlock()
				m.faults["Leftovers"] = err
			}
		},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				model, cloud, failures := newModel(), &fakeCloud{}, worker.NewFailures()
				ctx, cancel := context.WithCancel(worker.WithFailures(t.Context(), failures))
				done := make(chan struct{})
				go func() {
					defer close(done)
					worker.Run(ctx, time.Second, map[string]worker.Func{"provisioner": New(Config{API: model, Environ: cloud})})
				}()
				model.first()
				after(time.Minute)
				set := func(err error) {
					model.mu.Lock()
					defer model.mu.Unlock()
					cloud.mu.Lock()
					defer cloud.mu.Unlock()
					fail(model, cloud, err)
				}
				set(errors.New("away"))
				after(4 * time.Minute)
				if got := failures.List(); len(got) != 1 || got[0].Worker != "provisioner" || got[0].Error != what {
					t.Errorf("it tells of %v", got)
				}
				set(nil)
				after(2 * time.Minute)
				if got := failures.List(); len(got) != 0 {
					t.Errorf("when all is well it tells of %v", got)
				}
				cancel()
				<-done
			})
		})
	}
}

// A stray that can't be stopped holds up neither the other strays nor the machines.
func TestStrayThatCannotBeStopped(t *testing.T) {
	model := newModel(pending("1"))
	cloud := &fakeCloud{instances: []provider.Instance{{ID: "stuck", MachineID: "7"}, {ID: "stray", MachineID: "8"}}}
	var refuse atomic.Bool
	refuse.Store(true)
	cloud.onStop = func(id string) error {
		if id == "stuck" && refuse.Load() {
			return errors.New("no")
		}
		return nil
	}
	story(t, model, cloud, nil, func(t *testing.T) {
		expect(t, model, "1 alive i-1 pending")
		if got := cloud.ids(); got != "stuck i-1" {
			t.Errorf("instances %q", got)
		}
		refuse.Store(false)
		after(3 * time.Minute)
		if got := cloud.ids(); got != "i-1" {
			t.Errorf("instances %q", got)
		}
	})
}

// An instance that is being started during a scan is not taken for a stray.
func TestObservationWhileAnInstanceStarts(t *testing.T) {
	model, cloud := newModel(pending("1")), &fakeCloud{}
	cloud.onStart = func(context.Context, provider.StartParams) error { return nil }
	story(t, model, cloud, func(c *Config) {
		// The instance exists at once, but the start's answer takes ten minutes.
		inner := c.Environ
		c.Environ = slowStarts{inner}
	}, func(t *testing.T) {
		after(9 * time.Minute)
		if got := cloud.ids(); got != "i-1" {
			t.Errorf("instances %q", got)
		}
		after(time.Minute)
		expect(t, model, "1 alive i-1 pending")
	})
}

// An instance starts while a scan asks the cloud, and its machine is removed by force before
// the scan ends. The scan must not conclude that the cloud does not have the instance: the
// leftover stays, and the next scan stops the instance.
func TestForcedRemovalDuringAnObservation(t *testing.T) {
	model, cloud := newModel(), &fakeCloud{}
	model.config = modelconfig.New(map[string]string{modelconfig.HarvestMode: modelconfig.HarvestDestroyed}, "jammy")
	story(t, model, cloud, func(c *Config) {
		c.Environ = &forced{Environ: c.Environ, model: model}
	}, func(t *testing.T) {
		synctest.Wait()
		if left, _ := model.Leftovers(t.Context()); cloud.ids() != "i-1" || len(left) != 1 {
			t.Errorf("after the scan: instances %q, left %v", cloud.ids(), left)
		}
		after(10 * time.Minute)
		if left, _ := model.Leftovers(t.Context()); cloud.ids() != "" || len(left) != 0 {
			t.Errorf("after the next: instances %q, left %v", cloud.ids(), left)
		}
	})
}

// forced is a cloud in which a machine appears, and is removed by force, right after the first
// scan was answered.
type forced struct {
	Environ
	model *fakeModel
	done  bool
}

func (f *forced) Instances(ctx context.Context) ([]provider.Instance, error) {
	all, err := f.Environ.Instances(ctx)
	if !f.done {
		f.done = true
		in, err := f.StartInstance(ctx, provider.StartParams{MachineID: "7", Nonce: "n"})
		if err != nil {
			return nil, err
		}
		f.model.mu.Lock()
		defer f.model.mu.Unlock()
		f.model.leftovers = append(f.model.leftovers, entity.Leftover{Instance: in.ID})
	}
	return all, err
}

type slowStarts struct{ Environ }

func (s slowStarts) StartInstance(ctx context.Context, p provider.StartParams) (provider.Instance, error) {
	in, err := s.Environ.StartInstance(ctx, p)
	time.Sleep(10 * time.Minute)
	return in, err
}

func TestInstanceIsLostAfterTwoObservations(t *testing.T) {
	model := newModel(pending("1"), pending("2"), entity.MachineInfo{ID: "0", Manager: true, InstanceID: "controller"})
	cloud := &fakeCloud{}
	scans := &scans{}
	story(t, model, cloud, func(c *Config) { scans.Environ = c.Environ; c.Environ = scans }, func(t *testing.T) {
		synctest.Wait()
		m := model.machine("1")
		// A cloud that fails to answer, or omits an instance for a moment, loses no machine its
		// instance.
		scans.set(errors.New("no answer"), nil)
		after(10 * time.Minute)
		scans.set(nil, []string{m.InstanceID})
		scans.await(1)
		scans.set(nil, nil)
		after(10 * time.Minute)
		if got := model.machine("1"); got != m {
			t.Fatalf("machine 1 was %v and is %v", m, got)
		}
		cloud.lose(m.InstanceID)
		scans.await(1)
		if got := model.machine("1"); got != m {
			t.Fatal("one scan was enough")
		}
		after(2 * time.Minute)
		if got := model.machine("1"); got.InstanceID != "i-3" || got.Nonce == m.Nonce {
			t.Errorf("machine 1 is now %v", got)
		}
	})
}

// When an agent is lost its instance may be lost too: the cloud is scanned immediately, and an
// instance that is missing is replaced after no more than LostAfter.
func TestLostAgentTriggersAnObservation(t *testing.T) {
	model := newModel(pending("1"))
	cloud := &fakeCloud{}
	scans := &scans{}
	story(t, model, cloud, func(c *Config) { scans.Environ = c.Environ; c.Environ = scans }, func(t *testing.T) {
		synctest.Wait()
		model.agents <- struct{}{} // the agent restarts
		synctest.Wait()
		before := scans.count()
		model.agents <- struct{}{}
		synctest.Wait()
		if got := scans.count(); got != before+1 {
			t.Errorf("%d scans at once, want one", got-before)
		}
		cloud.lose(model.machine("1").InstanceID)
		model.agents <- struct{}{}
		after(time.Minute)
		if got := model.machine("1").InstanceID; got != "i-2" {
			t.Errorf("after a minute the instance is %q", got)
		}
	})
}

// scans is a cloud that can give wrong answers to scans.
type scans struct {
	Environ

	mu     sync.Mutex
	err    error
	hidden []string
	n      int
}

// await lets time pass until there were n more scans.
func (l *scans) await(n int) {
	for want := l.count() + n; l.count() < want; {
		after(time.Second)
	}
}

func (l *scans) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.n
}

func (l *scans) set(err error, hidden []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err, l.hidden = err, hidden
}

func (l *scans) Instances(ctx context.Context) ([]provider.Instance, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n++
	all, err := l.Environ.Instances(ctx)
	if l.err != nil {
		return nil, l.err
	}
	return slices.DeleteFunc(all, func(in provider.Instance) bool { return slices.Contains(l.hidden, in.ID) }), err
}

// Two Dying machines lose their instances. The one with a unit gets another, on which the unit
// can end; the one without is removed.
func TestADyingMachineGetsAnInstanceOnlyForItsUnits(t *testing.T) {
	one := entity.MachineInfo{ID: "1", Life: entity.Dying, InstanceID: "lost-1"}
	two := entity.MachineInfo{ID: "2", Life: entity.Dying, InstanceID: "lost-2"}
	model, cloud := newModel(one, two), &fakeCloud{}
	model.units["2"] = 1
	story(t, model, cloud, nil, func(t *testing.T) {
		after(3 * time.Minute)
		expect(t, model, "2 dying i-1 pending")
		if got := cloud.ids(); got != "i-1" {
			t.Errorf("instances %q", got)
		}
	})
}

// A Dying machine for which no instance can be had waits for its units, which may go without an event.
func TestADyingMachineWaitsForItsUnits(t *testing.T) {
	model, cloud := newModel(entity.MachineInfo{ID: "1", Life: entity.Dying, Status: entity.StatusError}), &fakeCloud{}
	model.units["1"] = 1
	story(t, model, cloud, nil, func(t *testing.T) {
		after(time.Minute)
		expect(t, model, "1 dying error")
		model.mu.Lock()
		model.units["1"] = 0
		model.mu.Unlock()
		after(2 * time.Minute)
		expect(t, model)
	})
}

// The units of a Dying machine go while its new instance is being started.
func TestUnitsGoWhileAnInstanceStarts(t *testing.T) {
	model, cloud := newModel(entity.MachineInfo{ID: "1", Life: entity.Dying}), &fakeCloud{}
	model.units["1"] = 1
	cloud.onStart = func(context.Context, provider.StartParams) error {
		model.mu.Lock()
		defer model.mu.Unlock()
		model.units["1"] = 0
		return nil
	}
	story(t, model, cloud, nil, func(t *testing.T) { expect(t, model) })
	if got := cloud.ids(); got != "" {
		t.Errorf("instances left: %s", got)
	}
}

// slowStops is a cloud that does not answer when an instance that is held is stopped.
type slowStops struct {
	Environ
	mu   sync.Mutex
	held map[string]bool
	log  []string // what was to be stopped
}

func (s *slowStops) StopInstances(ctx context.Context, ids ...string) error {
	s.mu.Lock()
	s.log = append(s.log, ids...)
	held := slices.ContainsFunc(ids, func(id string) bool { return s.held[id] })
	s.mu.Unlock()
	if held {
		<-ctx.Done()
		return ctx.Err()
	}
	return s.Environ.StopInstances(ctx, ids...)
}

// asked returns how often an instance was to be stopped.
func (s *slowStops) asked(id string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, asked := range s.log {
		if asked == id {
			n++
		}
	}
	return n
}

// However long the cloud takes to stop strays: what it reports is recorded, losses are noticed, and other strays stopped.
func TestAStrayThatHangsHoldsUpNothing(t *testing.T) {
	model := newModel(pending("1"))
	cloud := &fakeCloud{instances: []provider.Instance{{ID: "stuck-1", MachineID: "7"}, {ID: "stuck-2", MachineID: "8"}}}
	slow := &slowStops{held: map[string]bool{"stuck-1": true, "stuck-2": true}}
	story(t, model, cloud, func(c *Config) { slow.Environ = c.Environ; c.Environ = slow }, func(t *testing.T) {
		expect(t, model, "1 alive i-1 pending")
		cloud.mu.Lock()
		cloud.instances[2].Addresses = []string{"10.0.0.1"}
		cloud.instances = append(cloud.instances, provider.Instance{ID: "stray", MachineID: "9"})
		cloud.mu.Unlock()
		after(30 * time.Second)
		model.mu.Lock()
		if want := "1: 10.0.0.1"; !slices.Contains(model.observed, want) {
			t.Errorf("recorded are %q, want %q", model.observed, want)
		}
		model.mu.Unlock()
		cloud.lose("i-1")
		model.agents <- struct{}{}
		after(time.Minute)
		expect(t, model, "1 alive i-2 pending")
		if got := cloud.ids(); got != "stuck-1 stuck-2 i-2" {
			t.Errorf("instances %q", got)
		}
		if n := slow.asked("stuck-1"); n != 1 {
			t.Errorf("an instance is being stopped %d times at once", n)
		}
		after(10 * time.Minute)
		if n := slow.asked("stuck-1"); n < 2 {
			t.Error("what could not be stopped is not stopped again")
		}
	})
}

// What is left of a lost instance goes before its successor comes, and holds up no other machine.
func TestWhatIsLeftOfALostInstanceHoldsUpNoOtherMachine(t *testing.T) {
	one := entity.MachineInfo{ID: "1", InstanceID: "lost-1", Status: entity.StatusStarted}
	two := entity.MachineInfo{ID: "2", InstanceID: "lost-2", Status: entity.StatusStarted}
	model, cloud := newModel(one, two), &fakeCloud{}
	slow := &slowStops{held: map[string]bool{"lost-1": true, "lost-2": true}}
	story(t, model, cloud, func(c *Config) { slow.Environ = c.Environ; c.Environ = slow }, func(t *testing.T) {
		synctest.Wait()
		slow.mu.Lock()
		slow.held["lost-2"] = false
		slow.mu.Unlock()
		after(time.Minute)
		expect(t, model, "1 alive pending", "2 alive i-1 pending")
		model.events <- []string{"1", "2"} // of the losses
		expect(t, model, "1 alive pending", "2 alive i-1 pending")
		after(5 * time.Minute)
		expect(t, model, "1 alive i-2 pending", "2 alive i-1 pending")
	})
}
