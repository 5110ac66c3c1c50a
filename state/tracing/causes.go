package tracing

import (
	"context"
	"slices"
	"sync"

	"go.opentelemetry.io/otel/trace"
)

// maxCauses limits the causes that are kept; later ones are dropped.
const maxCauses = 8

// Causes collects the spans of the changes that a watch has seen, until who watches takes them. The methods of nil do
// nothing.
type Causes struct {
	mu  sync.Mutex
	all []trace.SpanContext
}

// Add adds the spans that are recorded.
func (c *Causes) Add(causes ...trace.SpanContext) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = Merge(c.all, causes...)
}

// Take returns the spans, and forgets them.
func (c *Causes) Take() []trace.SpanContext {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.all
	c.all = nil
	return all
}

// Merge adds those of some causes that are recorded and new.
func Merge(all []trace.SpanContext, more ...trace.SpanContext) []trace.SpanContext {
	for _, cause := range more {
		if len(all) < maxCauses && cause.IsSampled() && cause.IsValid() && !slices.ContainsFunc(all, cause.Equal) {
			all = append(all, cause)
		}
	}
	return all
}

type causesKey struct{}

// WithCauses has the watches that begin in the context collect their causes.
func WithCauses(ctx context.Context, causes *Causes) context.Context {
	return context.WithValue(ctx, causesKey{}, causes)
}

// CausesOf returns where watches that begin in ctx collect their causes, or nil.
func CausesOf(ctx context.Context) *Causes {
	causes, _ := ctx.Value(causesKey{}).(*Causes)
	return causes
}

// After returns ctx with the first cause as the span above, and an option that links to the others.
func After(ctx context.Context, causes []trace.SpanContext) (context.Context, trace.SpanStartOption) {
	var links []trace.Link
	for i, cause := range causes {
		if i == 0 {
			ctx = trace.ContextWithRemoteSpanContext(ctx, cause)
		} else {
			links = append(links, trace.Link{SpanContext: cause})
		}
	}
	return ctx, trace.WithLinks(links...)
}
