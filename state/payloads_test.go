package state_test

import (
	"fmt"
	"strings"
	"testing"

	"juju/state"
	"juju/state/entity"
	"juju/state/limits"
	"juju/state/statetest"
)

// runs checks what the charm of a unit says that it runs.
func (w *world) runs(u *state.Unit, want string) {
	w.Helper()
	all, err := u.Payloads(w.ctx)
	w.ok(err)
	got := ""
	for _, p := range all {
		got += fmt.Sprintf("%s/%s %s %s %v;", p.Class, p.ID, p.Type, p.Status, p.Labels)
	}
	if got != want {
		w.Errorf("%s runs %q, want %q", u.Name(), got, want)
	}
}

func TestPayloadsOfUnits(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 2)
	first, second := w.unit("mysql/0"), w.unit("mysql/1")
	w.runs(first, "")
	web := entity.Payload{Class: "web", Type: "docker", ID: "1", Status: "running", Labels: []string{"blue"}}
	w.ok(first.CommitHook(w.ctx, entity.HookChanges{DropPayloads: []string{"web"}}))
	w.ok(first.CommitHook(w.ctx, entity.HookChanges{Payloads: []entity.Payload{web}}))
	w.runs(first, "web/1 docker running [blue];")
	w.runs(second, "")
	web.Status, web.ID = "stopping", "2"
	w.ok(first.CommitHook(w.ctx, entity.HookChanges{Payloads: []entity.Payload{
		web, {Class: "cache", Type: "kvm", ID: "c", Status: "starting"}}}))
	w.runs(first, "cache/c kvm starting [];web/2 docker stopping [blue];")
	w.ok(second.CommitHook(w.ctx, entity.HookChanges{Payloads: []entity.Payload{web}}))
	w.ok(first.CommitHook(w.ctx, entity.HookChanges{DropPayloads: []string{"web"}}))
	w.runs(first, "cache/c kvm starting [];")
	// A commit that is refused changes nothing.
	err := first.CommitHook(w.ctx, entity.HookChanges{
		DropPayloads: []string{"cache"}, OpenPorts: []entity.PortRange{{From: 0, To: 1, Protocol: "tcp"}}})
	w.refused(err, entity.Invalid, "port range bounds")
	all, err := w.st.Charms().Payloads(w.ctx)
	w.ok(err)
	if got := fmt.Sprint(all); got != "[{mysql/0 0 {cache kvm c starting []}} {mysql/1 1 {web docker 2 stopping [blue]}}]" {
		t.Errorf("the payloads are %s", got)
	}
}

func TestPayloadsOfAUnitHaveALimit(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 1)
	u := w.unit("mysql/0")
	add := func(class string) error {
		return u.CommitHook(w.ctx, entity.HookChanges{Payloads: []entity.Payload{{Class: class, Type: "docker", ID: "1",
			Status: "running", Labels: strings.Fields(strings.Repeat(strings.Repeat("x", limits.Name.Max)+" ", 10))}}})
	}
	w.ok(add("a"))
	w.refused(add("b"), entity.Invalid, "cannot change the payloads of mysql/0: payloads of a unit: 82352 bytes, the limit is 65536")
	w.ok(u.CommitHook(w.ctx, entity.HookChanges{DropPayloads: []string{"a"}}))
	w.ok(add("b"))
}

func TestPayloadsGoWithTheUnit(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 2)
	for i, how := range []entity.Destruction{{}, {Strength: entity.Force}} {
		u := w.unit(fmt.Sprintf("mysql/%d", i))
		changes := entity.HookChanges{Payloads: []entity.Payload{{Class: "web", Type: "docker", ID: "1", Status: "running"}}}
		w.ok(u.SetAgentStatus(w.ctx, entity.Status{Status: entity.StatusIdle}))
		w.ok(u.CommitHook(w.ctx, changes))
		w.ok(u.Destroy(w.ctx, how))
		if how.Strength == entity.Force {
			w.clean()
		} else {
			w.ok(u.EnsureDead(w.ctx))
			w.refused(u.CommitHook(w.ctx, changes), entity.NotAlive, "is dead")
			w.ok(u.Remove(w.ctx))
		}
		w.runs(u, "")
	}
	w.refused(limits.CheckHookChanges(entity.HookChanges{Payloads: []entity.Payload{{Class: "a", ID: "1", Status: "well"}}}),
		entity.Invalid, `invalid status "well" of a payload`)
}
