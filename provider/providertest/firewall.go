package providertest

import (
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"juju/provider"
	"juju/state/entity"
)

// ingress checks which rules hold.
func ingress(t *testing.T, w *world, e provider.Environ, want provider.Ingress) {
	t.Helper()
	got, err := e.Ingress(w.ctx)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.Normal(), got); diff != "" {
		t.Errorf("the rules (-want +got):\n%s", diff)
	}
}

func setIngress(t *testing.T, w *world, e provider.Environ, rules provider.Ingress) {
	t.Helper()
	if err := e.SetIngress(w.ctx, rules); err != nil {
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

// The rules that were set are those that hold, until their instance or their model goes.
func testFirewall(t *testing.T, w *world) {
	if err := w.a.CheckFirewall(w.ctx); err != nil {
		t.Error(err)
	}
	ingress(t, w, w.a, provider.Ingress{})
	setIngress(t, w, w.a, provider.Ingress{})

	b := w.open(t, ModelB)
	one, two, inB := w.start(t, w.a, "1", "n"), w.start(t, w.a, "11", "n"), w.start(t, b, "1", "n")
	ingress(t, w, w.a, provider.Ingress{})
	rules := provider.Ingress{
		Ports: map[string][]entity.PortRange{
			one.ID: ports(t, "8000-8010/tcp", "80", "8011", "53/udp", "icmp", "1-5", "65535"),
			two.ID: nil,
		},
		Peers: []string{"192.0.2.7", "host.example", "2001:db8::7", "192.0.2.7"},
	}
	for range 2 {
		setIngress(t, w, w.a, rules)
		ingress(t, w, w.a, rules)
		ingress(t, w, w.open(t, ModelA), rules) // a restarted controller can only ask the cloud
	}
	ingress(t, w, b, provider.Ingress{})

	// Two models, and an instance that does not exist.
	ofB := provider.Ingress{Ports: map[string][]entity.PortRange{inB.ID: ports(t, "1-65535", "1-65535/udp")}}
	var both sync.WaitGroup
	rules.Ports[one.ID] = ports(t, "443")
	rules.Ports["never-was"], rules.Ports[inB.ID] = ports(t, "80"), ports(t, "80")
	for e, rules := range map[provider.Environ]provider.Ingress{w.a: rules, b: ofB} {
		both.Go(func() {
			if err := e.SetIngress(w.ctx, rules); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	delete(rules.Ports, "never-was")
	delete(rules.Ports, inB.ID)
	ingress(t, w, w.a, rules)
	ingress(t, w, b, ofB)

	// Rules go with their instance, and one that has none is open.
	w.stop(t, w.a, one.ID)
	delete(rules.Ports, one.ID)
	ingress(t, w, w.a, rules)
	setIngress(t, w, w.a, provider.Ingress{})
	ingress(t, w, w.a, provider.Ingress{})
	setIngress(t, w, w.a, rules)
	if err := w.a.Destroy(w.ctx); err != nil {
		t.Error(err)
	}
	ingress(t, w, w.a, provider.Ingress{})
	ingress(t, w, b, ofB)
	if err := b.DestroyController(w.ctx, false); err != nil {
		t.Error(err)
	}
	ingress(t, w, b, provider.Ingress{})
}
