package provisioner

import (
	"context"
	"reflect"
	"slices"
	"time"

	"juju/provider"
	"juju/state/entity"
)

// longestPoll is the maximum time between scans while a machine is not settled.
const longestPoll = time.Minute

// observed is what the cloud has reported about a machine's instance.
type observed struct {
	entity.Instance
	status string
}

// observe records changes in what the cloud reports about the instances. It returns the time until the next
// scan if a machine has no address, or its instance or its agent has not started; otherwise 0. The time is
// short at first and grows while it is the same machines that are not settled.
func (p *provisioner) observe(ctx context.Context, v view) time.Duration {
	seen := map[string]observed{}
	var unsettled []string
	for _, in := range v.instances {
		m, ok := v.machines[in.MachineID]
		if !ok || m.InstanceID != in.ID || m.Life == entity.Dead {
			continue
		}
		now := observed{entity.Instance{ID: in.ID, Nonce: m.Nonce, Addresses: in.Addresses, Hardware: hardware(in)}, in.Status}
		if before, ok := p.observed[m.ID]; !ok || !reflect.DeepEqual(now, before) {
			err := p.API.Observe(ctx, entity.MachineTag(m.ID), now.Instance, now.status)
			if err != nil {
				if ctx.Err() == nil {
					logger.Errorf("cannot record what the cloud reports of machine %s: %v", m.ID, err)
				}
				continue // the next scan retries
			}
		}
		seen[m.ID] = now
		if !settled(m, in) {
			unsettled = append(unsettled, m.ID)
		}
	}
	p.observed = seen
	slices.Sort(unsettled)
	switch {
	case len(unsettled) == 0:
		p.poll = 0
	case p.poll == 0 || !slices.Equal(unsettled, p.unsettled):
		p.poll = p.Poll
	default:
		p.poll = min(p.poll*3/2, longestPoll)
	}
	p.unsettled = unsettled
	return p.poll
}

// hardware returns an instance's hardware, including its zone.
func hardware(in provider.Instance) entity.Hardware {
	h := in.Hardware
	h.Zone = in.Zone
	return h
}

// settled reports whether a machine's instance is not expected to change soon.
func settled(m entity.MachineInfo, in provider.Instance) bool {
	return len(in.Addresses) > 0 && (in.Status == "" || in.Status == "running") && m.Status != entity.StatusPending
}
