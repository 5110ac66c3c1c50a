package provisioner

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"juju/provider"
	"juju/provider/dummytest"
	"juju/state/entity"
	"juju/state/modelconfig"
)

// TestHarvestModes shows which instances are stopped in each mode: the instance of a destroyed
// machine, immediately and after later scans of the cloud, and an instance that belongs to no known
// machine. The instance of a machine that is needed stays in every mode.
func TestHarvestModes(t *testing.T) {
	for _, c := range []struct {
		mode                        string
		destroyedAtOnce, afterLooks bool // the destroyed machine's instance is gone
		unknown                     bool // the unknown one is
	}{
		{modelconfig.HarvestAll, true, true, true},
		{modelconfig.HarvestDestroyed, true, true, false},
		// Once its machine is removed, an instance is unknown.
		{modelconfig.HarvestUnknown, false, true, true},
		{modelconfig.HarvestNone, false, false, false},
	} {
		t.Run(c.mode, func(t *testing.T) {
			model := newModel(pending("1"), pending("2"))
			model.config = modelconfig.New(map[string]string{modelconfig.HarvestMode: c.mode}, "jammy")
			h := &harvested{T: t}
			story(t, model, nil, h.dummy, func(t *testing.T) {
				synctest.Wait()
				needed, destroyed := model.machine("1").InstanceID, model.machine("2").InstanceID
				unknown := h.start("77")
				gone := model.machine("2")
				gone.Life = entity.Dead
				model.set(gone)
				expect(t, model, "1 alive "+needed+" pending")
				h.has(needed, true)
				h.has(destroyed, !c.destroyedAtOnce)
				after(5 * time.Minute)
				h.has(needed, true)
				h.has(destroyed, !c.afterLooks)
				h.has(unknown, !c.unknown)
				// The mode takes effect at once.
				model.harvest(modelconfig.HarvestAll)
				h.has(needed, true)
				h.has(destroyed, false)
				h.has(unknown, false)
			})
		})
	}
}

// An instance that a forced removal could not stop counts as a destroyed machine's, even after
// the machine is gone.
func TestHarvestOfLeftovers(t *testing.T) {
	for mode, stays := range map[string]bool{modelconfig.HarvestDestroyed: false, modelconfig.HarvestNone: true} {
		t.Run(mode, func(t *testing.T) {
			model := newModel()
			model.config = modelconfig.New(map[string]string{modelconfig.HarvestMode: mode}, "jammy")
			h := &harvested{T: t}
			story(t, model, nil, func(config *Config) {
				h.dummy(config)
				model.leftovers = []entity.Leftover{{Instance: h.start("1")}}
			}, func(t *testing.T) {
				synctest.Wait()
				h.has("dummy-1", stays)
				if left := len(model.leftovers) > 0; left != stays {
					t.Errorf("what force has left is noted: %v, want %v", left, stays)
				}
			})
		})
	}
}

// What a failed start leaves never belonged to a machine, and is stopped in every mode.
func TestFailedStartIsCleanedUpInEveryMode(t *testing.T) {
	model := newModel(pending("1"))
	model.config = modelconfig.New(map[string]string{modelconfig.HarvestMode: modelconfig.HarvestNone}, "jammy")
	model.faults["SetProvisioned"] = errors.New("the answer is lost")
	h := &harvested{T: t}
	story(t, model, nil, h.dummy, func(t *testing.T) {
		synctest.Wait()
		h.has("dummy-1", true)
		after(time.Minute)
		expect(t, model, "1 alive dummy-2 pending")
		h.has("dummy-1", false)
		h.has("dummy-2", true)
	})
}

// harvested is a model on the dummy cloud.
type harvested struct {
	*testing.T
	environ provider.Environ
}

func (h *harvested) dummy(config *Config) {
	var err error
	if h.environ, err = dummytest.New(nil).Open(h.Context(), provider.Config{Controller: "c", Model: "m"}); err != nil {
		h.Fatal(err)
	}
	config.Environ = h.environ
}

// start starts an instance that no provisioner has recorded.
func (h *harvested) start(machine string) string {
	h.Helper()
	in, err := h.environ.StartInstance(h.Context(), provider.StartParams{MachineID: machine, Nonce: "other"})
	if err != nil {
		h.Fatal(err)
	}
	return in.ID
}

func (h *harvested) has(id string, want bool) {
	h.Helper()
	synctest.Wait()
	all, err := h.environ.Instances(h.Context())
	if err != nil {
		h.Fatal(err)
	}
	if got := slices.ContainsFunc(all, func(in provider.Instance) bool { return in.ID == id }); got != want {
		h.Errorf("the cloud has instance %s: %v, want %v", id, got, want)
	}
}
