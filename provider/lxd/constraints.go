package lxd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/canonical/lxd/shared/api"

	"juju/provider"
	"juju/state/constraints"
	"juju/state/entity"
)

// ConstraintRules implements provider.Environ. The constraints cores, mem and root-disk become limits
// of the container, an instance type is one of LXD's ("c2-m4"), a zone is a cluster member, and the
// source of the root disk is a storage pool. If the cloud's pool has the driver dir, which can't limit
// disks, root-disk is ignored.
func (e *environ) ConstraintRules(ctx context.Context) (constraints.Rules, error) {
	c, rules := e.cloud, constraints.DefaultRules()
	server, err := c.server(ctx)
	if err != nil {
		return rules, err
	}
	members, err := c.members(ctx)
	if err != nil {
		return rules, err
	}
	var pools []api.StoragePool
	if err := c.client.get(ctx, "/1.0/storage-pools", recursion(1), &pools); err != nil {
		return rules, err
	}
	own, err := c.pool(ctx)
	if err != nil {
		return rules, err
	}
	rules.Unsupported = []string{
		constraints.AllocatePublicIP, constraints.Container, constraints.CPUPower, constraints.ImageID,
		constraints.InstanceRole, constraints.Tags,
	}
	if len(members) == 0 {
		rules.Unsupported = append(rules.Unsupported, constraints.Zones)
	}
	arches := []string{arch(server.Environment.KernelArchitecture)}
	for _, m := range members {
		arches = append(arches, arch(m.Architecture))
	}
	var names []string
	for _, p := range pools {
		names = append(names, p.Name)
		if p.Name == own && p.Driver == "dir" {
			rules.Unsupported = append(rules.Unsupported, constraints.RootDisk)
		}
	}
	slices.Sort(arches)
	rules.Values = map[string][]string{
		constraints.Arch:           slices.Compact(arches),
		constraints.RootDiskSource: names,
		constraints.VirtType:       {string(api.InstanceTypeContainer)},
	}
	return rules, nil
}

// pool returns the storage pool for root disks: the configured one, or the profiles'.
func (c *Cloud) pool(ctx context.Context) (string, error) {
	if c.config.Pool != "" {
		return c.config.Pool, nil
	}
	pool := ""
	for _, name := range c.config.Profiles {
		var p api.Profile
		if err := c.client.get(ctx, "/1.0/profiles/"+url.PathEscape(name), nil, &p); err != nil {
			return "", err
		}
		for _, device := range p.Devices { // later profiles override earlier ones, as in LXD
			if device["type"] == "disk" && device["path"] == "/" {
				pool = device["pool"]
			}
		}
	}
	if pool == "" {
		return "", entity.WithHint(entity.Errorf(entity.Invalid, "LXD's profile %s has no root disk",
			strings.Join(c.config.Profiles, ", ")), "Give it one, or configure the storage pool.")
	}
	return pool, nil
}

// PrecheckInstance rejects series without an image, placements on anything but cluster members,
// conflicting constraints, constraints that no host meets, and spaces without a network.
func (e *environ) PrecheckInstance(ctx context.Context, params provider.PrecheckParams) error {
	if params.Series != "" {
		have, err := e.cloud.series(ctx)
		if err != nil {
			return err
		}
		if len(have) == 0 {
			return e.cloud.noImage(params.Series)
		}
		if err := provider.CheckSeries(params.Series, have, "LXD"); err != nil {
			return entity.WithHint(err, "%s", entity.Hint(e.cloud.noImage(params.Series)))
		}
	}
	if params.Container != "" && params.Container != "lxd" {
		return entity.Errorf(entity.Invalid, "LXD has no %s containers", params.Container)
	}
	if _, err := e.candidates(ctx, params.Constraints, params.Placement); err != nil {
		return err
	}
	return e.wired(ctx, params.Spaces, nil, nil)
}

