package provider_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"juju/provider"
	"juju/state/entity"
)

func TestNormalIngress(t *testing.T) {
	tcp := func(from, to int) entity.PortRange { return entity.PortRange{From: from, To: to, Protocol: "tcp"} }
	udp := func(from, to int) entity.PortRange { return entity.PortRange{From: from, To: to, Protocol: "udp"} }
	icmp := entity.PortRange{From: -1, To: -1, Protocol: "icmp"}
	for _, test := range []struct {
		given, open, closedTCP, closedUDP []entity.PortRange
	}{
		{nil, []entity.PortRange{tcp(22, 22)},
			[]entity.PortRange{tcp(1, 21), tcp(23, 65535)}, []entity.PortRange{udp(1, 65535)}},
		{[]entity.PortRange{udp(53, 53), tcp(23, 30), icmp, tcp(25, 26), tcp(32, 32), tcp(1, 1)},
			[]entity.PortRange{tcp(1, 1), tcp(22, 30), tcp(32, 32), udp(53, 53)},
			[]entity.PortRange{tcp(2, 21), tcp(31, 31), tcp(33, 65535)}, []entity.PortRange{udp(1, 52), udp(54, 65535)}},
		{[]entity.PortRange{tcp(1, 65535), udp(60000, 65535)},
			[]entity.PortRange{tcp(1, 65535), udp(60000, 65535)}, nil, []entity.PortRange{udp(1, 59999)}},
	} {
		n := provider.Ingress{Ports: map[string][]entity.PortRange{"i": test.given}}.Normal()
		if diff := cmp.Diff(test.open, n.Ports["i"]); diff != "" {
			t.Errorf("open with %v (-want +got):\n%s", test.given, diff)
		}
		if diff := cmp.Diff(test.closedTCP, provider.ClosedPorts("tcp", n.Ports["i"])); diff != "" {
			t.Errorf("closed with %v (-want +got):\n%s", test.given, diff)
		}
		if diff := cmp.Diff(test.closedUDP, provider.ClosedPorts("udp", n.Ports["i"])); diff != "" {
			t.Errorf("closed with %v (-want +got):\n%s", test.given, diff)
		}
		if !n.Normal().Equal(n) {
			t.Errorf("the normal form of %v is %v", n, n.Normal())
		}
	}
}
