package providertest

import (
	"context"
	"maps"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"juju/provider"
	"juju/state/entity"
)

// ingress checks which rules are in effect.
func ingress(ctx context.Context, t *testing.T, f provider.Firewall, want provider.Ingress) {
	t.Helper()
	got, err := f.Ingress(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.Normal(), got); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
}

func setIngress(ctx context.Context, t *testing.T, f provider.Firewall, rules provider.Ingress) {
	t.Helper()
	if err := f.SetIngress(ctx, rules); err != nil {
		t.Fatal(err)
	}
}

func ports(t *testing.T, texts ...string) (all []entity.PortRange) {
	t.Helper()
	for _, text := range texts {
		r, err := entity.ParsePortRange(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

// RunFirewall tests a Firewall with existing instances, which must have no rules before and have none
// afterwards. open opens the firewall as another process would.
func RunFirewall(ctx context.Context, t *testing.T, open func() provider.Firewall, ids ...string) {
	t.Helper()
	f := open()
	if err := f.CheckFirewall(ctx); err != nil {
		t.Error(err)
	}
	ingress(ctx, t, f, provider.Ingress{})
	setIngress(ctx, t, f, provider.Ingress{})
	ingress(ctx, t, f, provider.Ingress{})
	rules := provider.Ingress{
		Ports: map[string][]entity.PortRange{},
		Peers: []string{"192.0.2.7", "host.example", "2001:db8::7", "192.0.2.7", "192.0.2.8"},
	}
	for _, id := range ids {
		rules.Ports[id] = nil
	}
	for _, ranges := range [][]entity.PortRange{
		ports(t, "8000-8010/tcp", "80", "8011", "53/udp", "icmp", "1-5", "65535"),
		ports(t, "1-65535", "1-65535/udp"),
		ports(t, "443"),
	} {
		rules.Ports[ids[0]] = ranges
		for range 2 {
			setIngress(ctx, t, f, rules)
			ingress(ctx, t, f, rules)
			ingress(ctx, t, open(), rules) // another process knows only what the cloud tells it
		}
	}
	// Some networks are in others, some rules say the same in other words, and one is for all addresses of a family.
	for _, from := range [][]entity.PortsFrom{
		{{CIDR: "10.0.0.0/8", Ports: ports(t, "80", "443-445", "53/udp")}},
		{{CIDR: "10.1.0.0/16", Ports: ports(t, "80", "8080")}, {CIDR: "10.0.0.0/8", Ports: ports(t, "80")},
			{CIDR: "192.0.2.7/32", Ports: ports(t, "1-65535")}, {CIDR: "2001:db8::/32", Ports: ports(t, "80", "1-65535/udp")},
			{CIDR: "10.1.2.0/24", Ports: ports(t, "9090", "8080")}, {CIDR: "10.0.0.0/8", Ports: ports(t, "icmp")}},
		{{CIDR: "0.0.0.0/0", Ports: ports(t, "80", "8080")}, {CIDR: "::/0", Ports: ports(t, "80", "9090")},
			{CIDR: "10.0.0.0/8", Ports: ports(t, "8080-8081")}},
		{{CIDR: "::/0", Ports: ports(t, "80/udp")}},
		nil,
	} {
		rules.From = map[string][]entity.PortsFrom{ids[0]: from, "never-was": from}
		for range 2 {
			setIngress(ctx, t, f, rules)
			ingress(ctx, t, f, rules)
			ingress(ctx, t, open(), rules)
		}
	}
	rules.Peers, rules.From = nil, nil
	withUnknown := provider.Ingress{Ports: maps.Clone(rules.Ports)}
	withUnknown.Ports["never-was"] = ports(t, "80")
	setIngress(ctx, t, f, withUnknown)
	ingress(ctx, t, f, rules)
	setIngress(ctx, t, f, provider.Ingress{})
	ingress(ctx, t, f, provider.Ingress{})
}

// Rules stay in effect until their instance or model is removed.
func testFirewall(t *testing.T, w *world) {
	b := w.open(t, ModelB)
	one, two, inB := w.start(t, w.a, "1", "n"), w.start(t, w.a, "11", "n"), w.start(t, b, "1", "n")
	RunFirewall(w.ctx, t, func() provider.Firewall { return w.open(t, ModelA) }, one.ID, two.ID)
	ingress(w.ctx, t, b, provider.Ingress{})

	// Two models set their rules concurrently, one of them also for an instance of the other.
	rules := provider.Ingress{
		Ports: map[string][]entity.PortRange{one.ID: ports(t, "443"), two.ID: nil, inB.ID: ports(t, "80")},
		Peers: []string{"192.0.2.7"},
	}
	setIngress(w.ctx, t, w.a, provider.Ingress{Ports: map[string][]entity.PortRange{one.ID: nil}})
	rulesB := provider.Ingress{Ports: map[string][]entity.PortRange{inB.ID: ports(t, "1-65535", "1-65535/udp")}}
	var both sync.WaitGroup
	for e, rules := range map[provider.Environ]provider.Ingress{w.a: rules, b: rulesB} {
		both.Go(func() {
			if err := e.SetIngress(w.ctx, rules); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	delete(rules.Ports, inB.ID)
	ingress(w.ctx, t, w.a, rules)
	ingress(w.ctx, t, b, rulesB)

	// Rules are removed with their instance; an instance without rules is not filtered.
	w.stop(t, w.a, one.ID)
	delete(rules.Ports, one.ID)
	ingress(w.ctx, t, w.a, rules)
	setIngress(w.ctx, t, w.a, provider.Ingress{})
	ingress(w.ctx, t, w.a, provider.Ingress{})
	setIngress(w.ctx, t, w.a, rules)
	if err := w.a.Destroy(w.ctx); err != nil {
		t.Error(err)
	}
	ingress(w.ctx, t, w.a, provider.Ingress{})
	ingress(w.ctx, t, b, rulesB)
	if err := b.DestroyController(w.ctx, false); err != nil {
		t.Error(err)
	}
	ingress(w.ctx, t, b, provider.Ingress{})
}
