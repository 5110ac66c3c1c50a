package dashboard_test

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"juju/doc/tools/verify"
	"juju/state"
	"juju/state/entity"
	"juju/state/statetest"
)

// TestALargeModelInABrowser shows a model of 200 services with 5,000 units, while 20 browsers would follow it. It logs how
// long the first topology and one change take, and what the process of the controller needs: figures.md has what was
// measured.
func TestALargeModelInABrowser(t *testing.T) {
	verify.Only(t, "adds 5,000 units")
	const services, each = 200, 25
	watchers, changes := 20, 20
	if testing.Short() { // as under the race detector, which makes each change take seconds
		watchers, changes = 5, 4
	}
	s := newSite(t)
	ctx := t.Context()
	url := statetest.Charm(t, s.st, "name: app\nsummary: s\ndescription: d\nprovides: {up: {interface: x}}\nrequires: {down: {interface: x}}\n")
	for i := range services {
		name := fmt.Sprintf("app%d", i)
		_, err := s.st.AddService(ctx, state.AddServiceParams{Name: name, CharmURL: url, Units: each})
		s.ok(err)
		if i > 0 {
			_, err := s.st.AddRelation(ctx, name+":down", fmt.Sprintf("app%d:up", i/3))
			s.ok(err)
		}
	}
	b := s.visit()
	began := time.Now()
	b.goes("admin/default/")
	b.until(`document.querySelectorAll(".node").length === %d`, services)
	t.Logf("the first topology: %v", time.Since(began))
	began = time.Now()
	b.goes("admin/default/")
	b.until(`document.querySelectorAll(".node").length === %d`, services)
	t.Logf("the second: %v", time.Since(began))
	b.accessible("topology")

	unit, err := s.st.Unit(ctx, "app7/3")
	s.ok(err)
	change := func(what string) {
		var total time.Duration
		cpu := used(t)
		for i := range changes {
			status, node := entity.StatusBlocked, "failing"
			if i%2 == 1 {
				status, node = entity.StatusActive, "working"
			}
			began := time.Now()
			s.ok(unit.SetStatus(ctx, entity.Status{Status: status, Message: fmt.Sprint(what, i)}))
			b.until(`[...document.querySelectorAll(".node.%s .name")].some((e) => e.textContent === "app7")`, node)
			total += time.Since(began)
		}
		t.Logf("%s: one change, from its call to the topology: %v; the controller's CPU time: %v", what, total/time.Duration(changes), (used(t)-cpu)/time.Duration(changes))
	}
	change("with one browser")

	memory := func() string {
		text, err := os.ReadFile("/proc/self/status")
		s.ok(err)
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "VmRSS:") {
				return strings.TrimSpace(line)
			}
		}
		return ""
	}
	before := memory()
	for range watchers - 1 {
		other := s.visit()
		other.goes("admin/default/")
		other.until(`document.querySelectorAll(".node").length === %d`, services)
	}
	t.Logf("memory with one: %s, with %d: %s", before, watchers, memory())
	change(fmt.Sprintf("with %d", watchers))
}

// used returns the CPU time of this process, which the browsers are not part of.
func used(t testing.TB) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
