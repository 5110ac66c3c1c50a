package facades

import (
	"context"
	"slices"
	"strings"

	"juju/apiserver/params"
)

func payloadsList(ctx context.Context, c *Caller, p params.PayloadList) (params.PayloadResults, error) {
	all, err := c.Model.Charms().Payloads(ctx)
	if err != nil {
		return params.PayloadResults{}, err
	}
	wanted := map[string]bool{}
	for _, pattern := range p.Patterns {
		wanted[strings.ToLower(pattern)] = true
	}
	results := params.PayloadResults{Results: []params.Payload{}}
	for _, one := range all {
		facts := append([]string{one.Unit, one.Machine, one.Class, one.Type, one.ID, one.Status}, one.Labels...)
		if len(wanted) == 0 || slices.ContainsFunc(facts, func(fact string) bool { return wanted[strings.ToLower(fact)] }) {
			results.Results = append(results.Results, params.PayloadOf(one))
		}
	}
	return results, nil
}
