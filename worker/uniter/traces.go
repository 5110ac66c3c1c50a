package uniter

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"juju/state/tracing"
	"juju/worker/uniter/operation"
	"juju/worker/uniter/resolver"
)

// execute runs an operation, in a span if it runs a hook.
func (u *uniter) execute(ctx context.Context, next resolver.Op, op operation.Operation) (err error) {
	if next.Hook.Kind == "" {
		return u.executor.Run(ctx, op)
	}
	ctx, span := u.work.Begin(ctx, "hook "+string(next.Hook.Kind), trace.WithSpanKind(trace.SpanKindConsumer))
	defer func() { tracing.End(span, err) }()
	if err = u.executor.Run(ctx, op); err != nil || !span.IsRecording() {
		return err
	}
	if name := op.History(); name != "" {
		span.SetName(name) // with the name of a relation or a storage
	}
	failed := u.executor.State().FailedHook()
	span.SetAttributes(attribute.String("juju.model", u.Context.ModelName), attribute.String("juju.unit", u.Unit.ID))
	if failed == nil {
		span.SetAttributes(attribute.Int("process.exit.code", 0))
		return nil
	}
	span.SetStatus(codes.Error, "the hook failed")
	if failed.ExitCode > 0 { // otherwise a signal ended it
		span.SetAttributes(attribute.Int("process.exit.code", failed.ExitCode))
	}
	return nil
}
