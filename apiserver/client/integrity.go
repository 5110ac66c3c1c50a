package client

import (
	"context"

	"juju/apiserver/params"
	"juju/state/entity"
)

// CheckModel returns the problems in the records of the model with this UUID, and repairs them if repair is set. The
// connection must be to the controller itself. The error is entity.Unauthorized for users who are not admins of the
// model.
func (c *Conn) CheckModel(ctx context.Context, model string, repair bool) ([]entity.Finding, error) {
	return c.check(ctx, "Model", repair, params.Entity{Tag: params.TagOf(entity.ModelTag(model))})
}

// CheckController is CheckModel for the controller's own records, for superusers.
func (c *Conn) CheckController(ctx context.Context, repair bool) ([]entity.Finding, error) {
	return c.check(ctx, "Controller", repair, nil)
}

func (c *Conn) check(ctx context.Context, what string, repair bool, args any) ([]entity.Finding, error) {
	method := "Check" + what
	if repair {
		method = "Repair" + what
	}
	var result params.Findings
	err := c.call(ctx, "Integrity", 1, method, args, &result)
	return result.Entities(), err
}
