package lxd

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/canonical/lxd/shared/api"
	"golang.org/x/sync/errgroup"

	"juju/provider"
	"juju/state/entity"
)

// The keys, in the configuration of containers and volumes, that say what they belong to.
const (
	controllerKey = "user.juju-controller-uuid"
	modelKey      = "user.juju-model-uuid"
	machineKey    = "user.juju-machine-id"
	nonceKey      = "user.juju-nonce"
	storageKey    = "user.juju-storage-instance"
)

// namePrefix begins the names of what any model has.
const namePrefix = "juju-"

// prefix begins the names of what a model has.
func prefix(model string) string {
	return namePrefix + model[max(0, len(model)-6):] + "-"
}

// digest returns a short name for some texts, which can be a part of a host's name.
func digest(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:5])
}

// instanceName returns the name of the container for params. It contains a digest of the nonce: a
// repeated start finds what the first one left, while a new attempt for the same machine has a name
// that no stop of the old one can mean.
func instanceName(params provider.StartParams) string {
	return prefix(params.Model) + strings.ReplaceAll(params.MachineID, "/", "-") + "-" +
		digest(params.Controller, params.Model, params.MachineID, params.Nonce)
}

// machineOf returns the machine for which instanceName has named a container of the model.
func machineOf(name, model string) string {
	id := strings.TrimPrefix(name, prefix(model))
	return strings.ReplaceAll(id[:max(0, strings.LastIndex(id, "-"))], "-", "/")
}

// find returns the containers, of the server or of all the cluster's, that belong to the
// controller, and to the model unless that is "".
func (c *Cloud) find(ctx context.Context, model string) ([]api.Instance, error) {
	if _, err := c.server(ctx); err != nil {
		return nil, err
	}
	var all []api.Instance
	if err := c.client.get(ctx, "/1.0/instances", recursion(1), &all); err != nil {
		return nil, err
	}
	return c.owned(all, model)
}

// owned returns, of a listing, the containers that belong to the controller, and to the model unless that is
// "". Of a container on an offline member of the cluster, LXD tells little more than the name. By that it
// is taken for the model's: left out, it would count as gone, and be replaced. Whether it is the
// controller's is not to be known, which is an error.
func (c *Cloud) owned(all []api.Instance, model string) (ours []api.Instance, err error) {
	for _, i := range all {
		unknown := i.StatusCode == api.Error && i.Config == nil
		switch {
		case unknown && model == "" && strings.HasPrefix(i.Name, namePrefix):
			return nil, provider.Retryable(entity.WithHint(
				fmt.Errorf("LXD does not say whose container %s is: member %s of its cluster is offline", i.Name, i.Location),
				"Start the member again, or give it up with its containers: lxc cluster remove --force %s", i.Location))
		case unknown && model != "" && strings.HasPrefix(i.Name, prefix(model)):
			i.Config = map[string]string{controllerKey: c.config.Controller, modelKey: model,
				machineKey: machineOf(i.Name, model)}
		}
		if c.owns(i.Config, model) {
			ours = append(ours, i)
		}
	}
	slices.SortFunc(ours, func(a, b api.Instance) int { return strings.Compare(a.Name, b.Name) })
	return ours, nil
}

// owns reports whether something with these tags belongs to the controller, and to the model unless
// that is "".
func (c *Cloud) owns(tags map[string]string, model string) bool {
	return tags[controllerKey] == c.config.Controller && (model == "" || tags[modelKey] == model)
}

// instance reads one container; isGone tells that there is none.
func (c *Cloud) instance(ctx context.Context, name string) (i api.Instance, err error) {
	err = c.client.get(ctx, instancePath(name), nil, &i)
	return i, err
}

// public returns a container as other packages see it. Its addresses are those that it has now.
func (c *Cloud) public(ctx context.Context, i api.Instance) (provider.Instance, error) {
	p := provider.Instance{
		ID: i.Name, Hardware: hardware(i), Controller: i.Config[controllerKey], Model: i.Config[modelKey],
		MachineID: i.Config[machineKey], Nonce: i.Config[nonceKey], Zone: zone(i), Status: strings.ToLower(i.Status),
	}
	if i.StatusCode != api.Running {
		return p, nil
	}
	var state api.InstanceState
	err := c.client.get(ctx, instancePath(i.Name, "state"), nil, &state)
	if isGone(err) {
		return p, nil
	}
	p.Addresses = addresses(i, state)
	return p, err
}

// zone returns the member of the cluster that has a container; "" without a cluster.
func zone(i api.Instance) string {
	if i.Location == "none" {
		return ""
	}
	return i.Location
}

// publics is public for many containers.
func (c *Cloud) publics(ctx context.Context, all []api.Instance) ([]provider.Instance, error) {
	result := make([]provider.Instance, len(all))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(4) // LXD starts a process in the container to read its addresses
	for n, i := range all {
		g.Go(func() (err error) {
			result[n], err = c.public(ctx, i)
			return err
		})
	}
	return result, g.Wait()
}

// addresses returns the global addresses of the network cards that LXD gave the container, and not
// of bridges that someone has made in it: those of IPv4 first.
func addresses(i api.Instance, state api.InstanceState) (result []string) {
	cards := map[string]bool{}
	for key, value := range i.ExpandedConfig {
		if strings.HasPrefix(key, "volatile.") && strings.HasSuffix(key, ".hwaddr") {
			cards[value] = true
		}
	}
	for _, device := range i.ExpandedDevices {
		cards[device["hwaddr"]] = true
	}
	delete(cards, "")
	for _, n := range state.Network {
		for _, a := range n.Addresses {
			if cards[n.Hwaddr] && a.Scope == "global" {
				result = append(result, a.Address)
			}
		}
	}
	slices.SortFunc(result, func(a, b string) int {
		ipA, ipB := net.ParseIP(a), net.ParseIP(b)
		return cmp.Or(cmp.Compare(len(ipA.To4()), len(ipB.To4()))*-1, strings.Compare(a, b))
	})
	return slices.Compact(result)
}

// hardware returns the limits of a container. Where it has none, it is as big as its host, and
// nothing is said.
func hardware(i api.Instance) provider.Hardware {
	h := provider.Hardware{Arch: arch(i.Architecture)}
	h.Cores, _ = strconv.ParseUint(i.ExpandedConfig["limits.cpu"], 10, 64)
	h.Mem = mib(i.ExpandedConfig["limits.memory"])
	for _, device := range i.ExpandedDevices {
		if device["type"] == "disk" && device["path"] == "/" {
			h.RootDisk = mib(device["size"])
		}
	}
	return h
}

// units are the suffixes of LXD's sizes, in bytes.
var units = map[string]uint64{"": 1, "B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "KiB": 1 << 10,
	"MiB": 1 << 20,
	"GiB": 1 << 30, "TiB": 1 << 40, "PiB": 1 << 50}

// mib returns a size of LXD's, such as "2048MiB", in MiB; 0 if it is none.
func mib(size string) uint64 {
	digits := strings.TrimRight(size, "BKMGTPkib ")
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil {
		return 0
	}
	return n * units[strings.TrimSpace(size[len(digits):])] >> 20
}

// size returns a number of MiB as LXD writes it.
func size(mib uint64) string { return fmt.Sprintf("%dMiB", mib) }
