package provider_test

import (
	"fmt"
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

// Rules with the same effect have one normal form, in which no port is open to a network twice.
func TestNormalIngressFromNetworks(t *testing.T) {
	tcp := func(from, to int) []entity.PortRange {
		return []entity.PortRange{{From: from, To: to, Protocol: "tcp"}}
	}
	form := func(open []entity.PortRange, from ...entity.PortsFrom) string {
		n := provider.Ingress{Ports: map[string][]entity.PortRange{"i": open},
			From: map[string][]entity.PortsFrom{"i": from, "unknown": from}}.Normal()
		if !n.Normal().Equal(n) {
			t.Errorf("the normal form of %v is %v", n, n.Normal())
		}
		return fmt.Sprint(n.Ports["i"], n.From["i"], len(n.From)-min(1, len(n.From)))
	}
	for _, test := range []struct {
		open []entity.PortRange
		from []entity.PortsFrom
		want string
	}{
		{nil, nil, "[22/tcp] [] 0"},
		{tcp(80, 90), []entity.PortsFrom{{"10.0.0.0/8", tcp(85, 95)}, {"10.0.0.0/8", tcp(96, 99)}, {"10.0.0.0/8", tcp(22, 22)}},
			"[22/tcp 80-90/tcp] [{10.0.0.0/8 [91-99/tcp]}] 0"},
		{nil, []entity.PortsFrom{{"10.1.0.0/16", tcp(80, 85)}, {"10.0.0.7/8", tcp(82, 83)}, {"name", tcp(80, 80)},
			{"::ffff:10.0.0.0/104", tcp(80, 80)}},
			"[22/tcp] [{10.0.0.0/8 [82-83/tcp]} {10.1.0.0/16 [80-81/tcp 84-85/tcp]}] 0"},
		{nil, []entity.PortsFrom{{"0.0.0.0/0", tcp(80, 90)}, {"::/0", tcp(85, 95)}, {"2001:db8::/32", tcp(80, 99)}},
			"[22/tcp 85-90/tcp] [{0.0.0.0/0 [80-84/tcp]} {::/0 [91-95/tcp]} {2001:db8::/32 [80-84/tcp 96-99/tcp]}] 0"},
	} {
		if got := form(test.open, test.from...); got != test.want {
			t.Errorf("%v from %v: %s, want %s", test.open, test.from, got, test.want)
		}
	}
}
