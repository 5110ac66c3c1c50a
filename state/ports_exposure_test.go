package state_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"juju/state"
	"juju/state/controller"
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
		if exposed {
			w.ok(s.Expose(w.ctx, nil))
		} else {
			w.ok(s.Unexpose(w.ctx))
		}
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

// Each endpoint can be exposed to networks of its own. A port is open to those of the endpoints that it is open for; and
// what is exposed to all endpoints is for those without an entry of their own.
func TestExposedEndpoints(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 1) // with the endpoints server and admin
	w.ok(w.machine("0").SetProvisioned(w.ctx, entity.Instance{ID: "i-0", Nonce: "n"}))
	events, err := w.st.Provisioning().WatchExposure(w.ctx)
	w.ok(err)
	next(t, events)
	port := func(n int) entity.PortRange { return entity.PortRange{From: n, To: n, Protocol: "tcp"} }
	hook := func(changes entity.HookChanges) {
		t.Helper()
		w.ok(w.unit("mysql/0").CommitHook(w.ctx, changes))
		next(t, events)
	}
	service := func() *state.Service {
		t.Helper()
		s, err := w.st.Service(w.ctx, "mysql")
		w.ok(err)
		return s
	}
	expose := func(endpoint string, cidrs ...string) {
		t.Helper()
		w.ok(service().Expose(w.ctx, entity.ExposedEndpoints{endpoint: {CIDRs: cidrs}}))
		next(t, events)
	}
	unexpose := func(endpoints ...string) {
		t.Helper()
		w.ok(service().Unexpose(w.ctx, endpoints...))
		next(t, events)
	}
	// check checks who can reach which ports: "everyone: 80/tcp; 10.0.0.0/8: 3306/tcp".
	check := func(when, want string) {
		t.Helper()
		x, err := w.st.Provisioning().Exposure(w.ctx)
		w.ok(err)
		parts := []string{}
		if open := x.Instances["i-0"]; len(open) > 0 {
			slices.SortFunc(open, entity.ComparePorts)
			parts = append(parts, fmt.Sprintf("everyone: %v", open))
		}
		for _, f := range x.From["i-0"] {
			slices.SortFunc(f.Ports, entity.ComparePorts)
			parts = append(parts, fmt.Sprintf("%s: %v", f.CIDR, f.Ports))
		}
		slices.Sort(parts)
		if got := strings.Join(parts, "; "); got != want {
			t.Errorf("%s: %s, want %s", when, got, want)
		}
	}
	hook(entity.HookChanges{OpenPorts: []entity.PortRange{port(80)}, EndpointPorts: []entity.EndpointPorts{
		{PortRange: port(3306), Endpoints: []string{"server"}}, {PortRange: port(3307), Endpoints: []string{"admin"}}}})
	check("nothing is exposed", "")
	expose("server", "10.0.0.0/8")
	check("server is", "10.0.0.0/8: [80/tcp 3306/tcp]")
	expose("server", "192.0.2.0/24", "2001:db8::/32")
	check("server is to others", "192.0.2.0/24: [80/tcp 3306/tcp]; 2001:db8::/32: [80/tcp 3306/tcp]")
	expose("")
	check("all endpoints are", "192.0.2.0/24: [3306/tcp]; 2001:db8::/32: [3306/tcp]; everyone: [80/tcp 3307/tcp]")
	expose("admin", "10.0.0.0/8")
	check("admin has an entry of its own",
		"10.0.0.0/8: [3307/tcp]; 192.0.2.0/24: [3306/tcp]; 2001:db8::/32: [3306/tcp]; everyone: [80/tcp]")
	hook(entity.HookChanges{EndpointPorts: []entity.EndpointPorts{{PortRange: port(3306), Endpoints: []string{"admin"}}},
		ClosePorts: []entity.PortRange{port(3307)}})
	check("a port is for another endpoint", "10.0.0.0/8: [3306/tcp]; everyone: [80/tcp]")
	unexpose("server", "")
	check("only admin is left", "10.0.0.0/8: [80/tcp 3306/tcp]")
	networks := w.st.Settings().Networks()
	then := func(err error) {
		t.Helper()
		w.ok(err)
		next(t, events)
	}
	then(networks.Reload(w.ctx, []entity.Subnet{{CIDR: "172.16.0.0/16"}, {CIDR: "172.17.0.0/16"}}))
	then(networks.AddSpace(w.ctx, "dmz", []string{"172.16.0.0/16"}))
	then(service().Expose(w.ctx, entity.ExposedEndpoints{"server": {Spaces: []string{"dmz"}}}))
	check("server is to a space", "10.0.0.0/8: [80/tcp 3306/tcp]; 172.16.0.0/16: [80/tcp]")
	then(networks.RenameSpace(w.ctx, "dmz", "front"))
	check("the space has another name", "10.0.0.0/8: [80/tcp 3306/tcp]; 172.16.0.0/16: [80/tcp]")
	_, err = networks.MoveSubnets(w.ctx, "front", []string{"172.17.0.0/16"}, false)
	then(err)
	check("the space has another subnet", "10.0.0.0/8: [80/tcp 3306/tcp]; 172.16.0.0/16: [80/tcp]; 172.17.0.0/16: [80/tcp]")
	w.refused(networks.RemoveSpace(w.ctx, "front", false), entity.InUse, `cannot remove space "front": service "mysql" is exposed to it`)
	then(networks.RemoveSpace(w.ctx, "front", true))
	check("the space is gone, and no one else can reach server", "10.0.0.0/8: [80/tcp 3306/tcp]")
	then(service().Expose(w.ctx, entity.ExposedEndpoints{"server": {Spaces: []string{entity.AlphaSpace}}}))
	check("alpha has what is in no other space", "10.0.0.0/8: [80/tcp 3306/tcp]; 172.16.0.0/16: [80/tcp]; 172.17.0.0/16: [80/tcp]")
	unexpose()
	check("nothing is exposed again", "")
}

