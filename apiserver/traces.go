package apiserver

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"juju/apiserver/facades"
	"juju/apiserver/params"
	"juju/state/entity"
	"juju/state/tracing"
)

// span begins the span of a request below the one that its caller names. Requests of agents, which never end, begin no traces
// of their own, and those of the connection itself have no spans.
func (c *conn) span(ctx context.Context, who *facades.Caller, req *params.Request) (context.Context, trace.Span) {
	tracer, above := c.server.config.Tracer, req.Trace.Span()
	if req.ID != "" || req.Type == "Admin" || req.Type == "Pinger" || !above.IsValid() && who.Tag.Kind != entity.KindUser {
		tracer = nil
	}
	if tracer == nil {
		return ctx, tracing.None
	}
	ctx = trace.ContextWithRemoteSpanContext(ctx, above)
	return tracing.Begin(ctx, tracer, req.Type+"."+req.Request, trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(c.attributes()...))
}

// attributes returns what spans say about a connection that has logged in.
func (c *conn) attributes() []attribute.KeyValue {
	s := c.session.Load()
	all := []attribute.KeyValue{attribute.String("juju.caller", s.Tag.String())}
	if s.model != nil {
		all = append(all, attribute.String("juju.model", s.model.Name()))
	}
	return all
}

// delivered begins the span of an event of a watch, below the transaction that caused it and with links to others that did.
// Without one it does nothing.
func (c *conn) delivered(ow *openWatch) (trace.Span, params.Trace) {
	causes := ow.causes.Take()
	if len(causes) == 0 {
		return tracing.None, params.Trace{}
	}
	ctx, links := tracing.After(c.ctx, causes)
	_, span := tracing.Begin(ctx, c.server.config.Tracer, ow.facade()+".Next",
		trace.WithSpanKind(trace.SpanKindProducer), links,
		trace.WithAttributes(c.attributes()...))
	return span, params.TraceOf(span.SpanContext())
}
