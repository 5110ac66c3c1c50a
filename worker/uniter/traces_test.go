package uniter

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"juju/state/tracing"
	"juju/state/tracing/tracingtest"
)

// The hooks that a unit runs when its agent starts are below the span in which that was started, and know their own. A failed
// one is seen.
func TestHooksHaveSpans(t *testing.T) {
	t.Parallel()
	tracer, spans := tracingtest.Record(t)
	ctx, deploy := tracer.Start(t.Context(), "deploy unit")
	r := newRig(t, map[string]string{"install": `echo "$TRACEPARENT" >../traceparent`, "config-changed": "exit 3"})
	started := &tracing.Causes{}
	started.Add(trace.SpanContextFromContext(ctx))
	r.config.Tracer, r.config.Started = tracer, started
	r.start()
	r.c.await(t, "the failed hook", func() bool { return r.c.failure() != "" })
	deploy.End()
	if err := r.stop(); err != nil && !strings.Contains(err.Error(), "told to stop") {
		t.Fatal(err)
	}
	all := spans()
	install, ok := tracingtest.Find(all, "hook install", "juju.unit=web/0", "juju.model=default", "process.exit.code=0")
	if above := tracingtest.Above(all, install); !ok || install.Failed || !slices.Equal(above, []string{"deploy unit"}) {
		t.Errorf("install is %+v, below %q", install, above)
	}
	failed, ok := tracingtest.Find(all, "hook config-changed", "process.exit.code=3")
	if above := tracingtest.Above(all, failed); !ok || !failed.Failed || !slices.Equal(above, []string{"deploy unit"}) {
		t.Errorf("config-changed is %+v, below %q", failed, above)
	}
	text, err := os.ReadFile(filepath.Join(r.dir, "traceparent"))
	if want := "00-" + install.Trace + "-" + install.ID + "-01"; err != nil || strings.TrimSpace(string(text)) != want {
		t.Errorf("the hook has TRACEPARENT %q, %v, want %s", text, err, want)
	}
}

// Once a unit is idle, its hooks are not below what it was started for.
func TestHooksOfAnIdleUnitBeginTraces(t *testing.T) {
	t.Parallel()
	tracer, spans := tracingtest.Record(t)
	ctx, deploy := tracer.Start(t.Context(), "deploy unit")
	r := newRig(t, nil)
	started := &tracing.Causes{}
	started.Add(trace.SpanContextFromContext(ctx))
	r.config.Tracer, r.config.Started = tracer, started
	r.start()
	r.settle(nil)
	r.settle(func() { r.c.unit.ConfigVersion++ })
	deploy.End()
	var parents []bool
	for _, s := range spans() {
		if s.Name == "hook config-changed" {
			parents = append(parents, s.Parent != "")
		}
	}
	if !slices.Equal(parents, []bool{true, false}) {
		t.Errorf("of both config-changed, these have a parent: %v", parents)
	}
}

// Without a tracer hooks have no span, and know of none, even if their agent does.
func TestHooksWithoutTraces(t *testing.T) {
	t.Setenv("TRACEPARENT", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	r := newRig(t, map[string]string{"install": `echo "${TRACEPARENT-none}" >../traceparent`})
	r.start()
	r.settle(nil)
	text, err := os.ReadFile(filepath.Join(r.dir, "traceparent"))
	if err != nil || string(text) != "none\n" {
		t.Errorf("the hook has TRACEPARENT %q, %v", text, err)
	}
}
