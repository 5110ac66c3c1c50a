package facades

import (
	"context"

	"juju/apiserver/params"
)

func annotationsGet(ctx context.Context, c *Caller, p params.Entities) (params.AnnotationsGetResults, error) {
	results := make([]params.AnnotationsGetResult, 0, len(p.Entities))
	for _, e := range p.Entities {
		result := params.AnnotationsGetResult{Entity: e.Tag}
		notes, err := c.Model.Annotations().Get(ctx, e.Tag.Tag)
		if err == nil {
			err = c.keep(ctx, notes)
		}
		if err == nil {
			result.Annotations = notes
		} else {
			result.Error.Error = c.wireError("Get", err)
		}
		results = append(results, result)
	}
	return params.AnnotationsGetResults{Results: results}, nil
}

func annotationsSet(ctx context.Context, c *Caller, p params.AnnotationsSet) (params.ErrorResults, error) {
	return outcomes(c, "Set", p.Annotations, func(e params.EntityAnnotations) error {
		return c.Model.Annotations().Set(ctx, e.Entity.Tag, e.Annotations)
	}), nil
}
