package wait_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"juju/cmd/juju/clitest"
	"juju/cmd/juju/wait/waittest"
	"juju/state/entity"
)

// installing returns a model of two units: one on a machine that starts, one that runs a hook.
func installing(hook string) *entity.ModelStatus {
	m := waittest.Model("kubernetes-control-plane/0=waiting:allocating kubernetes-control-plane/1=maintenance:executing " +
		"kubernetes-control-plane=waiting 7=pending")
	units := m.Services[0].Units
	units[0].Machine, units[0].Agent.Message = "7", ""
	units[0].Workload.Message = "waiting for machine"
	m.Machines[0].Status.Message = "starting"
	units[1].Agent.Message = hook
	return m
}

// A wait shows a tree that grows, in which unit's names stay whole at any width, and leaves what was reached and when.
func TestWaitShowsATree(t *testing.T) {
	t.Parallel()
	for _, width := range []int{40, 80, 120} {
		synctest.Test(t, func(t *testing.T) { testWaitShowsATree(t, width) })
	}
}

func testWaitShowsATree(t *testing.T, width int) {
	u := newUser(t)
	s := u.OnScreen(width, 24)
	u.Model.Returns.Statuses = []*entity.ModelStatus{installing("running install hook")}
	change := func(at time.Duration, m *entity.ModelStatus) {
		time.AfterFunc(at+clitest.OffTick, func() { u.Model.Change(m) })
	}
	change(3*time.Second, installing("waiting to run install hook: the machine lock is held"))
	change(5*time.Second, installing("running install hook"))
	change(8*time.Second, installing("running cluster-relation-changed hook for "+longUnit+"0"))
	done := waittest.Model("kubernetes-control-plane/0=active kubernetes-control-plane/1=active kubernetes-control-plane=active 7=started")
	done.Services[0].Units[1].Workload.Message = "serving at https://10.0.0.1:6443, and much more than fits into a line of this terminal"
	change(13*time.Second, done)
	name := func(what string) string { return fmt.Sprintf("wait-%s-%d.txt", what, width) }
	time.AfterFunc(11*time.Second+2*clitest.OffTick, func() { s.Shows(t, name("goes"), s.String()) })
	u.Types("wait-for", "kubernetes-control-plane")
	s.Shows(t, name("ends"), s.String())
	if u.Code != 0 {
		t.Errorf("exit code %d", u.Code)
	}
}

// What has settled already is shown as if it had been waited for.
func TestASettledWaitShowsItsTree(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := newUser(t)
		s := u.OnScreen(80, 24)
		u.Model.Returns.Statuses = []*entity.ModelStatus{waittest.Model("web/0=active web=active")}
		u.Types("wait-for", "web")
		if got := strings.TrimSpace(s.String()); u.Code != 0 || !strings.Contains(got, "web/0 active") || strings.Contains(got, "Settled") {
			t.Errorf("exit code %d, shown is %q", u.Code, got)
		}
	})
}

// A service that was awaited by itself is not removed when it is done.
func TestWaitShowsTheServiceToTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := newUser(t)
		s := u.OnScreen(80, 24)
		goes, done := waittest.Model("web/0=active"), waittest.Model("web/0=active")
		goes.Services[0].Rollout = &entity.Rollout{Former: "local:jammy/web-0", Batch: 1}
		u.Model.Returns.Statuses = []*entity.ModelStatus{goes}
		time.AfterFunc(time.Second+clitest.OffTick, func() { u.Model.Change(done) })
		u.Types("wait-for", "web")
		if shown := s.String(); u.Code != 0 || !strings.Contains(shown, "✓ web/0 active\n") || !strings.Contains(shown, "✓ web active (1s)\n") {
			t.Errorf("exit code %d, shows\n%s", u.Code, shown)
		}
	})
}

// Where there are more units than lines, those that are awaited are shown.
func TestWaitForMoreThanFits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := newUser(t)
		s := u.OnScreen(60, 12)
		words := ""
		for i := range 30 {
			words += fmt.Sprintf("web/%d=%s ", i, map[bool]string{true: "active", false: "waiting"}[i%3 > 0])
		}
		u.Model.Returns.Statuses = []*entity.ModelStatus{waittest.Model(words)}
		u.Types("wait-for", "web", "--timeout", "10s")
		s.Shows(t, "wait-many.txt", s.String())
	})
}

const longUnit = "kubernetes-control-plane/"
