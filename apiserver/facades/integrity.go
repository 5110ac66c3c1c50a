package facades

import (
	"context"

	"juju/apiserver/params"
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
