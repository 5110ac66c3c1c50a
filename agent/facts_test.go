package agent

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"juju/state/entity"
)

// heard is what an agent has reported of its host.
type heard struct {
	hardware  []entity.Hardware
	addresses [][]string
}

func (h *heard) SetMachineAddresses(_ context.Context, _ entity.Tag, addresses []string) error {
	h.addresses = append(h.addresses, addresses)
	return nil
}

func (h *heard) SetMachineHardware(_ context.Context, _ entity.Tag, hardware entity.Hardware) error {
	h.hardware = append(h.hardware, hardware)
	return nil
}

// An agent reports what its host has once, as long as that does not change; the addresses only where
// no cloud does, and none while the network is down.
func TestAnAgentReportsWhatItsHostHas(t *testing.T) {
	for _, manual := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			var reads int
			cards := func() ([]networkCard, error) {
				reads++
				text := "10.0.0.2"
				switch {
				case reads < 4:
					text = "10.0.0.1"
				case reads < 6:
					return nil, nil
				}
				return []networkCard{{name: "eth0", addresses: []netip.Addr{netip.MustParseAddr(text)}}}, nil
			}
			h := &heard{}
			a := &Agent{config: Config{Tag: entity.MachineTag("0"), OwnHost: true, Manual: manual}}
			_ = a.facts(h, cards)(ctx)
			if len(h.hardware) != 1 || h.hardware[0].Arch == "" || h.hardware[0].Cores == 0 || h.hardware[0].Mem == 0 ||
				h.hardware[0].RootDisk == 0 {
				t.Errorf("hardware %+v", h.hardware)
			}
			want := map[bool]string{false: "[]", true: "[[10.0.0.1] [10.0.0.2]]"}[manual]
			if got := fmt.Sprint(h.addresses); got != want {
				t.Errorf("manual is %v, addresses %s, want %s", manual, got, want)
			}
		})
	}
}

func TestHostAddresses(t *testing.T) {
	card := func(name string, addresses ...string) networkCard {
		c := networkCard{name: name}
		for _, a := range addresses {
			c.addresses = append(c.addresses, netip.MustParseAddr(a))
		}
		return c
	}
	got := hostAddresses([]networkCard{
		card("eth0", "fd00::1", "10.0.0.1", "fe80::1", "169.254.0.1"),
		card("docker0", "172.17.0.1"), card("br-12ab", "172.18.0.1"), card("veth1", "10.9.0.1"),
		card("br0", "192.0.2.7", "10.0.0.1"),
	})
	if want := []string{"10.0.0.1", "192.0.2.7", "fd00::1"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
