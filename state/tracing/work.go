package tracing

import (
	"context"
	"sync"

	"go.opentelemetry.io/otel/trace"
)

// Work begins the spans of what a worker does because its watches have seen changes. The first change is the span above those of
// all that the worker does until it is idle again, and they link to changes that have come in between.
type Work struct {
	tracer trace.Tracer
	causes *Causes // of the events of the worker's watches

	mu  sync.Mutex
	now []trace.SpanContext
}

// NewWork returns the Work of a worker, which was started because of started, if that is not nil and has any, and the context
// for its watches. It has no spans if tracer is nil.
func NewWork(ctx context.Context, tracer trace.Tracer, started *Causes) (*Work, context.Context) {
	if tracer == nil {
		return &Work{}, ctx
	}
	w := &Work{tracer: tracer, causes: &Causes{}, now: started.Take()}
	return w, WithCauses(ctx, w.causes)
}

// Begin begins the span of something that the worker does. The caller must call End.
func (w *Work) Begin(ctx context.Context, name string, options ...trace.SpanStartOption) (context.Context, trace.Span) {
	if w.tracer == nil {
		return ctx, None
	}
	w.mu.Lock()
	w.now = Merge(w.now, w.causes.Take()...)
	ctx, links := After(ctx, w.now)
	w.mu.Unlock()
	return w.tracer.Start(ctx, name, append(options, links)...)
}

// Idle says that everything is done that the changes so far asked for.
func (w *Work) Idle() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.causes.Take()
	w.now = nil
}
