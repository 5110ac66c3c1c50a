package tracing_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"juju/state/entity"
	"juju/state/tracing"
	"juju/state/tracing/tracingtest"
)

type key struct{}

// With nothing above, or no tracer, there is no span, and nothing is allocated.
func TestOffIsOff(t *testing.T) {
	ctx := context.WithValue(t.Context(), key{}, "b")
	failure := errors.New("it failed")
	allocated := testing.AllocsPerRun(100, func() {
		same, span := tracing.Start(ctx, "transaction")
		span.AddEvent("aborted")
		tracing.End(span, failure)
		if same != ctx || span.IsRecording() {
			t.Error("there is a span")
		}
		if same, span := tracing.Begin(ctx, nil, "request"); same != ctx || span.IsRecording() {
			t.Error("there is a span")
		}
		tracing.CausesOf(ctx).Add()
		if tracing.CausesOf(ctx).Take() != nil {
			t.Error("there are causes")
		}
	})
	if allocated > 0 {
		t.Errorf("%v allocations", allocated)
	}
	work, same := tracing.NewWork(ctx, nil, nil)
	if _, span := work.Begin(ctx, "hook"); same != ctx || span.IsRecording() {
		t.Error("a worker without a tracer has a span")
	}
	work.Idle()
	if env := tracing.Environ(ctx, []string{"A=1", "TRACEPARENT=00-1", "B=2"}); !slices.Equal(env, []string{"A=1", "B=2"}) {
		t.Errorf("the environment is %q", env)
	}
}

func BenchmarkOff(b *testing.B) {
	ctx := context.WithValue(b.Context(), key{}, "b")
	b.ReportAllocs()
	for b.Loop() {
		_, span := tracing.Start(ctx, "transaction")
		tracing.End(span, nil)
	}
}

// A worker's spans are below the first change since it was idle, with links to those that came later.
func TestWork(t *testing.T) {
	tracer, spans := tracingtest.Record(t)
	change := func(name string) trace.SpanContext {
		_, span := tracer.Start(t.Context(), name)
		span.End()
		return span.SpanContext()
	}
	started := &tracing.Causes{}
	started.Add(change("started"))
	work, ctx := tracing.NewWork(t.Context(), tracer, started)
	act := func(name string, want ...string) {
		t.Helper()
		_, span := work.Begin(t.Context(), name)
		tracing.End(span, entity.Errorf(entity.InUse, "xyzzy"))
		all := spans()
		last := all[len(all)-1]
		var got []string
		for _, id := range append([]string{last.Parent}, last.Links...) {
			for _, s := range all {
				if s.ID == id {
					got = append(got, s.Name)
				}
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: it is because of %q, want %q", name, got, want)
		}
		if last.Attributes["error.type"] != string(entity.InUse) {
			t.Errorf("%s: it has %v", name, last.Attributes)
		}
	}
	act("first", "started")
	tracing.CausesOf(ctx).Add(change("one"), trace.SpanContext{}, change("two"))
	act("second", "started", "one", "two")
	work.Idle()
	act("of its own")
	two := change("two")
	tracing.CausesOf(ctx).Add(two, two)
	act("third", "two")
	tracing.CausesOf(ctx).Add(change("of no concern"))
	work.Idle()
	act("of its own again")
	for i := range 20 {
		tracing.CausesOf(ctx).Add(change(fmt.Sprint(i)))
	}
	act("of many", "0", "1", "2", "3", "4", "5", "6", "7")
}
