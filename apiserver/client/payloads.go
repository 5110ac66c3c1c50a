package client

import (
	"context"

	"juju/apiserver/params"
	"juju/state/entity"
)

// Payloads returns the payloads of the model's units that match one of the patterns, or all if there are none.
func (c *Conn) Payloads(ctx context.Context, patterns []string) ([]entity.UnitPayload, error) {
	var result params.PayloadResults
	err := c.call(ctx, "Payloads", 1, "List", params.PayloadList{Patterns: patterns}, &result)
	all := make([]entity.UnitPayload, len(result.Results))
	for i, p := range result.Results {
		all[i] = p.Read()
	}
	return all, err
}
