package agent

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"juju/provider"
	"juju/state/entity"
	"juju/state/limits"
	"juju/worker"
)

// factsPause is the interval between checks of the host's addresses.
const factsPause = time.Minute

// factsAPI is what reporting the host's hardware and addresses needs of the controller.
type factsAPI interface {
	SetMachineAddresses(ctx context.Context, machine entity.Tag, addresses []string) error
	SetMachineHardware(ctx context.Context, machine entity.Tag, hardware entity.Hardware) error
}

// facts returns the worker that reports the hardware of a machine with an operating system of its own. For a
// manual machine it also reports the addresses of its cards, initially and on change, because no cloud does.
func (a *Agent) facts(api factsAPI, cards func() ([]networkCard, error)) worker.Func {
	return func(ctx context.Context) error {
		reported := false // the hardware, which does not change while the machine is up
		var addresses []string
		return worker.Every(ctx, factsPause, func(ctx context.Context) error {
			if !reported {
				if err := api.SetMachineHardware(ctx, a.config.Tag, provider.HostHardware("/")); err != nil {
					return err
				}
				reported = true
			}
			if !a.config.Manual {
				return nil
			}
			all, err := cards()
			if err != nil {
				return fmt.Errorf("cannot find the machine's addresses: %w", err)
			}
			if now := hostAddresses(all); len(now) > 0 && !slices.Equal(now, addresses) {
				if err := api.SetMachineAddresses(ctx, a.config.Tag, now); err != nil {
					return err
				}
				addresses = now
			}
			return nil
		})
	}
}

// A networkCard is one network interface.
type networkCard struct {
	name      string
	addresses []netip.Addr
}

// networkCards returns the interfaces that are up, except the loopback interface.
func networkCards() ([]networkCard, error) {
	all, err := net.Interfaces()
	if err != nil {
		return nil, err
	}
	var cards []networkCard
	for _, one := range all {
		if one.Flags&net.FlagUp == 0 || one.Flags&net.FlagLoopback != 0 {
			continue
		}
		networks, err := one.Addrs()
		if err != nil {
			return nil, err
		}
		card := networkCard{name: one.Name}
		for _, n := range networks {
			if prefix, err := netip.ParsePrefix(n.String()); err == nil {
				card.addresses = append(card.addresses, prefix.Addr().Unmap())
			}
		}
		cards = append(cards, card)
	}
	return cards, nil
}

// inner has the name prefixes of interfaces to containers and virtual machines on the host. The host can't be
// reached from outside at their addresses.
var inner = []string{"docker", "lxcbr", "lxdbr", "virbr", "veth", "br-", "cni", "flannel", "cali"}

// hostAddresses returns the addresses at which others may reach the host, IPv4 first.
func hostAddresses(cards []networkCard) (result []string) {
	var all []netip.Addr
	for _, card := range cards {
		if slices.ContainsFunc(inner, func(prefix string) bool { return strings.HasPrefix(card.name, prefix) }) {
			continue
		}
		for _, a := range card.addresses {
			if a.IsGlobalUnicast() && !slices.Contains(all, a) {
				all = append(all, a)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b netip.Addr) int { return a.BitLen() - b.BitLen() })
	for _, a := range all[:min(len(all), limits.Addresses.Max)] {
		result = append(result, a.String())
	}
	return result
}
