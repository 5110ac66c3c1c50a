package lxd

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/canonical/lxd/shared/api"

	"juju/charm/safeyaml"
	"juju/provider"
	"juju/state/entity"
)

// A wiring is what an LXD has to choose a container's networks from.
type wiring struct {
	profile  map[string]map[string]string // the devices that every container gets
	networks map[string]api.Network
	subnets  []entity.Subnet
}

// cards returns the devices to add to the profiles' so that a container has an address in each space that is demanded, and
// none in those that are excluded; nil if it has that anyway. For a space that none of its networks is in, it gets a card in
// the first bridge that LXD manages and that is in this space and in no excluded one. Cards in excluded spaces are taken away.
// The error is entity.Invalid if the networks don't permit that.
func (w wiring) cards(want entity.MachineSpaces) (map[string]map[string]string, error) {
	devices, has, names := map[string]map[string]string{}, []string{}, []string{}
	left := "" // a space whose card is taken away
	for _, name := range slices.Sorted(maps.Keys(w.profile)) {
		network := networkOf(w.profile[name])
		if network == "" {
			continue
		}
		if in := w.excluded(network, want); in != "" {
			devices[name], left = map[string]string{"type": "none"}, in
			continue
		}
		has, names = append(has, network), append(names, name, w.profile[name]["name"])
	}
	for _, space := range want.In {
		if slices.ContainsFunc(has, func(n string) bool { return w.within(n, space) }) {
			continue
		}
		network, barred := "", ""
		for _, n := range slices.Sorted(maps.Keys(w.networks)) {
			if w.networks[n].Managed && w.networks[n].Type == "bridge" && w.within(n, space) {
				if barred = w.excluded(n, want); barred == "" {
					network = n
					break
				}
			}
		}
		if network == "" {
			why := ""
			if barred != "" {
				why = fmt.Sprintf(" and outside space %q", barred)
			}
			return nil, entity.WithHint(entity.Errorf(entity.Invalid,
				"no machine can have an address in space %q: LXD has no bridge that it "+
					"manages with a subnet there%s", space.Name, why),
				"To see the networks: lxc network list. After a change: juju reload-spaces, juju move-to-space %s CIDR", space.Name)
		}
		name := ""
		for i := 0; name == "" || slices.Contains(names, name) || devices[name] != nil; i++ {
			name = fmt.Sprintf("eth%d", i)
		}
		devices[name] = map[string]string{"type": "nic", "name": name, "network": network}
		has, names = append(has, network), append(names, name)
	}
	if len(has) == 0 && left != "" {
		return nil, entity.WithHint(entity.Errorf(entity.Invalid,
			"every machine has an address in space %q: LXD's profile has no other network",
			left), "Name a space that machines can be in instead: --constraints spaces=SPACE,^%s", left)
	}
	if len(devices) == 0 {
		return nil, nil
	}
	return devices, nil
}

// wired adds to a container's devices and configuration what gives it the networks that are demanded; nil are not added to.
func (e *environ) wired(ctx context.Context, want entity.MachineSpaces, devices map[string]map[string]string,
	config map[string]string) error {
	if want.IsEmpty() {
		return nil
	}
	w, err := wiring{}, error(nil)
	if w.profile, err = e.cloud.profileDevices(ctx); err != nil {
		return err
	}
	if w.networks, err = e.cloud.networks(ctx); err != nil {
		return err
	}
	if w.subnets, err = e.Subnets(ctx); err != nil {
		return err
	}
	cards, err := w.cards(want)
	if err != nil || cards == nil || devices == nil {
		return err
	}
	maps.Copy(devices, cards)
	config["cloud-init.network-config"], err = w.networkConfig(cards)
	return err
}

// within reports whether a network has a subnet in a space.
func (w wiring) within(network string, space entity.Space) bool {
	return slices.ContainsFunc(w.subnets, func(s entity.Subnet) bool {
		return s.Network == network && provider.Within(s, space)
	})
}

// excluded returns the name of an excluded space that a network is in; "" if there is none.
func (w wiring) excluded(network string, want entity.MachineSpaces) string {
	for _, space := range want.Out {
		if w.within(network, space) {
			return space.Name
		}
	}
	return ""
}

// A networkConfig is what cloud-init is told about a container's cards, in its version 1.
type networkConfig struct {
	Version int           `yaml:"version"`
	Config  []networkCard `yaml:"config"`
}

type networkCard struct {
	Type    string          `yaml:"type"`
	Name    string          `yaml:"name"`
	Subnets []networkSubnet `yaml:"subnets"`
}

type networkSubnet struct {
	Type string `yaml:"type"`
}

// networkConfig returns the configuration for cloud-init of a container's cards, each of which asks its network for an
// address: without it, images ask only for that of eth0.
func (w wiring) networkConfig(devices map[string]map[string]string) (string, error) {
	all := maps.Clone(w.profile)
	maps.Copy(all, devices)
	told := networkConfig{Version: 1}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if networkOf(all[name]) == "" {
			continue
		}
		if inside := all[name]["name"]; inside != "" {
			name = inside
		}
		told.Config = append(told.Config, networkCard{Type: "physical", Name: name, Subnets: []networkSubnet{{Type: "dhcp"}}})
	}
	text, err := safeyaml.Marshal(told, 2)
	return string(text), err
}
