package client

import (
	"context"

	"juju/apiserver/params"
	"juju/state/entity"
)

// ServiceConstraints returns what is demanded of the machines of units that are
// added to a service from now on.
func (c *Conn) ServiceConstraints(ctx context.Context, service string) (entity.Constraints, error) {
	args := params.Entities{Entities: []params.Entity{{Tag: params.TagOf(entity.ServiceTag(service))}}}
	var result params.ApplicationGetConstraintsResults
	if err := c.application(ctx, "GetConstraints", args, &result); err != nil {
		return entity.Constraints{}, err
	}
	if len(result.Results) != 1 {
		return entity.Constraints{}, entity.Errorf(entity.Unavailable, "the controller gave %d results for one request", len(result.Results))
	}
	return result.Results[0].Constraints, params.FromError(result.Results[0].Error)
}

// SetServiceConstraints replaces a service's constraints. It returns what the user is to
// be warned of.
func (c *Conn) SetServiceConstraints(ctx context.Context, service string, constraints entity.Constraints) (warnings []string, err error) {
	var result params.SetConstraintsResult
	err = c.application(ctx, "SetConstraints", params.SetConstraints{ApplicationName: service, Constraints: constraints}, &result)
	return result.Warnings, err
}

// ModelConstraints returns what is demanded of machines where services, or
// whoever adds the machine, say nothing else.
func (c *Conn) ModelConstraints(ctx context.Context) (entity.Constraints, error) {
	var result params.GetConstraintsResults
	err := c.call(ctx, "ModelConfig", 3, "GetModelConstraints", nil, &result)
	return result.Constraints, err
}

// SetModelConstraints replaces the model's constraints. It returns what the user is to be
// warned of.
func (c *Conn) SetModelConstraints(ctx context.Context, constraints entity.Constraints) (warnings []string, err error) {
	var result params.SetConstraintsResult
	err = c.call(ctx, "ModelConfig", 3, "SetModelConstraints", params.SetConstraints{Constraints: constraints}, &result)
	return result.Warnings, err
}