// Zones returns the online cluster members that meet the constraints.
func (e *environ) Zones(ctx context.Context, params provider.PrecheckParams) ([]string, error) {
	all, err := e.candidates(ctx, params.Constraints, params.Placement)
	if err != nil || slices.Equal(all, []string{""}) {
		return nil, err
	}
	return all, nil
}

// livable returns an Invalid error if the constraints leave an agent's container too little, of what rules do not ignore.
func livable(rules constraints.Rules, cons constraints.Value) error {
	rules.Needs = maps.Clone(provider.AgentNeeds)
	for _, key := range rules.Unsupported {
		delete(rules.Needs, key)
	}
	for _, small := range rules.TooSmall(cons) {
		key, _, _ := strings.Cut(small, "=")
		return entity.WithHint(entity.Errorf(entity.Invalid, "constraint %s cannot be met: a container with an agent needs "+
			"at least %dM", small, rules.Needs[key]), "Demand more, or leave the constraint out.")
	}
	return nil
}

// candidates returns the cluster members that can host an instance, or a single "" if there is no
// cluster. The error is Invalid if no member can.
func (e *environ) candidates(ctx context.Context, cons constraints.Value, placement string) ([]string, error) {
	members, err := e.cloud.members(ctx)
	if err != nil {
		return nil, err
	}
	all := make([]string, 0, len(members))
	for _, m := range members {
		all = append(all, m.ServerName)
	}
	where, err := zones(all, cons, placement)
	if err != nil {
		return nil, err
	}
	rules, err := e.ConstraintRules(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := rules.Check(cons); err != nil {
		return nil, err
	}
	if err := livable(rules, cons); err != nil {
		return nil, err
	}
	if err := e.cloud.boundable(ctx, cons); err != nil {
		return nil, err
	}
	wanted, _ := cons.Get(constraints.Arch)
	if cons.Number(constraints.Cores)+cons.Number(constraints.Mem)+cons.Number(constraints.RootDisk) == 0 &&
		(wanted == "" || len(members) == 0) {
		return where, nil
	}
	var fit []string
	for _, name := range where {
		have, err2 := e.cloud.resources(ctx, name, cons)
		if err2 != nil {
			return nil, err2
		}
		place := "the LXD host"
		if name != "" {
			place = "LXD member " + name
		}
		err2 = provider.CheckHardware(cons, have, place)
		if wanted != "" && wanted != have.Arch {
			err2 = entity.Errorf(entity.Invalid, "constraint arch=%s cannot be met: %s has %s", wanted, place, have)
		}
		if err2 == nil {
			fit = append(fit, name)
		} else {
			err = err2
		}
	}
	if len(fit) == 0 {
		return nil, entity.WithHint(err, "Demand no more than a host of LXD has, or leave the constraint out.")
	}
	return fit, nil
}

// boundable returns an Invalid error if the constraints request a root disk of some size from a pool
// other than the cloud's default which can't limit disk sizes.
func (c *Cloud) boundable(ctx context.Context, cons constraints.Value) error {
	source, _ := cons.Get(constraints.RootDiskSource)
	if source == "" || cons.Number(constraints.RootDisk) == 0 {
		return nil
	}
	own, err := c.pool(ctx)
	if err != nil || own == source {
		return err // ConstraintRules covers the default pool
	}
	var pool api.StoragePool
	if err := c.client.get(ctx, "/1.0/storage-pools/"+url.PathEscape(source), nil, &pool); err != nil {
		return err
	}
	if pool.Driver == "dir" {
		return entity.Errorf(entity.Invalid, "constraint root-disk cannot be met: LXD's storage pool %s is a directory, "+
			"which bounds no disks", source)
	}
	return nil
}

// zonePrefix is the prefix of placements in a zone.
const zonePrefix = "zone="

// zones returns the members allowed by the placement or the zones constraint: all if neither is set,
// and a single "" if there is no cluster.
func zones(members []string, cons constraints.Value, placement string) ([]string, error) {
	text, _ := cons.Get(constraints.Zones)
	wanted := strings.Split(text, ",")
	if placement != "" {
		name, ok := strings.CutPrefix(placement, zonePrefix)
		if !ok || len(members) == 0 {
			return nil, entity.Errorf(entity.Invalid, "unknown placement directive: %s", placement)
		}
		wanted, text = []string{name}, name
	}
	switch {
	case len(members) == 0:
		return []string{""}, nil
	case text == "":
		return members, nil
	}
	for _, name := range wanted {
		if !slices.Contains(members, name) {
			return nil, entity.Errorf(entity.Invalid, "availability zone %q is not a member of the LXD cluster that is online: "+
				"it has %s", name, strings.Join(members, ", "))
		}
	}
	return wanted, nil
}

// target returns the query parameter that directs a request to a member; nil for "".
func target(member string) url.Values {
	if member == "" {
		return nil
	}
	return url.Values{"target": {member}}
}

// resources returns what a member has, or the server if that is "": all of it, in use or not. The
// disk is that of the pool for root disks.
func (c *Cloud) resources(ctx context.Context, member string, cons constraints.Value) (h provider.Hardware,
	err error) {
	all, err := c.allResources(ctx, member)
	if err != nil {
		return h, err
	}
	h = provider.Hardware{Arch: arch(all.CPU.Architecture), Cores: all.CPU.Total, Mem: all.Memory.Total >> 20}
	if cons.Number(constraints.RootDisk) == 0 {
		return h, nil
	}
	pool, ok := cons.Get(constraints.RootDiskSource)
	if !ok || pool == "" {
		if pool, err = c.pool(ctx); err != nil {
			return h, err
		}
	}
	var disk api.ResourcesStoragePool
	err = c.client.get(ctx, fmt.Sprintf("/1.0/storage-pools/%s/resources", url.PathEscape(pool)), target(member), &disk)
	h.RootDisk = disk.Space.Total >> 20
	return h, err
}

// resourceTries is the maximum number of attempts of allResources.
const resourceTries = 5

// allResources returns a member's resources. It retries, because LXD inspects each network interface
// and fails if one disappears meanwhile, as happens when containers start and stop.
func (c *Cloud) allResources(ctx context.Context, member string) (all api.Resources, err error) {
	for range resourceTries {
		err = c.client.get(ctx, "/1.0/resources", target(member), &all)
		var r *apiError
		if !errors.As(err, &r) || r.status != http.StatusInternalServerError {
			break
		}
	}
	return all, err
}

// devices returns the devices and configuration to add to the profiles' for the constraints and the
// cloud's own settings.
func (c *Cloud) devices(ctx context.Context, rules constraints.Rules, cons constraints.Value) (
	devices map[string]map[string]string, config map[string]string, err error) {
	devices, config = map[string]map[string]string{}, map[string]string{}
	if n := cons.Number(constraints.Cores); n > 0 {
		config["limits.cpu"] = fmt.Sprint(n)
	}
	if n := cons.Number(constraints.Mem); n > 0 {
		config["limits.memory"] = size(n)
	}
	source, _ := cons.Get(constraints.RootDiskSource)
	own, err := c.pool(ctx)
	if err != nil {
		return nil, nil, err
	}
	pool := cmp.Or(source, own)
	disk := cons.Number(constraints.RootDisk)
	if pool == own && slices.Contains(rules.Unsupported, constraints.RootDisk) {
		disk = 0
	}
	if c.config.Pool != "" || source != "" || disk > 0 {
		root := map[string]string{"type": "disk", "path": "/", "pool": pool}
		if disk > 0 {
			root["size"] = size(disk)
		}
		devices["root"] = root
	}
	if c.config.Network != "" {
		devices["eth0"] = map[string]string{"type": "nic", "name": "eth0", "network": c.config.Network}
	}
	return devices, config, nil
}
