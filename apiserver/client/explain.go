package client

import (
	"context"

	"juju/apiserver/params"
	"juju/state/entity"
)

// Explain says why the named units, machines, services or relations have not started, or are
// not gone, yet. Without names it explains all of which there is something to say, up to the
// controller's limit; more is the number of others. The error is entity.NotFound if a named
// one does not exist.
func (c *Conn) Explain(ctx context.Context, words ...string) (all []entity.Explanation, more int, err error) {
	var results params.ExplainResults
	err = c.call(ctx, "Explain", 1, "Explain", params.Explain{Words: words}, &results)
	return results.Explanations, results.More, err
}
