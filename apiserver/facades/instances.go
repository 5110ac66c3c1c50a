package facades

import (
	"context"
	"fmt"

	"juju/state"
	"juju/state/entity"
)

// checkInstances finds instances that the cloud has for a model and that belong to none of its machines. After a backup
// was restored, there are those of machines that were added since. They are never stopped here, because they may hold
// the only copy of data.
func (b *Backend) checkInstances(ctx context.Context, st *state.State) (found []entity.Finding) {
	finding := func(where, format string, args ...any) entity.Finding {
		return entity.Finding{Model: st.Name(), Where: where, What: fmt.Sprintf(format, args...)}
	}
	err := b.askCloudOf(ctx, st.UUID(), "what instances it has", func(ctx context.Context, cloud Cloud) error {
		strays, err := straysOf(ctx, cloud, st)
		if err != nil || len(strays) == 0 {
			return err
		}
		// Some may have belonged to machines that were removed meanwhile.
		now, err := cloud.InstancesOf(ctx)
		if err != nil {
			return err
		}
		for _, in := range now {
			if strays[in.ID] {
				found = append(found, finding("instance "+in.ID,
					"it was started for machine %s, and is none of the model's; to stop "+
						"all such instances: juju model-config provisioner-harvest-mode=all", in.Machine))
			}
		}
		return nil
	})
	if err != nil {
		found = append(found, finding("instances", "cannot check which of them the cloud has: %v", err))
	}
	return found
}

// straysOf returns the ids of a model's instances that belong to no machine, except for those that forced removals have
// left to the provisioner.
func straysOf(ctx context.Context, cloud Cloud, st *state.State) (map[string]bool, error) {
	all, err := cloud.InstancesOf(ctx)
	if err != nil {
		return nil, err
	}
	machines, err := st.Machines(ctx) // after the instances: whatever is recorded by then has a machine
	if err != nil {
		return nil, err
	}
	leftovers, err := st.Provisioning().Leftovers(ctx)
	if err != nil {
		return nil, err
	}
	recorded := map[string]string{}
	for _, m := range machines {
		recorded[m.ID()] = m.InstanceID()
	}
	strays := map[string]bool{}
	for _, in := range all {
		id, ok := recorded[in.Machine]
		if !ok || id != "" && id != in.ID { // an instance without a record may be about to get one
			strays[in.ID] = true
		}
	}
	for _, left := range leftovers {
		delete(strays, left.Instance)
	}
	return strays, nil
}
