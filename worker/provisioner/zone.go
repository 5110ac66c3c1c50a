package provisioner

import (
	"context"
	"maps"
	"slices"
	"sync"

	"juju/provider"
	"juju/state/entity"
)

// zones tracks the zones of the machines' instances: those in the scan's last listing, and those of starts
// that the listing may lack. The lock is held while a zone is chosen, so that machines that start concurrently
// are spread too.
type zones struct {
	sync.Mutex
	listed   map[string]string // machine → zone
	listings int               // how many listings have begun
	starts   map[string]zoneStart
}

// A zoneStart is the start of an instance in a zone.
type zoneStart struct {
	zone  string
	ended int // how many listings had begun when it ended; 0 while it is in progress
}

// listing records that a listing of the instances begins.
func (z *zones) listing() {
	z.Lock()
	defer z.Unlock()
	z.listings++
}

// list stores the result of the listing that began last.
func (z *zones) list(instances []provider.Instance) {
	z.Lock()
	defer z.Unlock()
	z.listed = map[string]string{}
	for _, in := range instances {
		z.listed[in.MachineID] = in.Zone
	}
	for id, start := range z.starts {
		if start.ended > 0 && start.ended < z.listings {
			delete(z.starts, id)
		}
	}
}

// end records the end of a machine's start.
func (z *zones) end(machine string, ok bool) {
	z.Lock()
	defer z.Unlock()
	if !ok {
		delete(z.starts, machine)
		return
	}
	z.starts[machine] = zoneStart{z.starts[machine].zone, z.listings}
}

// startInZone starts an instance in the zone with the fewest instances of the machine's distribution group. If
// that fails it tries the next zone. A container is always in its host's zone.
func (p *provisioner) startInZone(ctx context.Context, params provider.StartParams) (provider.Instance, error) {
	if params.Parent != "" {
		return p.Environ.StartInstance(ctx, params)
	}
	left, err := p.Environ.Zones(ctx, provider.PrecheckParams{
		Series: params.Series, Constraints: params.Constraints, Spaces: params.Spaces, Placement: params.Placement})
	if err != nil {
		return provider.Instance{}, err
	}
	if len(left) == 0 {
		return p.Environ.StartInstance(ctx, params)
	}
	group, err := p.API.DistributionGroup(ctx, entity.MachineTag(params.MachineID))
	if err != nil {
		return provider.Instance{}, err
	}
	left = slices.Clone(left)
	var failed error // preferably a retryable one
	for len(left) > 0 {
		params.Zone = p.zones.choose(params.MachineID, group, left)
		instance, err := p.Environ.StartInstance(ctx, params)
		p.zones.end(params.MachineID, err == nil)
		if err == nil || ctx.Err() != nil {
			return instance, err
		}
		if failed == nil || provider.IsRetryable(err) {
			failed = err
		}
		left = slices.DeleteFunc(left, func(zone string) bool { return zone == params.Zone })
		if len(left) > 0 {
			logger.Warningf("cannot start an instance for machine %s in zone %s, trying another: %v", params.MachineID,
				params.Zone, err)
		}
	}
	return provider.Instance{}, failed
}

// choose returns the zone with the fewest instances of the group, breaking ties by the fewest of the model and
// then by order. From then on the machine counts as being in that zone.
func (z *zones) choose(machine string, group, among []string) string {
	z.Lock()
	defer z.Unlock()
	is := maps.Clone(z.listed)
	for id, start := range z.starts {
		is[id] = start.zone
	}
	delete(is, machine) // its earlier instance, if any, is gone
	used := map[string]int{}
	for id, zone := range is {
		used[zone]++
		if slices.Contains(group, id) {
			used[zone] += len(is) + 1 // outweighs all machines outside the group
		}
	}
	best := among[0]
	for _, zone := range among {
		if used[zone] < used[best] {
			best = zone
		}
	}
	z.starts[machine] = zoneStart{zone: best}
	return best
}
