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
	session := "0123456789abcdef"
	all.note(span(0), transaction{session, 0})
	if all.of([]byte(session), 0).IsValid() {
		t.Error("a span that is not recorded is kept")
	}
	for i := range maxTraced + 1 {
		all.note(span(trace.FlagsSampled), transaction{session, int64(i + 1)})
	}
	has := func(number int64) bool { return all.of([]byte(session), number).IsValid() }
	if len(all.spans) > maxTraced || has(1) || !has(2) || !has(maxTraced+1) {
		t.Errorf("%d spans are kept, or not the latest", len(all.spans))
	}
	if all.of([]byte("another session."), 2).IsValid() {
		t.Error("another session's transaction has a span")
	}
	(*traced)(nil).note(span(trace.FlagsSampled), transaction{session, 1})
}
