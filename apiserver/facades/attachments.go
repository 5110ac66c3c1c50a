package facades

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"juju/state"
	"juju/state/entity"
)

// checkAttachments compares the storage of a model that is recorded as attached with what the cloud has on
// the instances. With repair it has the missing storage attached again.
func (b *Backend) checkAttachments(ctx context.Context, st *state.State, repair bool) (found []entity.Finding, err error) {
	recorded, err := st.Provisioning().Attached(ctx)
	if err != nil || len(recorded) == 0 {
		return nil, err
	}
	finding := func(a entity.Attached, format string, args ...any) entity.Finding {
		return entity.Finding{Model: st.Name(), Where: "storage " + a.Storage, What: fmt.Sprintf(format, args...)}
	}
	err = b.askCloudOf(ctx, st.UUID(), "what is attached", func(ctx context.Context, cloud Cloud) error {
		var missing []entity.Attached
		for _, a := range recorded {
			has, err := cloud.IsAttached(ctx, a)
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case errors.Is(err, entity.NotProvisioned): // the provisioner is to replace the instance
			case err != nil:
				found = append(found, finding(a, "the cloud cannot say whether machine %s has it: %v", a.Machine, err))
			case !has:
				missing = append(missing, a)
			}
		}
		if len(missing) == 0 {
			return nil
		}
		// What has been detached meanwhile is recorded no more, or anew.
		now, err := st.Provisioning().Attached(ctx)
		if err != nil {
			return err
		}
		// What lies in other storage is attached after it.
		slices.SortStableFunc(missing, func(a, b entity.Attached) int { return cmp.Compare(len(a.Mount), len(b.Mount)) })
		repaired := map[string]error{}
		for _, a := range missing {
			if !slices.Contains(now, a) {
				continue
			}
			f := finding(a, "it is recorded as attached to machine %s, which does not have it", a.Machine)
			f.Repair = "have it attached again"
			if repair {
				err, done := repaired[a.Storage]
				if !done {
					err = reattach(ctx, cloud, st, a, now, repaired)
				}
				if f.Done = err == nil; err != nil {
					f.Failed = err.Error()
				}
			}
			found = append(found, f)
		}
		return nil
	})
	if err != nil {
		found = append(found, entity.Finding{Model: st.Name(), Where: "storage",
			What: fmt.Sprintf("whether it is attached is not known: %v", err)})
	}
	return found, nil
}

// reattach has storage attached again, and what lies in it, which it would hide: that is detached first.
// repaired gets the result for each, by storage.
func reattach(
	ctx context.Context, cloud Cloud, st *state.State, a entity.Attached, all []entity.Attached,
	repaired map[string]error,
) error {
	var with []entity.Attached
	for _, other := range all {
		if other == a || other.Machine == a.Machine && strings.HasPrefix(other.Mount, a.Mount+"/") {
			if _, done := repaired[other.Storage]; !done {
				with = append(with, other)
			}
		}
	}
	slices.SortFunc(with, func(a, b entity.Attached) int { return cmp.Compare(len(b.Mount), len(a.Mount)) })
	var err error
	for _, one := range with {
		if err == nil {
			err = cloud.Detach(ctx, one)
		}
	}
	if err == nil {
		err = st.Provisioning().LoseAttachments(ctx, with)
	}
	for _, one := range with {
		repaired[one.Storage] = err
	}
	return err
}
