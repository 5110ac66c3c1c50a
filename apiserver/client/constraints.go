package client

import (
	"context"

	"juju/apiserver/params"
	"juju/state/constraints"
	"juju/state/entity"
)

// ServiceConstraints returns the constraints of the machines of a service's future units.
func (c *Conn) ServiceConstraints(ctx context.Context, service string) (constraints.Value, error) {
	args := params.Entities{Entities: []params.Entity{{Tag: params.TagOf(entity.ServiceTag(service))}}}
	var result params.ApplicationGetConstraintsResults
	if err := c.application(ctx, "GetConstraints", args, &result); err != nil {
		return constraints.Value{}, err
	}
	if err := isOne(len(result.Results)); err != nil {
		return constraints.Value{}, err
	}
	return result.Results[0].Constraints, params.FromError(result.Results[0].Error)
}

// SetServiceConstraints replaces a service's constraints. It returns warnings for the user.
func (c *Conn) SetServiceConstraints(
	ctx context.Context, service string, constraints constraints.Value,
) (warnings []string, err error) {
	var result params.SetConstraintsResult
	err = c.application(ctx, "SetConstraints", params.SetConstraints{ApplicationName: service, Constraints: constraints},
		&result)
	return result.Warnings, err
}

// ModelConstraints returns the constraints of machines whose own or whose service's constraints do not override them.
func (c *Conn) ModelConstraints(ctx context.Context) (constraints.Value, error) {
	var result params.GetConstraintsResults
	err := c.call(ctx, "ModelConfig", 3, "GetModelConstraints", nil, &result)
	return result.Constraints, err
}

// SetModelConstraints replaces the model's constraints. It returns warnings for the user.
func (c *Conn) SetModelConstraints(ctx context.Context, constraints constraints.Value) (warnings []string, err error) {
	var result params.SetConstraintsResult
	err = c.call(ctx, "ModelConfig", 3, "SetModelConstraints", params.SetConstraints{Constraints: constraints}, &result)
	return result.Warnings, err
}
