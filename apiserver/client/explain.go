package client

import (
	"context"

	"juju/apiserver/params"
	"juju/state/entity"
)

// Explain returns why the named units, machines, services or relations have not started, or are not removed, yet.
// Without names, it explains every entity that has something to explain, up to the controller's limit; more is the
// number of those left out. The error is entity.NotFound if a named entity does not exist.
func (c *Conn) Explain(ctx context.Context, words ...string) (all []entity.Explanation, more int, err error) {
	var results params.ExplainResults
	err = c.call(ctx, "Explain", 1, "Explain", params.Explain{Words: words}, &results)
	return results.Explanations, results.More, err
}
