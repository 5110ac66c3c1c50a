package facades

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"juju/apiserver/params"
	"juju/state"
	"juju/state/entity"
)

func integrityCheckModel(ctx context.Context, c *Caller, p params.Entity) (params.Findings, error) {
	return checkModel(ctx, c, p, false)
}

func integrityRepairModel(ctx context.Context, c *Caller, p params.Entity) (params.Findings, error) {
	return checkModel(ctx, c, p, true)
}

// checkModel checks the records of a model for its admins.
func checkModel(ctx context.Context, c *Caller, p params.Entity, repair bool) (params.Findings, error) {
	if err := isKind(p.Tag, entity.KindModel); err != nil {
		return params.Findings{}, err
	}
	id, err := c.at(ctx, p.Tag.ID)
	if err != nil {
		return params.Findings{}, err
	}
	if id.Roles&Admin == 0 {
		return params.Findings{}, c.lacksModelAdmin(ctx, p.Tag.ID, id.ModelAccess)
	}
	st, err := c.Controller.Model(ctx, p.Tag.ID)
	if err != nil {
		return params.Findings{}, err
	}
	if repair {
		if err := Changes.AllowedAt(ctx, st); err != nil {
			return params.Findings{}, err
		}
	}
	found, err := st.Check(ctx, repair)
	away := false
	if err == nil {
		var lost []entity.Finding
		lost, away, err = c.checkAttachments(ctx, st, repair)
		found = append(found, lost...)
	}
	if err == nil && !away {
		found = append(found, c.checkInstances(ctx, st)...)
	}
	return params.FindingsOf(found), err
}

func integrityCheckController(ctx context.Context, c *Caller, _ None) (params.Findings, error) {
	found, err := c.Controller.Check(ctx, false)
	return params.FindingsOf(found), err
}

func integrityRepairController(ctx context.Context, c *Caller, _ None) (params.Findings, error) {
	found, err := c.Controller.Check(ctx, true)
	return params.FindingsOf(found), err
}

// checkAttachments compares the storage recorded as attached in a model with the storage that the cloud has attached to
// the instances. With repair, missing storage is attached again. away is true if the cloud couldn't be asked.
func (b *Backend) checkAttachments(
	ctx context.Context, st *state.State, repair bool,
) (found []entity.Finding, away bool, err error) {
	recorded, err := st.Provisioning().Attached(ctx)
	if err != nil || len(recorded) == 0 {
		return nil, false, err
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
			case errors.Is(err, entity.NotProvisioned): // the provisioner will replace the instance
			case err != nil:
				found = append(found, finding(a, "the cloud cannot say whether machine %s has it: %v", a.Machine, err))
			case !has:
				missing = append(missing, a)
			}
		}
		if len(missing) == 0 {
			return nil
		}
		// Skip storage that was detached, or attached anew, in the meantime.
		now, err := st.Provisioning().Attached(ctx)
		if err != nil {
			return err
		}
		// Nested storage is attached after the storage it is mounted in.
		slices.SortStableFunc(missing, func(a, b entity.Attached) int { return cmp.Compare(len(a.Mount), len(b.Mount)) })
		repaired := map[string]error{}
		for _, a := range missing {
			if !slices.Contains(now, a) {
				continue
			}
			f := finding(a, "it is recorded as attached to machine %s, which does not have it", a.Machine)
			f.Repair = "attach it again"
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
			What: fmt.Sprintf("cannot check whether it is attached: %v", err)})
	}
	return found, err != nil, nil
}

// reattach detaches storage and marks it to be attached again, together with any storage mounted in it, which would
// otherwise be hidden. It sets the outcome for each in repaired.
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
