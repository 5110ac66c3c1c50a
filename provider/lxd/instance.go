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

// The configuration keys of containers and volumes that hold juju's tags.
const (
	controllerKey = "user.juju-controller-uuid"
	modelKey      = "user.juju-model-uuid"
	machineKey    = "user.juju-machine-id"
	nonceKey      = "user.juju-nonce"
	storageKey    = "user.juju-storage-instance"
)

// namePrefix is the prefix of all names that juju chooses.
const namePrefix = "juju-"

// prefix returns the prefix of a model's names.
func prefix(model string) string {
	return namePrefix + model[max(0, len(model)-6):] + "-"
}

// digest returns a short hash of some strings that is valid in host names.
func digest(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:5])
}

// instanceName returns the name of the container for params. It contains a digest of the nonce, so
// that a repeated start finds the existing container, while stopping an old instance can't affect a
// new attempt for the same machine.
func instanceName(params provider.StartParams) string {
	return prefix(params.Model) + strings.ReplaceAll(params.MachineID, "/", "-") + "-" +
		digest(params.Controller, params.Model, params.MachineID, params.Nonce)
}

// machineOf returns the machine ID in a name returned by instanceName.
func machineOf(name, model string) string {
	id := strings.TrimPrefix(name, prefix(model))
	return strings.ReplaceAll(id[:max(0, strings.LastIndex(id, "-"))], "-", "/")
}

// find returns the server's or cluster's containers that belong to the model, or to the controller if
// model is "".
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

// owned filters a listing for the containers of the model, or of the controller if model is "". For containers on
// offline cluster members, LXD returns little more than the name. If the name matches the model's, the container
// is included: otherwise it would be considered deleted, and be replaced. Whether it belongs to the controller
// can't be determined, so for the controller it is an error.
func (c *Cloud) owned(all []api.Instance, model string) (owned []api.Instance, err error) {
	for _, i := range all {
		unknown := i.StatusCode == api.Error && i.Config == nil
		switch {
		case unknown && model == "" && strings.HasPrefix(i.Name, namePrefix):
			return nil, provider.Retryable(entity.WithHint(
				fmt.Errorf("cannot determine the owner of container %s: member %s of its cluster is offline", i.Name, i.Location),
				"Restart the member, or remove it with its containers: lxc cluster remove --force %s", i.Location))
		case unknown && model != "" && strings.HasPrefix(i.Name, prefix(model)):
			i.Config = map[string]string{controllerKey: c.config.Controller, modelKey: model,
				machineKey: machineOf(i.Name, model)}
		}
		if c.owns(i.Config, model) {
			owned = append(owned, i)
		}
	}
	slices.SortFunc(owned, func(a, b api.Instance) int { return strings.Compare(a.Name, b.Name) })
	return owned, nil
}

// owns reports whether an object with these tags belongs to the model, or to the controller if model
// is "".
func (c *Cloud) owns(tags map[string]string, model string) bool {
	return tags[controllerKey] == c.config.Controller && (model == "" || tags[modelKey] == model)
}

// instance reads one container. isNotFound(err) reports that it does not exist.
func (c *Cloud) instance(ctx context.Context, name string) (i api.Instance, err error) {
	err = c.client.get(ctx, instancePath(name), nil, &i)
	return i, err
}

// public converts a container to a provider.Instance with its current addresses.
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
	if isNotFound(err) {
		return p, nil
	}
	p.Addresses = addresses(i, state)
	return p, err
}

// zone returns the cluster member that hosts a container; "" without a cluster.
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
	g.SetLimit(4) // LXD forks a process in the container to read its addresses
	for n, i := range all {
		g.Go(func() (err error) {
			result[n], err = c.public(ctx, i)
			return err
		})
	}
	return result, g.Wait()
}

// addresses returns the global addresses of the container's LXD network devices, IPv4 first. It omits
// those of bridges created inside the container.
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

// hardware returns the limits of a container. Values without a limit are left zero.
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

// units maps the suffixes of LXD's sizes to bytes.
var units = map[string]uint64{"": 1, "B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "KiB": 1 << 10,
	"MiB": 1 << 20,
	"GiB": 1 << 30, "TiB": 1 << 40, "PiB": 1 << 50}

// mib parses an LXD size such as "2048MiB" and returns it in MiB; 0 if it is invalid.
func mib(size string) uint64 {
	digits := strings.TrimRight(size, "BKMGTPkib ")
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil {
		return 0
	}
	return n * units[strings.TrimSpace(size[len(digits):])] >> 20
}

// size formats a number of MiB as an LXD size.
func size(mib uint64) string { return fmt.Sprintf("%dMiB", mib) }
