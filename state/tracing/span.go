package tracing

import (
	"context"
	"os"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"juju/state/entity"
)

// Scope is the name of the instrumentation scope of all spans.
const Scope = "juju"

// Start begins a span below the one in ctx. If that is not recorded, or there is none, it returns ctx and a span that does
// nothing. The caller must call End.
func Start(ctx context.Context, name string, options ...trace.SpanStartOption) (context.Context, trace.Span) {
	above := trace.SpanFromContext(ctx)
	if !above.IsRecording() {
		return ctx, None
	}
	return above.TracerProvider().Tracer(Scope).Start(ctx, name, options...)
}

// Begin begins a span that may be the first of its trace. It does nothing if tracer is nil.
func Begin(ctx context.Context, tracer trace.Tracer, name string,
	options ...trace.SpanStartOption) (context.Context, trace.Span) {
	if tracer == nil {
		return ctx, None
	}
	return tracer.Start(ctx, name, options...)
}

// None is the span that does nothing.
var None = trace.SpanFromContext(context.Background())

// End ends a span. Of an error it has only the kind, because the text may have values of settings.
func End(span trace.Span, err error) {
	if err != nil && span.IsRecording() {
		kind := string(entity.KindOf(err))
		if kind == "" {
			kind = "_OTHER" // OpenTelemetry's name for an error without a kind
		}
		span.SetAttributes(attribute.String("error.type", kind))
		span.SetStatus(codes.Error, kind)
	}
	span.End()
}

const variable = "TRACEPARENT"

// Environ returns the environment of a process that is started in the span in ctx: env with a variable that names the span
// in the format of W3C, or without that variable.
func Environ(ctx context.Context, env []string) []string {
	env = slices.DeleteFunc(env, func(entry string) bool { return strings.HasPrefix(entry, variable+"=") })
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	if text := carrier.Get("traceparent"); text != "" {
		env = append(env, variable+"="+text)
	}
	return env
}

// FromEnviron returns the span that this process was started in. It is not valid if there is none.
func FromEnviron() trace.SpanContext {
	carrier := propagation.MapCarrier{"traceparent": os.Getenv(variable)}
	return trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), carrier))
}
