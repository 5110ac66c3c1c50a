package agent

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"juju/provider"
	"juju/state/entity"
	"juju/state/modelconfig"
)

// hostRules are those of a host, as the controller gives them to the host's agent.
type hostRules entity.HostExposure

func (r hostRules) Exposure(context.Context, entity.Tag) (entity.HostExposure, error) {
	return entity.HostExposure(r), nil
}

func (hostRules) WatchExposure(context.Context, entity.Tag) (<-chan struct{}, error) { return nil, nil }

// Everything of a host is open but what is named, and what is kept open counts more.
func TestOnlyNamedPortsOfAHostAreClosed(t *testing.T) {
	ports := func(texts ...string) (all []entity.PortRange) {
		for _, text := range texts {
			r, err := entity.ParsePortRange(text)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, r)
		}
		return all
	}
	kept := ports("22", "2222", "68/udp")
	for _, test := range []struct{ closed, open, want []entity.PortRange }{
		{nil, kept, nil},
		{ports("icmp"), kept, nil},
		{ports("22", "2222", "68/udp"), kept, nil},
		{ports("5432", "53/udp", "8000-8010"), kept, ports("5432", "8000-8010", "53/udp")},
		{ports("1-65535"), kept, ports("1-21", "23-2221", "2223-65535")},
		{ports("80-90"), append(ports("1-82", "85"), kept...), ports("83-84", "86-90")},
	} {
		h := hostExposure{hostRules{Mode: modelconfig.FirewallInstance, Closed: test.closed, Open: test.open, Peers: []string{"10.0.0.1"}},
			entity.MachineTag("3")}
		x, err := h.Exposure(t.Context())
		if err != nil || x.Mode != modelconfig.FirewallInstance || len(x.Hosts) != 1 {
			t.Errorf("%v: %+v, %v", test.closed, x, err)
		}
		open, filtered := x.Instances["machine-3"]
		if filtered != (test.want != nil) {
			t.Errorf("%v: filtered is %v", test.closed, filtered)
			continue
		}
		if !filtered {
			continue
		}
		rules := provider.Ingress{Ports: map[string][]entity.PortRange{"machine-3": open}}.Normal().Ports["machine-3"]
		got := append(provider.ClosedPorts("tcp", rules), provider.ClosedPorts("udp", rules)...)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%v (-want +got):\n%s", test.closed, diff)
		}
	}
}
