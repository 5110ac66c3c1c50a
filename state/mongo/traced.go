package mongo

import (
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"juju/state/tracing"
)

// ended records the outcome of a change, and its number of attempts, in its span.
func (r *Runner) ended(span trace.Span, end Outcome, attempts int, err error) {
	r.meter.Transaction(end, attempts)
	if span.IsRecording() {
		span.SetAttributes(attribute.String("db.namespace", r.name), attribute.String("juju.outcome", string(end)),
			attribute.Int("juju.attempts", attempts))
	}
	tracing.End(span, err)
}

// maxTraced is the number of transactions whose spans are kept.
const maxTraced = 1024

// traced keeps the spans of the latest transactions of a database that were made in a span, for the followers of its
// change stream, whose events name their transactions. The spans are kept in memory only, so changes made by another
// controller have none here.
type traced struct {
	mu    sync.Mutex
	spans map[transaction]trace.SpanContext
	order [maxTraced]transaction // a ring
	next  int
}

// A transaction identifies a transaction of the server.
type transaction struct {
	session string // its UUID, in bytes
	number  int64
}

// note records the span of a transaction that is about to be committed.
func (t *traced) note(span trace.SpanContext, id transaction) {
	if t == nil || !span.IsSampled() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.spans == nil {
		t.spans = map[transaction]trace.SpanContext{}
	}
	delete(t.spans, t.order[t.next])
	t.spans[id], t.order[t.next] = span, id
	t.next = (t.next + 1) % maxTraced
}

// of returns the span of a transaction, which is not valid if it is not known.
func (t *traced) of(session []byte, number int64) trace.SpanContext {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.spans[transaction{string(session), number}]
}