// An upgrade of the charm changes nothing of what a user has exposed: its endpoints may come back.
func TestUpgradesKeepWhatIsExposed(t *testing.T) {
	w := newWorld(t)
	w.deploy("mysql", statetest.MySQL, 1)
	s := mustService(w, "mysql")
	w.ok(s.Expose(w.ctx, entity.ExposedEndpoints{"": {}, "admin": {CIDRs: []string{"10.0.0.0/8"}}}))
	want := mustService(w, "mysql").ExposedEndpoints()
	without := strings.Replace(statetest.MySQL, ", admin: {interface: mysql-root}", "", 1)
	_, err := s.SetCharm(w.ctx, state.SetCharmParams{URL: statetest.Charm(t, w.st, without)})
	w.ok(err)
	s = mustService(w, "mysql")
	if diff := cmp.Diff(want, s.ExposedEndpoints()); diff != "" {
		t.Errorf("after an upgrade without the endpoint (-want +got):\n%s", diff)
	}
	w.refused(s.Expose(w.ctx, entity.ExposedEndpoints{"admin": {}}), entity.NotFound, `endpoint "admin" not found`)
	w.ok(s.Unexpose(w.ctx, "admin"))
	if !mustService(w, "mysql").ExposedEndpoints().IsEverywhere() {
		t.Error("the endpoint that is gone could not be unexposed")
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
	open, err := w.ctrl.AddModel(w.ctx, controller.AddModelParams{Name: "open", Owner: statetest.Admin, Config: map[string]string{"firewall-mode": "none"}})
	w.ok(err)
	w.refused(open.Settings().SetConfig(w.ctx, nil, []string{"firewall-mode"}), entity.Invalid,
		`cannot change model config: cannot change firewall-mode from "none" to "instance"`)
}
