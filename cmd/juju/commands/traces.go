package commands

import (
	"context"

	"github.com/spf13/cobra"
	"go.opentelemetry.io/otel/trace"

	"juju/agent"
	"juju/cmd/juju/cli"
	"juju/state/tracing"
	"juju/state/tracing/export"
)

// execute executes a command line, in a span if the environment asks for traces. That has only the command's name. On the
// controller, where commands have no network, there are none.
func execute(ctx context.Context, s *cli.Session, root *cobra.Command, args []string) (err error) {
	if s.Embedded {
		return root.ExecuteContext(ctx)
	}
	provider, err := export.FromEnvironment(ctx, export.Source{Service: root.Name(), Version: agent.Version})
	if err != nil {
		s.Warn("there are no traces: " + err.Error())
	}
	if provider == nil {
		return root.ExecuteContext(ctx)
	}
	defer provider.Close()
	name := root.Name()
	if cmd, _, err := root.Find(args); err == nil {
		name = cmd.CommandPath()
	}
	ctx, span := tracing.Begin(trace.ContextWithRemoteSpanContext(ctx, tracing.FromEnviron()), provider.Tracer(), name)
	defer func() { tracing.End(span, err) }()
	return root.ExecuteContext(ctx)
}
