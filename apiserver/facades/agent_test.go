package facades_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"juju/apiserver/client"
	"juju/apiserver/facades"
	"juju/state/entity"
)

// A meter notes what it is told.
type meter struct{ told []string }

func (m *meter) HookRan(model, service string, took time.Duration) {
	m.told = append(m.told, fmt.Sprintf("a hook of %s %s ran for %s", model, service, took))
}
func (m *meter) HookFailed(model, service string) {
	m.told = append(m.told, fmt.Sprintf("a hook of %s %s failed", model, service))
}
func (m *meter) LoginRefused(string) {}

// The meter is told of hooks that ran and failed, by what their agents report of their own units.
func TestMeterOfHooks(t *testing.T) {
	t.Parallel()
	m := &meter{}
	w := newWorld(t, func(c *facades.Config) { c.Meter = m }).populate()
	ctx, unit := t.Context(), entity.UnitTag("mysql/0")
	uniter := w.uniter(unit)
	w.ok(uniter.HookRan(ctx, unit, 3*time.Second))
	failed := func(word entity.StatusWord, data map[string]any) error {
		return uniter.SetUnitStatus(ctx, unit, entity.Status{Status: word, Message: "failed", Data: data})
	}
	w.ok(failed(entity.StatusError, map[string]any{"hook": "start"}))
	w.ok(failed(entity.StatusError, map[string]any{"charm": "local:mysql-2"})) // an upgrade
	w.ok(failed(entity.StatusActive, map[string]any{"hook": "start"}))         // no error
	if failed("happy", map[string]any{"hook": "start"}) == nil {
		t.Error("a unit is happy")
	}
	if uniter.HookRan(ctx, entity.UnitTag("mysql/1"), time.Second) == nil {
		t.Error("a unit reports a hook of another one")
	}
	if want := []string{"a hook of default mysql ran for 3s", "a hook of default mysql failed"}; !slices.Equal(m.told, want) {
		t.Errorf("the meter is told %q, want %q", m.told, want)
	}
}

// An instance whose agent is connected is not lost, whatever the cloud lists.
func TestAnInstanceWithAnAgentIsNotLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	provisioner, m0 := client.ProvisionerFacade{Caller: w.manager().client()}, entity.MachineTag("0")
	leave := w.arrive(m0)
	missed := entity.Instance{ID: "i-0", Nonce: "nonce"}
	if err := provisioner.LoseInstance(t.Context(), m0, missed); !errors.Is(err, entity.InUse) || err.Error() != "the agent of machine 0 is connected" {
		t.Errorf("it is lost: %v", err)
	}
	leave()
	w.ok(provisioner.LoseInstance(t.Context(), m0, missed))
}

// What agents report of machines, instances and storage has limits, and is recorded if it keeps them.
func TestReportsOfAgents(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	ctx, m0 := t.Context(), entity.MachineTag("0")
	machiner, provisioner := client.MachinerFacade{Caller: w.agent(m0).client()}, client.ProvisionerFacade{Caller: w.manager().client()}
	for what, err := range map[string]error{
		"addresses":  machiner.SetMachineAddresses(ctx, m0, []string{"10.0.0.1 evil"}),
		"hardware":   machiner.SetMachineHardware(ctx, m0, entity.Hardware{Arch: strings.Repeat("x", 300)}),
		"a status":   machiner.SetMachineStatus(ctx, m0, entity.Status{Status: "happy"}),
		"a nonce":    provisioner.Observe(ctx, m0, entity.Instance{ID: "i-0", Nonce: "n\x00"}, "running"),
		"its status": provisioner.Observe(ctx, m0, entity.Instance{ID: "i-0", Nonce: "nonce"}, strings.Repeat("x", 300)),
	} {
		if !errors.Is(err, entity.Invalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
	w.ok(machiner.SetMachineAddresses(ctx, m0, []string{"10.0.0.7"}))
	w.ok(machiner.SetMachineHardware(ctx, m0, entity.Hardware{Arch: "arm64"}))
	w.ok(machiner.SetMachineStatus(ctx, m0, entity.Status{Status: entity.StatusStarted, Since: time.Now().Add(time.Hour)}))
	w.ok(provisioner.SetInstanceStatus(ctx, m0, entity.Status{Status: "running", Message: "well"}))
	w.ok(provisioner.SetInstanceStatus(ctx, entity.MachineTag("77"), entity.Status{Status: "running"})) // it is gone
	status, err := w.st.Status(ctx)
	w.ok(err)
	if m := status.Machines[0]; !slices.Contains(m.Addresses, "10.0.0.7") || !strings.Contains(m.Hardware, "arch=arm64") ||
		m.Status.Status != entity.StatusStarted || m.Status.Since.After(time.Now()) || m.InstanceStatus.Message != "well" {
		t.Errorf("the machine is %+v", m)
	}
}

// An agent's workers that keep failing are known while it is connected; the first of them, and the beginning of long texts.
func TestFailuresOfWorkers(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	u0 := entity.UnitTag("mysql/0")
	agent := client.AgentFacade{Caller: w.agent(u0).client()}
	w.arrive(u0)
	failures := slices.Repeat([]entity.WorkerFailure{{Worker: "uniter", Error: strings.Repeat("x", 999) + "éé"}}, 17)
	w.ok(agent.SetFailures(t.Context(), u0, failures))
	got := w.backend.Presence.Failures(w.st.UUID(), u0)
	if len(got) != 16 || got[0].Worker != "uniter" || got[0].Error != strings.Repeat("x", 999)+"…" {
		t.Errorf("there are %d failures, first %+v", len(got), got[0])
	}
}
