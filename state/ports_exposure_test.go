package state_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"juju/state/entity"
	"juju/state/modelconfig"
	"juju/state/statetest"
)

// Only what units of exposed services have open is to be reached, for as long as it is so.
func TestExposure(t *testing.T) {
	w := newWorld(t)
	w.addSubordinate()
	w.deploy("wordpress", statetest.Wordpress, 2)
	for _, id := range []string{"0", "1"} {
		w.ok(w.machine(id).SetProvisioned(w.ctx, entity.Instance{ID: "i-" + id, Nonce: "n", Addresses: []string{"10.0.1." + id}}))
	}
	host, err := w.st.AddMachine(w.ctx, manualMachine())
	w.ok(err)
	open := func(unit string, ports ...entity.PortRange) {
		t.Helper()
		w.ok(w.unit(unit).CommitHook(w.ctx, entity.HookChanges{OpenPorts: ports}))
	}
	port := func(n int) entity.PortRange { return entity.PortRange{From: n, To: n, Protocol: "tcp"} }
	events, err := w.st.Provisioning().WatchExposure(w.ctx)
	w.ok(err)
	next(t, events)
	want := entity.Exposure{Mode: modelconfig.FirewallInstance, Hosts: host.Addresses(),
		Instances: map[string][]entity.PortRange{"i-0": nil, "i-1": nil},
		Addresses: map[string][]string{"i-0": {"10.0.1.0"}, "i-1": {"10.0.1.1"}}}
	check := func(when string) {
		t.Helper()
		got, err := w.st.Provisioning().Exposure(w.ctx)
		w.ok(err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", when, diff)
		}
	}
	expose := func(service string, exposed bool) {
		t.Helper()
		s, err := w.st.Service(w.ctx, service)
		w.ok(err)
		w.ok(s.SetExposed(w.ctx, exposed))
		next(t, events)
	}
	w.started("logging/0")
	open("mysql/0", port(3306))
	open("logging/0", port(514))
	open("wordpress/0", port(80))
	open("wordpress/1", port(8080)) // its machine has no instance
	next(t, events)
	check("nothing is exposed")
	expose("logging", true)
	want.Instances["i-0"] = []entity.PortRange{port(514)}
	check("a subordinate is")
	expose("wordpress", true)
	want.Instances["i-1"] = []entity.PortRange{port(80)}
	check("a principal is too")
	w.ok(w.machine("2").SetProvisioned(w.ctx, entity.Instance{ID: "i-2", Nonce: "n"}))
	next(t, events)
	want.Instances["i-2"] = []entity.PortRange{port(8080)}
	check("a machine has started")
	expose("logging", false)
	want.Instances["i-0"] = nil
	check("the subordinate is not exposed any more")
	w.destroyUnit("wordpress/0")
	next(t, events)
	want.Instances["i-1"] = nil
	check("a unit is gone")
	w.ok(w.machine("0").Observe(w.ctx, entity.Instance{ID: "i-0", Nonce: "n", Addresses: []string{"10.0.1.9"}}, ""))
	next(t, events)
	want.Addresses["i-0"] = []string{"10.0.1.9"}
	check("the cloud has given an instance another address")
	w.ok(w.machine("0").SetAddresses(w.ctx, []string{"192.0.2.1"}))
	check("an agent has reported one")
	w.ok(w.machine("2").LoseInstance(w.ctx, entity.Instance{ID: "i-2", Nonce: "n"}))
	delete(want.Instances, "i-2")
	check("an instance is lost")
}

// What the agent of a host reports lets in a few hosts, and nothing wider.
func TestAddressesThatOthersLetIn(t *testing.T) {
	w := newWorld(t)
	host, err := w.st.AddMachine(w.ctx, manualMachine())
	w.ok(err)
	said := []string{"host.example.com", "127.0.0.1", "::1", "0.0.0.0", "::", "224.0.0.1", "ff02::1", "169.254.1.1", "fe80::1%eth0",
		"fe80::1", "255.255.255.255", "fd00::1%eth0", "::ffff:10.0.0.8", "fd00::1"}
	want := []string{"10.0.0.7", "10.0.0.8", "fd00::1"}
	for n := range 50 {
		said = append(said, fmt.Sprintf("192.0.2.%d", n))
		if len(want) < 16 {
			want = append(want, said[len(said)-1])
		}
	}
	w.ok(host.SetAddresses(w.ctx, said))
	x, err := w.st.Provisioning().Exposure(w.ctx)
	w.ok(err)
	if diff := cmp.Diff(want, x.Hosts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The mode of a model's firewall is chosen once.
func TestFirewallModeIsFixed(t *testing.T) {
	w := newWorld(t)
	set := func(mode string) error {
		return w.st.Settings().SetConfig(w.ctx, map[string]string{"firewall-mode": mode}, nil)
	}
	w.refused(set("global"), entity.Invalid,
		`cannot change model config: cannot change firewall-mode from "instance" to "global"`)
	w.refused(set("some"), entity.Invalid, `firewall-mode: expected one of [instance global none], got "some"`)
	w.ok(set("instance"))
	w.ok(w.st.Settings().SetConfig(w.ctx, nil, []string{"firewall-mode"}))
}
