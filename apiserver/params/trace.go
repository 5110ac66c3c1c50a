package params

import (
	"encoding/json"

	"go.opentelemetry.io/otel/trace"
)

// A Trace names, in a frame, the span that it belongs to: of a request, the caller's; of the reply to a watcher's Next, that
// of the event. It is empty if there is none.
type Trace struct {
	TraceID    lenient[string] `json:"trace-id,omitzero"` // 32 digits in hex, as W3C has it
	SpanID     lenient[string] `json:"span-id,omitzero"`  // 16 digits in hex
	TraceFlags lenient[uint8]  `json:"trace-flags,omitzero"`
}

// lenient is a value that is zero if it is malformed, so that a request whose trace is malformed is still served.
type lenient[T any] struct{ value T }

// maxTraceValue limits the bytes of a value in JSON.
const maxTraceValue = 64

// UnmarshalJSON implements json.Unmarshaler. It never fails.
func (l *lenient[T]) UnmarshalJSON(text []byte) error {
	var value T
	if len(text) > maxTraceValue || json.Unmarshal(text, &value) != nil {
		return nil
	}
	l.value = value
	return nil
}

// MarshalJSON implements json.Marshaler.
func (l lenient[T]) MarshalJSON() ([]byte, error) { return json.Marshal(l.value) }

// TraceOf returns the Trace of a span.
func TraceOf(span trace.SpanContext) Trace {
	if !span.IsValid() {
		return Trace{}
	}
	return Trace{TraceID: lenient[string]{span.TraceID().String()}, SpanID: lenient[string]{span.SpanID().String()},
		TraceFlags: lenient[uint8]{uint8(span.TraceFlags())}}
}

// Span returns the span, which is in another process. It is not valid if there is none, or if it is malformed.
func (t Trace) Span() trace.SpanContext {
	id, err := trace.TraceIDFromHex(t.TraceID.value)
	if err != nil {
		return trace.SpanContext{}
	}
	span, err := trace.SpanIDFromHex(t.SpanID.value)
	if err != nil {
		return trace.SpanContext{}
	}
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: id, SpanID: span,
		TraceFlags: trace.TraceFlags(t.TraceFlags.value) & trace.FlagsSampled, Remote: true})
}
