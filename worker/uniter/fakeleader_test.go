package uniter

import (
	"context"
	"maps"
	"time"

	"juju/state/entity"
)

func (c *controller) ClaimLeadership(context.Context, entity.Tag, time.Duration) (epoch int64, err error) {
	c.change(func() { epoch, c.granted = c.leads, c.leads })
	if epoch == 0 {
		return 0, entity.Errorf(entity.LeadershipRefused, "leadership claim denied")
	}
	return epoch, nil
}

func (c *controller) ReleaseLeadership(context.Context, entity.Tag) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.released++
	return nil
}

func (c *controller) BlockUntilLeadershipReleased(ctx context.Context, _ entity.Tag) error {
	leads := watch(ctx, c, func() int64 { return c.leads }, func(_, is int64) int64 { return is })
	for epoch := range leads {
		if epoch != 0 {
			return nil
		}
	}
	return context.Cause(ctx)
}

func (c *controller) asLeader(epoch int64, f func()) error {
	if epoch != c.leads {
		return entity.Errorf(entity.LeadershipRefused, "unit %q is not the leader of service %q", "web/0", "web")
	}
	f()
	return nil
}

func (c *controller) LeaderSettings(context.Context, entity.Tag) (entity.LeaderSettings, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.shared), nil
}

func (c *controller) SetLeaderSettings(
	_ context.Context, _ entity.Tag, epoch int64, settings entity.LeaderSettings,
) error {
	return c.call("SetLeaderSettings", func() error { return c.asLeader(epoch, func() { c.shared = settings }) })
}

func (c *controller) ServiceStatus(context.Context, entity.Tag) (entity.StatusesOfService, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return entity.StatusesOfService{Service: c.ofService, Units: map[string]entity.Status{"web/0": c.workload}}, nil
}

func (c *controller) SetServiceStatus(_ context.Context, _ entity.Tag, epoch int64, status entity.Status) error {
	return c.call("SetServiceStatus", func() error { return c.asLeader(epoch, func() { c.ofService = status }) })
}
