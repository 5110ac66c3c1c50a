package lxd

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/canonical/lxd/shared/api"

	"juju/provider"
	"juju/state/constraints"
	"juju/state/entity"
)

func parsed(t *testing.T, text string) constraints.Value {
	t.Helper()
	c, err := constraints.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The constraint root-disk-source names a storage pool, and instance types are LXD's.
func TestConstraintsBecomeDevices(t *testing.T) {
	c, ctx := tiny(t, nil), within(t)
	e := environOf(t, c)
	if _, err := c.client.do(ctx, http.MethodPost, "/1.0/storage-pools", nil,
		api.StoragePoolsPost{Name: project, Driver: "dir"}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if _, err := c.client.do(ctx, http.MethodDelete, "/1.0/storage-pools/"+project, nil, nil); err != nil {
			t.Error(err)
		}
	}()
	sized := provider.PrecheckParams{Constraints: parsed(t, "root-disk-source="+project+" root-disk=1G")}
	if err := e.PrecheckInstance(ctx, sized); !errors.Is(err, entity.Invalid) ||
		!strings.Contains(err.Error(), "bounds no disks") {
		t.Errorf("got error %v for a disk that nothing bounds", err)
	}
	p := params("0", "n")
	p.Constraints = parsed(t, "instance-type=c1-m0.25 root-disk-source="+project)
	inst, err := e.StartInstance(ctx, p)
	if err != nil {
		t.Fatal(err)
	}
	i, err := c.instance(ctx, inst.ID)
	if err != nil || i.ExpandedDevices["root"]["pool"] != project || i.ExpandedConfig["limits.cpu"] != "1" ||
		i.ExpandedConfig["limits.memory"] == "" {
		t.Errorf("got %v, %v (%v)", i.ExpandedDevices, i.ExpandedConfig, err)
	}
	if err := e.StopInstances(ctx, inst.ID); err != nil {
		t.Error(err)
	}
	p.Constraints = parsed(t, "instance-type=huge")
	if _, err := e.StartInstance(ctx, p); !errors.Is(err, entity.Invalid) || provider.IsRetryable(err) {
		t.Errorf("got error %v for a type that LXD does not know", err)
	}
}

// On a cluster, a zone is a member.
func TestZonesOfACluster(t *testing.T) {
	c, ctx := tiny(t, nil), within(t)
	members, err := c.members(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if len(members) == 0 {
		t.Skip("this LXD is no cluster; lxc cluster enable NAME makes it one")
	}
	e, name := environOf(t, c), members[len(members)-1].ServerName
	rules, err := e.ConstraintRules(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if ignored, err := rules.Check(parsed(t, "zones="+name)); len(ignored) > 0 || err != nil {
		t.Errorf("ignored are %v (%v)", ignored, err)
	}
	for _, p := range []provider.StartParams{{Placement: "zone=" + name},
		{Constraints: parsed(t, "zones="+name+" mem=64M arch="+
			arch(members[0].Architecture))}} {
		start := params("0", "n"+p.Placement)
		start.Placement, start.Constraints = p.Placement, p.Constraints
		inst, err := e.StartInstance(ctx, start)
		if err != nil {
			t.Fatal(err)
		}
		if i, err := c.instance(ctx, inst.ID); i.Location != name || err != nil {
			t.Errorf("it is on member %q (%v), want %s", i.Location, err, name)
		}
	}
	for _, p := range []provider.PrecheckParams{{Placement: "zone=nowhere"},
		{Constraints: parsed(t, "zones=nowhere")},
		{Constraints: parsed(t, "mem=10M")}, {Constraints: parsed(t, "mem=500T")}} {
		if err := e.PrecheckInstance(ctx, p); !errors.Is(err, entity.Invalid) {
			t.Errorf("precheck of %v: %v", p, err)
		}
	}
	if err := e.Destroy(ctx); err != nil {
		t.Error(err)
	}
}

// Constraints with too little memory or disk for an agent are rejected before the machine is recorded.
func TestTooLittleForAnAgentIsRejected(t *testing.T) {
	disk := "constraint root-disk=1M cannot be met: a container with an agent needs at least 128M"
	for text, want := range map[string]string{"": "", "mem=64M": "", "mem=0": "", "cores=1": "", "root-disk=128M": "", "root-disk=1M": disk,
		"mem=10M": "constraint mem=10M cannot be met: a container with an agent needs at least 64M"} {
		if want == disk {
			if err := livable(constraints.Rules{Unsupported: []string{constraints.RootDisk}}, parsed(t, text)); err != nil {
				t.Errorf("%s, which is ignored: got error %v", text, err)
			}
		}
		err := livable(constraints.Rules{}, parsed(t, text))
		if got := fmt.Sprint(err); want == "" && err != nil || want != "" && (got != want || !errors.Is(err, entity.Invalid)) {
			t.Errorf("%s: got error %v, want %q", text, err, want)
		}
	}
}

// LXD fails to list its resources while a network interface disappears. The request is retried a limited number of times.
func TestResourcesAreRetried(t *testing.T) {
	var failures, asked atomic.Int32
	mux := http.NewServeMux()
	mux.HandleFunc("/1.0/resources", func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) <= failures.Load() {
			w.WriteHeader(http.StatusInternalServerError)
			io.WriteString(w, `{"type": "error", "error_code": 500, "error": "Failed to ETHTOOL_GDRVINFO"}`)
			return
		}
		io.WriteString(w, `{"type": "sync", "metadata": {"cpu": {"architecture": "x86_64", "total": 3}}}`)
	})
	c := answeredBy(t, mux)
	for _, test := range []struct{ failures, asked int32 }{{0, 1}, {4, 5}, {5, 5}} {
		failures.Store(test.failures)
		asked.Store(0)
		h, err := c.resources(t.Context(), "", constraints.Value{})
		if n := asked.Load(); n != test.asked || (err == nil) != (test.failures < 5) || err == nil && h.Cores != 3 {
			t.Errorf("%d failures: asked %d times, %+v, %v", test.failures, n, h, err)
		}
		if err != nil && (!provider.IsRetryable(err) || !strings.Contains(err.Error(), "ETHTOOL")) {
			t.Errorf("got error %v", err)
		}
	}
}
