package provisioner

import (
	"testing"
	"time"

	"juju/provider"
	"juju/state/entity"
)

// No cloud lists the instance of a manual machine, and none is asked to stop it.
func TestManualMachinesAreLeftAlone(t *testing.T) {
	manual := func(id string, life entity.Life) entity.MachineInfo {
		return entity.MachineInfo{ID: id, Life: life, InstanceID: "manual:host-" + id, Nonce: "n"}
	}
	model := newModel(manual("1", entity.Alive), manual("2", entity.Dying), manual("3", entity.Dead), pending("4"))
	model.faults["RemoveMachine"] = entity.Errorf(entity.InUse, "the agent of machine 3 is connected")
	cloud := &fakeCloud{}
	cloud.onStop = func(id string) error {
		if entity.IsManualInstance(id) {
			t.Errorf("the cloud is asked to stop %s", id)
		}
		return nil
	}
	story(t, model, cloud, nil, func(t *testing.T) {
		expect(t, model, "1 alive manual:host-1", "2 dying manual:host-2", "3 dead manual:host-3", "4 alive i-1 pending")
		after(2 * time.Second) // its agent has ended meanwhile
		expect(t, model, "1 alive manual:host-1", "2 dying manual:host-2", "4 alive i-1 pending")
		after(10 * time.Minute)
		if model.removals != 2 {
			t.Errorf("a machine was removed at attempt %d, want 2", model.removals)
		}
		expect(t, model, "1 alive manual:host-1", "2 dying manual:host-2", "4 alive i-1 pending")
		model.set(manual("1", entity.Dead))
		after(0)
		expect(t, model, "2 dying manual:host-2", "4 alive i-1 pending")
	})
	// An instance of the cloud's that is tagged with a manual machine is a stray.
	in := provider.Instance{ID: "i-9", MachineID: "1"}
	v := view{machines: map[string]entity.MachineInfo{"1": manual("1", entity.Alive)}}
	if !v.stray(in) {
		t.Error("an instance beside a manual machine is no stray")
	}
}
