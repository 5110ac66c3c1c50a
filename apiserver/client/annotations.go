package client

import (
	"context"

	"juju/apiserver/params"
	"juju/state/entity"
)

// Annotations returns the annotations of a machine, unit, service or relation, or of the
// model.
func (c *Conn) Annotations(ctx context.Context, of entity.Tag) (map[string]string, error) {
	args := params.Entities{Entities: []params.Entity{{Tag: params.TagOf(of)}}}
	var result params.AnnotationsGetResults
	if err := c.call(ctx, "Annotations", 2, "Get", args, &result); err != nil {
		return nil, err
	}
	if len(result.Results) != 1 {
		return nil, entity.Errorf(entity.Unavailable, "the controller gave %d results for one request", len(result.Results))
	}
	return result.Results[0].Annotations, params.FromError(result.Results[0].Error.Error)
}

// SetAnnotations merges values over the annotations of an entity, all or none. An empty value
// deletes its key.
func (c *Conn) SetAnnotations(ctx context.Context, of entity.Tag, values map[string]string) error {
	args := params.AnnotationsSet{Annotations: []params.EntityAnnotations{{Entity: params.TagOf(of), Annotations: values}}}
	var result params.ErrorResults
	if err := c.call(ctx, "Annotations", 2, "Set", args, &result); err != nil {
		return err
	}
	return only(result.Results)
}
