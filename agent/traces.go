package agent

import (
	"context"

	"juju/state/tracing"
	"juju/state/tracing/export"
)

// trace begins to export the agent's spans, if its configuration says where to. end exports those that are left.
func (a *Agent) trace(ctx context.Context) (end func()) {
	provider, err := export.New(ctx, a.config.Tracing, export.Source{Service: string(a.kind) + "-agent", Instance: a.config.Tag.String(),
		Version: Version})
	if err != nil {
		logger.Errorf("the agent has no traces: %v", err)
	}
	a.options.Tracer, a.options.Started = provider.Tracer(), &tracing.Causes{}
	a.options.Started.Add(tracing.FromEnviron())
	return provider.Close
}
