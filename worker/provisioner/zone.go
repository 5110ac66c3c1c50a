package provisioner

import (
	"context"
	"slices"
	"sync"

	"juju/provider"
	"juju/state/entity"
)

// zones are those of the starts that have not ended, by machine. Its lock is held while a zone is
// chosen, so that machines that start together are spread too.
type zones struct {
	sync.Mutex
	starting map[string]string
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
		if params.Zone, err = p.chooseZone(ctx, params.MachineID, group, left); err != nil {
			return provider.Instance{}, err
		}
		instance, err := p.Environ.StartInstance(ctx, params)
		p.zones.Lock()
		delete(p.zones.starting, params.MachineID)
		p.zones.Unlock()
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

// chooseZone returns the zone with the fewest instances of the group, among these the one with the
// fewest of the model, and among these the first. It counts the machine there from now on.
func (p *provisioner) chooseZone(ctx context.Context, machine string, group, among []string) (string, error) {
	p.zones.Lock()
	defer p.zones.Unlock()
	best := among[0]
	if len(among) > 1 {
		instances, err := p.Environ.Instances(ctx)
		if err != nil {
			return "", err
		}
		is := map[string]string{} // machine → zone
		for _, in := range instances {
			is[in.MachineID] = in.Zone
		}
		for id, zone := range p.zones.starting {
			is[id] = zone
		}
		used := map[string]int{}
		for id, zone := range is {
			used[zone]++
			if slices.Contains(group, id) {
				used[zone] += len(is) + 1 // outweighs all that are not of the group
			}
		}
		for _, zone := range among {
			if used[zone] < used[best] {
				best = zone
			}
		}
	}
	p.zones.starting[machine] = best
	return best, nil
}
