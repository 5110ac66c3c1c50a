package mongo

import (
	"testing"

	"go.opentelemetry.io/otel/trace"
)

// The spans of the latest transactions are kept, of those that are recorded.
func TestSpansOfTransactionsAreBounded(t *testing.T) {
	t.Parallel()
	span := func(flags trace.TraceFlags) trace.SpanContext {
		return trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}, TraceFlags: flags})
	}
	all := &traced{}
	s := &slot{server: &serverSession{id: []byte("0123456789abcdef")}, span: span(0)}
	all.note(s)
	if all.of(s.server.id, 0).IsValid() {
		t.Error("a span that is not recorded is kept")
	}
	s.span = span(trace.FlagsSampled)
	for range maxTraced + 1 {
		s.server.number++
		all.note(s)
	}
	if len(all.spans) > maxTraced || all.of(s.server.id, 1).IsValid() || !all.of(s.server.id, 2).IsValid() || !all.of(s.server.id, maxTraced+1).IsValid() {
		t.Errorf("%d spans are kept, or not the latest", len(all.spans))
	}
	if all.of([]byte("another session."), 2).IsValid() {
		t.Error("another session's transaction has a span")
	}
	(*traced)(nil).note(s)
}
