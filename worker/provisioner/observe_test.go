package provisioner

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"juju/provider"
	"juju/state/entity"
)

// reports changes what the cloud reports of its first instance.
func (c *fakeCloud) reports(f func(*provider.Instance)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(&c.instances[0])
}

// wants checks what was recorded of instances since the last call.
func (m *fakeModel) wants(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	m.mu.Lock()
	defer m.mu.Unlock()
	if !slices.Equal(m.observed, want) {
		t.Errorf("recorded %q, want %q", m.observed, want)
	}
	m.observed = nil
}

// What the cloud reports of a machine's instance is recorded when it has changed.
func TestWhatTheCloudReportsIsRecorded(t *testing.T) {
	model := newModel(entity.MachineInfo{ID: "1", InstanceID: "i-9", Status: entity.StatusStarted},
		entity.MachineInfo{ID: "2", InstanceID: "i-8", Life: entity.Dead})
	cloud := &fakeCloud{instances: []provider.Instance{{ID: "i-9", MachineID: "1", Addresses: []string{"10.0.0.1"},
		Hardware: provider.Hardware{Cores: 2}, Status: "running"},
		{ID: "i-8", MachineID: "2"}, {ID: "twin", MachineID: "1"}, {ID: "stray", MachineID: "7"}}}
	story(t, model, cloud, nil, func(t *testing.T) {
		model.wants(t, "1: 10.0.0.1 cores=2 running") // and nothing of those that are to be stopped
		after(4 * time.Minute)
		model.wants(t)
		cloud.reports(func(in *provider.Instance) { in.Addresses = []string{"10.0.0.2"} })
		after(2 * time.Minute)
		model.wants(t, "1: 10.0.0.2 cores=2 running")

		// What could not be recorded is recorded later.
		cloud.reports(func(in *provider.Instance) { in.Hardware.Cores = 4 })
		model.mu.Lock()
		model.faults["Observe"] = errors.New("away")
		model.mu.Unlock()
		after(2 * time.Minute)
		model.wants(t)
		after(2 * time.Minute)
		model.wants(t, "1: 10.0.0.2 cores=4 running")
	})
}

// An instance that the cloud does not list is told from one that is stopped as soon as that is seen, and
// what is said of its successor or of its return replaces that.
func TestMissingInstanceIsRecordedImmediately(t *testing.T) {
	model := newModel(entity.MachineInfo{ID: "1", InstanceID: "i-9", Status: entity.StatusStarted})
	in := provider.Instance{ID: "i-9", MachineID: "1", Addresses: []string{"10.0.0.1"}, Status: "running"}
	cloud := &fakeCloud{instances: []provider.Instance{in}}
	story(t, model, cloud, nil, func(t *testing.T) {
		model.wants(t, "1: 10.0.0.1 running")
		cloud.lose("i-9")
		model.agents <- struct{}{}
		model.wants(t, "1: missing")
		after(20 * time.Second)
		cloud.mu.Lock()
		cloud.instances = append(cloud.instances, in)
		cloud.mu.Unlock()
		model.agents <- struct{}{}
		model.wants(t, "1: 10.0.0.1 running")
		cloud.lose("i-9")
		model.agents <- struct{}{}
		after(59 * time.Second)
		model.wants(t, "1: missing")
		expect(t, model, "1 alive i-9 started")
	})
}

// An instance that has no address or does not run is looked at soon, then less and less often, until
// it has and does.
func TestUnsettledMachineIsObservedSoon(t *testing.T) {
	for name, missing := range map[string]func(*provider.Instance){
		"no address":  func(in *provider.Instance) { in.Addresses = nil },
		"not running": func(in *provider.Instance) { in.Status = "stopped" },
	} {
		t.Run(name, func(t *testing.T) {
			model := newModel(entity.MachineInfo{ID: "1", InstanceID: "i-9", Status: entity.StatusStarted})
			cloud := &fakeCloud{instances: []provider.Instance{{ID: "i-9", MachineID: "1", Addresses: []string{"10.0.0.1"},
				Status: "running"}}}
			missing(&cloud.instances[0])
			story(t, model, cloud, nil, func(t *testing.T) {
				model.wants(t, map[string]string{"no address": "1: running", "not running": "1: 10.0.0.1 stopped"}[name])
				cloud.reports(func(in *provider.Instance) { in.Addresses, in.Status = []string{"10.0.0.1"}, "running" })
				after(time.Second)
				model.wants(t, "1: 10.0.0.1 running")

				cloud.reports(missing)
				after(2 * time.Minute)
				model.wants(t, map[string]string{"no address": "1: running", "not running": "1: 10.0.0.1 stopped"}[name])
				listed := cloud.lists()
				after(time.Hour)
				// 1 s, 1.5 s, …, and at last each minute.
				if n := cloud.lists() - listed; n < 60 || n > 75 {
					t.Errorf("the cloud was asked %d times in an hour", n)
				}
			})
		})
	}
}

// A cloud that does not answer is asked less and less often.
func TestACloudThatDoesNotAnswerIsAskedLessOften(t *testing.T) {
	model := newModel(entity.MachineInfo{ID: "1", InstanceID: "i-9", Status: entity.StatusStarted})
	cloud := &fakeCloud{instances: []provider.Instance{{ID: "i-9", MachineID: "1", Addresses: []string{"10.0.0.1"}}}}
	story(t, model, cloud, nil, func(t *testing.T) {
		cloud.refuse(errors.New("away"))
		listed := cloud.lists()
		after(62 * time.Minute) // at 2, 2.5, 3.5, 5.5, 9.5, 17.5, 32.5 and 47.5 minutes
		if n := cloud.lists() - listed; n != 8 {
			t.Errorf("the cloud was asked %d times in an hour", n)
		}
		cloud.refuse(nil)
		after(15 * time.Minute)
		listed = cloud.lists()
		after(10 * time.Minute)
		if n := cloud.lists() - listed; n != 5 {
			t.Errorf("the cloud was asked %d times in ten minutes", n)
		}
	})
}
