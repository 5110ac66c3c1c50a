package state_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/modelconfig"
	"juju/state/statetest"
)

// A hostWorld is a model with a host that a user has added, machine 0, and a machine of the cloud's, 1. Each has a
// unit of mysql, and that of the host a subordinate.
type hostWorld struct {
	*world
	events <-chan struct{} // of the host's exposure
}

func newHostWorld(t *testing.T, mode string) *hostWorld {
	w := newWorld(t)
	var err error
	w.st, err = w.ctrl.AddModel(w.ctx, controller.AddModelParams{Name: "hosts", Owner: statetest.Admin, Series: "jammy",
		Config: map[string]string{modelconfig.FirewallMode: mode}})
	w.ok(err)
	host := manualMachine()
	host.Series, host.Placement.Manual = "jammy", "root@db.example.com:2222"
	_, err = w.st.AddMachine(w.ctx, host)
	w.ok(err)
	_, err = w.st.AddMachine(w.ctx, state.AddMachineParams{Series: "jammy"})
	w.ok(err)
	w.ok(w.machine("1").SetProvisioned(w.ctx, entity.Instance{ID: "i-1", Nonce: "n",
		Addresses: []string{"10.0.1.1", "fe80::1", "name"}}))
	_, err = w.st.AddService(w.ctx, state.AddServiceParams{Name: "mysql", CharmURL: statetest.Charm(t, w.st, statetest.MySQL),
		Units: 2, Placement: statetest.To("0", "1")})
	w.ok(err)
	w.deploy("logging", statetest.Logging, 0)
	w.ok(w.started("mysql/0").EnterScope(w.ctx, w.relate("mysql", "logging").ID()))
	w.started("logging/0")
	h := &hostWorld{world: w}
	h.events, err = w.st.Watches().HostExposure(w.ctx, "0")
	w.ok(err)
	next(t, h.events)
	return h
}

func (h *hostWorld) open(unit string, texts ...string) {
	h.Helper()
	h.ok(h.unit(unit).CommitHook(h.ctx, entity.HookChanges{OpenPorts: h.ports(texts...)}))
}

func (h *hostWorld) ports(texts ...string) (all []entity.PortRange) {
	h.Helper()
	for _, text := range texts {
		r, err := entity.ParsePortRange(text)
		h.ok(err)
		all = append(all, r)
	}
	return all
}

// check checks what the host's agent is told after an event.
func (h *hostWorld) check(when string, closed, open, peers []string) {
	h.Helper()
	next(h.T, h.events)
	got, err := h.machine("0").Exposure(h.ctx)
	h.ok(err)
	model, err := h.st.Settings().Config(h.ctx)
	h.ok(err)
	want := entity.HostExposure{Mode: model[modelconfig.FirewallMode].Value, Closed: h.ports(closed...), Peers: peers,
		Open: h.ports(append([]string{"22", "2222", "68/udp", "546/udp"}, open...)...)}
	if diff := cmp.Diff(want, got); diff != "" {
		h.Errorf("%s (-want +got):\n%s", when, diff)
	}
}

func (h *hostWorld) expose(service string, exposed bool) {
	h.Helper()
	s, err := h.st.Service(h.ctx, service)
	h.ok(err)
	if exposed {
		h.ok(s.Expose(h.ctx, nil))
	} else {
		h.ok(s.Unexpose(h.ctx))
	}
}

// Of a host, only what its own units have opened is closed, unless it is exposed; the model's machines get in.
func TestHostExposure(t *testing.T) {
	h := newHostWorld(t, modelconfig.FirewallInstance)
	peers := []string{"10.0.1.1"}
	h.expose("mysql", true)
	h.check("nothing is open", nil, nil, nil)
	h.open("mysql/0", "3306")
	h.open("mysql/1", "3307")
	h.open("logging/0", "514", "53/udp")
	h.check("the principal is exposed", []string{"514", "53/udp"}, nil, peers)
	h.expose("mysql", false)
	h.check("nothing is exposed", []string{"3306", "514", "53/udp"}, nil, peers)
	h.expose("logging", true)
	h.check("the subordinate is exposed", []string{"3306"}, nil, peers)
	h.ok(h.machine("1").SetAddresses(h.ctx, []string{"10.0.1.2", "127.0.0.1"}))
	h.check("another machine has one more address", []string{"3306"}, nil, append(peers, "10.0.1.2"))
	x := entity.ExposedEndpoints{"": {CIDRs: []string{"10.0.0.0/8"}}}
	h.ok(mustService(h.world, "mysql").Expose(h.ctx, x))
	next(t, h.events)
	got, err := h.machine("0").Exposure(h.ctx)
	h.ok(err)
	if diff := cmp.Diff([]entity.PortsFrom{{CIDR: "10.0.0.0/8", Ports: h.ports("3306")}}, got.From); diff != "" ||
		!cmp.Equal(got.Closed, h.ports("3306")) {
		t.Errorf("the principal is exposed to a network: closed are %v; (-want +got):\n%s", got.Closed, diff)
	}
	h.ok(mustService(h.world, "mysql").Unexpose(h.ctx))
	h.expose("logging", false)
	h.ok(h.unit("mysql/0").CommitHook(h.ctx, entity.HookChanges{ClosePorts: h.ports("3306")}))
	h.check("a port is closed", []string{"514", "53/udp"}, nil, append(peers, "10.0.1.2"))
	h.ok(h.unit("logging/0").CommitHook(h.ctx, entity.HookChanges{ClosePorts: h.ports("514", "53/udp")}))
	h.check("all are", nil, nil, nil)
}

// In the mode global, what is exposed on one machine is open on all.
func TestHostExposureInModeGlobal(t *testing.T) {
	h := newHostWorld(t, modelconfig.FirewallGlobal)
	h.open("mysql/0", "3306")
	h.check("nothing is exposed", []string{"3306"}, nil, []string{"10.0.1.1"})
	h.open("logging/0", "514")
	h.expose("mysql", true)
	h.open("mysql/1", "3307", "514")
	h.check("mysql is", []string{"514"}, []string{"3306", "3307", "514"}, []string{"10.0.1.1"})
}
