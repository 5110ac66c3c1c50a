package client

import (
	"context"

	"juju/apiserver/params"
	"juju/state/entity"
)

// Explain says why what the words name has not started, or is not gone, yet: a
// unit, a machine, a service, or a relation. No words mean all of which there is
// something to say, but not more than the controller is ready to explain at once; more
// is how many others there are. entity.NotFound when there is no such thing.
func (c *Conn) Explain(ctx context.Context, words ...string) (all []entity.Explanation, more int, err error) {
	var results params.ExplainResults
	err = c.call(ctx, "Explain", 1, "Explain", params.Explain{Words: words}, &results)
	return results.Explanations, results.More, err
}
