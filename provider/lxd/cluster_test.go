package lxd

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"juju/doc/tools/verify"
	"juju/provider"
	"juju/state/entity"
)

// memberVariable names a member of the test cluster and its LXD process: NAME:PID.
const memberVariable = "JUJU_LXD_MEMBER"

// While a cluster member is offline, its containers stay in the model, and none are started there.
func TestAnOfflineMemberOfTheCluster(t *testing.T) {
	verify.Only(t, "needs a cluster of LXD")
	name, text, ok := strings.Cut(os.Getenv(memberVariable), ":")
	if !ok {
		t.Skipf("no cluster: %s is not set; make verify-lxd-cluster sets one up", memberVariable)
	}
	pid, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	c, ctx := tiny(t, nil), within(t)
	e := environOf(t, c)
	both, err := e.Zones(ctx, provider.PrecheckParams{})
	if err != nil || len(both) != 2 || !slices.Contains(both, name) {
		t.Fatalf("the zones are %q (%v), want two with %s", both, err, name)
	}
	want := map[string]string{} // the status of each machine's instance
	for n, zone := range both {
		p := params(strconv.Itoa(n), "n")
		p.Zone = zone
		if _, err := e.StartInstance(ctx, p); err != nil {
			t.Fatal(err)
		}
		want[p.MachineID] = "running"
	}
	listed := func() map[string]string {
		t.Helper()
		all, err := e.Instances(ctx)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, in := range all {
			got[in.MachineID] = in.Status
			if n, _ := strconv.Atoi(in.MachineID); in.Zone != both[n] {
				t.Errorf("machine %s is in zone %s, want %s", in.MachineID, in.Zone, both[n])
			}
		}
		return got
	}
	until := func(online int) {
		t.Helper()
		again := time.NewTicker(addressPause)
		defer again.Stop()
		for {
			zones, err := e.Zones(ctx, provider.PrecheckParams{})
			if err == nil && len(zones) == online {
				return
			}
			select {
			case <-again.C:
			case <-ctx.Done():
				t.Fatalf("the zones stay %q (%v)", zones, err)
			}
		}
	}
	signal := func(s syscall.Signal) {
		if err := syscall.Kill(pid, s); err != nil {
			t.Error(err)
		}
	}
	if got := listed(); len(got) != 2 || got["0"] != "running" || got["1"] != "running" {
		t.Errorf("got %v, want %v", got, want)
	}
	signal(syscall.SIGSTOP)
	t.Cleanup(func() { signal(syscall.SIGCONT) })
	until(1)
	want[strconv.Itoa(slices.Index(both, name))] = "error"
	if got := listed(); len(got) != 2 || got["0"] != want["0"] || got["1"] != want["1"] {
		t.Errorf("while %s is offline: got %v, want %v", name, got, want)
	}
	p := params("2", "n")
	p.Placement = "zone=" + name
	if err := e.PrecheckInstance(ctx, provider.PrecheckParams{Placement: p.Placement}); !errors.Is(err, entity.Invalid) ||
		!strings.Contains(err.Error(), "online") {
		t.Errorf("a placement there: got error %v", err)
	}
	if in, err := e.StartInstance(ctx, params("2", "n")); err != nil || in.Zone == name {
		t.Errorf("started %+v (%v), want it on the other member", in, err)
	}
	signal(syscall.SIGCONT)
	until(2)
	if err := e.Destroy(ctx); err != nil {
		t.Error(err)
	}
}
