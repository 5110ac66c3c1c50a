package controller

import (
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"juju/doc/tools/verify"
	"juju/provider"
	"juju/state/entity"
)

// A controller is killed at each moment around the calls that start and stop an instance. Its successor leaves neither
// an orphan nor a double.
func TestAControllerKilledAroundProviderCalls(t *testing.T) {
	t.Parallel()
	s := newSystem(t, Options{Provisioner: quick})
	s.stop()
	v := mortal{Socket: (&remoteCloud{s.ctx, s.cloud.Open}).serve(s)}
	s.killed(v, s.cloud.Open)
}

// The same on a real LXD.
func TestAControllerKilledAroundProviderCallsOnLXD(t *testing.T) {
	verify.Only(t, "needs an LXD")
	if lxdSocket() == "" {
		if os.Getenv("JUJU_NEED_LXD") != "" {
			t.Fatal("neither JUJU_LXD nor LXD_DIR says where LXD is")
		}
		t.Skip("no LXD: neither JUJU_LXD nor LXD_DIR is set; make verify-lxd sets one up")
	}
	s := newSystem(t, Options{Provisioner: quick})
	s.stop()
	open, err := onLXD(s.c.conf.Controller)
	s.ok(err)
	s.killed(mortal{Series: "bookworm"}, open)
}

// killed kills controllers that have one machine, and checks after each kill what the cloud has.
func (s *system) killed(v mortal, open provider.Open) {
	environ, err := open(s.ctx, provider.Config{Controller: s.c.conf.Controller, Model: s.model})
	s.ok(err)
	defer func() {
		if err := environ.Destroy(s.ctx); err != nil {
			s.Error(err)
		}
	}()
	has := func(when string, want int) []provider.Instance {
		s.Helper()
		all, err := environ.Instances(s.ctx)
		if err != nil || len(all) != want {
			s.Errorf("%s, there are %d instances, want %d: %v (%v)", when, len(all), want, all, err)
		}
		return all
	}
	kill := func(at moment, want int) (all []provider.Instance) {
		s.Helper()
		v.At = at
		s.begin(v).end(syscall.SIGKILL)
		v.Add, v.Destroy = 0, 0
		return has(string(at), want)
	}
	v.Add = 1
	kill(beforeStart, 0)
	first := kill(afterStart, 1)
	second := kill(afterRecord, 1)
	if len(first)+len(second) == 2 && first[0].ID == second[0].ID {
		s.Errorf("instance %s, which nobody had recorded, has been taken over: its agent has no password", first[0].ID)
	}
	s.restartOn(open)
	s.until("one machine with one instance", func(m *entity.ModelStatus) bool {
		return len(m.Machines) == 1 && m.Machines[0].InstanceID != ""
	})
	if now := s.recorded(); now != tagged(second) {
		s.Errorf("the machine has %q, and had %q when the controller was killed", now, tagged(second))
	}
	s.stop()
	has("once another controller has run", 1)

	v.Destroy = 1
	kill(beforeStop, 1)
	kill(afterStop, 0)
	kill(afterRemoval, 0)
	s.restartOn(open)
	s.until("no machine", func(m *entity.ModelStatus) bool { return len(m.Machines) == 0 })
}

// tagged returns instances as recorded does.
func tagged(all []provider.Instance) string {
	var lines []string
	for _, in := range all {
		lines = append(lines, in.MachineID+" "+in.ID+" "+in.Nonce)
	}
	slices.SortFunc(lines, entity.CompareNatural)
	return strings.Join(lines, "\n")
}

// recorded returns what the machines have as their instances: a line for each, with its machine, its id and its nonce.
func (s *system) recorded() string {
	s.Helper()
	all, err := s.st.Provisioning().MachineInfos(s.ctx)
	s.ok(err)
	var lines []string
	for _, m := range all {
		lines = append(lines, m.ID+" "+m.InstanceID+" "+m.Nonce)
	}
	slices.SortFunc(lines, entity.CompareNatural)
	return strings.Join(lines, "\n")
}
