package client

import (
	"context"

	"juju/apiserver/params"
	"juju/state/entity"
)

// Annotations returns the annotations of machines, units, services, relations or the model, in the order given.
func (c *Conn) Annotations(ctx context.Context, of ...entity.Tag) ([]map[string]string, error) {
	var args params.Entities
	for _, tag := range of {
		args.Entities = append(args.Entities, params.Entity{Tag: params.TagOf(tag)})
	}
	var result params.AnnotationsGetResults
	if err := c.call(ctx, "Annotations", 2, "Get", args, &result); err != nil {
		return nil, err
	}
	if err := areAll(len(of), len(result.Results)); err != nil {
		return nil, err
	}
	all := make([]map[string]string, len(of))
	for i, r := range result.Results {
		if r.Error.Error != nil {
			return nil, params.FromError(r.Error.Error)
		}
		all[i] = r.Annotations
	}
	return all, nil
}

// SetAnnotations merges values into the annotations of an entity, atomically. An empty value deletes its key.
func (c *Conn) SetAnnotations(ctx context.Context, of entity.Tag, values map[string]string) error {
	args := params.AnnotationsSet{Annotations: []params.EntityAnnotations{{Entity: params.TagOf(of), Annotations: values}}}
	var result params.ErrorResults
	if err := c.call(ctx, "Annotations", 2, "Set", args, &result); err != nil {
		return err
	}
	return only(result.Results)
}
