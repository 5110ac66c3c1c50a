package provisioner

import (
	"context"
	"maps"
	"slices"
	"sync"

	"juju/provider"
	"juju/state/entity"
)

// zones are where the machines' instances are: by the last listing of them, which the look makes, and by
// the starts that it may lack. The lock is held while a zone is chosen, so that machines that start
// together are spread too.
type zones struct {
	sync.Mutex
	listed   map[string]string // machine → zone
	listings int               // how many have begun
	starts   map[string]zoneStart
}

// A zoneStart is the start of an instance in a zone.
type zoneStart struct {
	zone  string
	ended int // how many listings had begun when it ended; 0 while it goes on
}

// listing notes that a listing of the instances begins.
func (z *zones) listing() {
	z.Lock()
	defer z.Unlock()
	z.listings++
}

// list takes over the listing that began last.
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

// end notes that a machine's start has ended, well or not.
func (z *zones) end(machine string, well bool) {
	z.Lock()
	defer z.Unlock()
	if !well {
		delete(z.starts, machine)
		return
	}
	z.starts[machine] = zoneStart{z.starts[machine].zone, z.listings}
}

// startInZone starts an instance in the zone that has the fewest of the machine's distribution group,
// and if that fails in the next one. The cloud has chosen the zone of a container: its machine's.
func (p *provisioner) startInZone(ctx context.Context, params provider.StartParams) (provider.Instance, error) {
	if params.Parent != "" {
		return p.Environ.StartInstance(ctx, params)
	}
	left, err := p.Environ.Zones(ctx, provider.PrecheckParams{
		Series: params.Series, Constraints: params.Constraints, Placement: params.Placement})
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
	var failed error // of several the one that a later attempt may not meet
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

// choose returns the zone with the fewest instances of the group, among these the one with the
// fewest of the model, and among these the first. It counts the machine there from now on.
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
			used[zone] += len(is) + 1 // outweighs all that are not of the group
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
