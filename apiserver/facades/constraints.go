package facades

import (
	"context"

	"juju/apiserver/params"
	"juju/state/constraints"
	"juju/state/entity"
)

func applicationGetConstraints(
	ctx context.Context, c *Caller, p params.Entities,
) (params.ApplicationGetConstraintsResults, error) {
	results := make([]params.ApplicationConstraint, 0, len(p.Entities))
	for _, e := range p.Entities {
		constraints, err := constraintsOf(ctx, c, e.Tag)
		if err != nil {
			results = append(results, params.ApplicationConstraint{Error: c.wireError("GetConstraints",
				err)})
			continue
		}
		results = append(results, params.ApplicationConstraint{Constraints: constraints})
	}
	return params.ApplicationGetConstraintsResults{Results: results}, nil
}

func constraintsOf(ctx context.Context, c *Caller, tag params.Tag) (constraints.Value, error) {
	if err := isKind(tag, entity.KindService); err != nil {
		return constraints.Value{}, err
	}
	svc, err := c.Model.Service(ctx, tag.ID)
	if err != nil {
		return constraints.Value{}, err
	}
	return svc.Constraints(ctx)
}

func applicationSetConstraints(
	ctx context.Context, c *Caller, p params.SetConstraints,
) (params.SetConstraintsResult, error) {
	svc, err := c.Model.Service(ctx, p.ApplicationName)
	if err != nil {
		return params.SetConstraintsResult{}, err
	}
	judged, err := overModel(ctx, c, p.Constraints)
	if err != nil {
		return params.SetConstraintsResult{}, err
	}
	warnings, err := checkConstraints(ctx, c, judged, p.Constraints)
	if err != nil {
		return params.SetConstraintsResult{}, err
	}
	return params.SetConstraintsResult{Warnings: warnings.log(c)}, svc.SetConstraints(ctx, p.Constraints)
}

func modelConfigGetConstraints(ctx context.Context, c *Caller, _ None) (params.GetConstraintsResults, error) {
	constraints, err := c.Model.Settings().Constraints(ctx)
	return params.GetConstraintsResults{Constraints: constraints}, err
}

func modelConfigSetConstraints(
	ctx context.Context, c *Caller, p params.SetConstraints,
) (params.SetConstraintsResult, error) {
	warnings, err := checkModelConstraints(ctx, c, p.Constraints)
	if err != nil {
		return params.SetConstraintsResult{}, err
	}
	return params.SetConstraintsResult{Warnings: warnings.log(c)}, c.Model.Settings().SetConstraints(ctx, p.Constraints)
}
