package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"juju/doc/tools/verify"
	"juju/state/tracing/tracingtest"
)

// TestTracesInACollector runs the story of traces with OpenTelemetry's own collector, which `make verify-traces` builds.
func TestTracesInACollector(t *testing.T) {
	verify.Only(t, "needs OpenTelemetry's collector")
	program := os.Getenv("OTELCOL")
	if program == "" {
		t.Skip("OTELCOL names no collector: make verify-traces")
	}
	runSystem(t, func(env *testscript.Env) {
		env.Setenv("OTELCOL", program)
		env.Setenv("OTELCOL_ADDRESS", verify.FreeAddress(t))
	}, "traces")
}

// collectorConfig is the configuration of OpenTelemetry's collector, which writes what it gets to a file.
const collectorConfig = `receivers: {otlp: {protocols: {http: {endpoint: "%s"}}}}
exporters: {file: {path: "%s", flush_interval: 100ms}}
service:
  telemetry: {metrics: {level: none}}
  pipelines: {traces: {receivers: [otlp], exporters: [file]}}
`

// fakeCollectors are the collectors of scripts, by URL.
var fakeCollectors sync.Map

// scriptCollector starts a collector and sets COLLECTOR to its URL: the program that OTELCOL names, or a fake.
func scriptCollector(ts *testscript.TestScript, neg bool, args []string) {
	noNot(ts, neg)
	if len(args) != 0 {
		ts.Fatalf("usage: collector")
	}
	program := ts.Getenv("OTELCOL")
	if program == "" {
		fake, end := tracingtest.NewCollector()
		fakeCollectors.Store(fake.URL, fake)
		ts.Defer(end)
		ts.Setenv("COLLECTOR", fake.URL)
		return
	}
	config, log := ts.MkAbs("collector.yaml"), ts.MkAbs("collector.log")
	ts.Check(os.WriteFile(config, fmt.Appendf(nil, collectorConfig, ts.Getenv("OTELCOL_ADDRESS"), ts.MkAbs("spans.json")), 0o600))
	out, err := os.Create(log)
	ts.Check(err)
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, program, "--config", "file:"+config)
	cmd.Stdout, cmd.Stderr = out, out
	ts.Check(cmd.Start())
	ts.Defer(func() {
		cancel()
		_ = cmd.Wait()
		_ = out.Close()
	})
	ts.Setenv("COLLECTOR", "http://"+ts.Getenv("OTELCOL_ADDRESS"))
	eventually(ts, "the collector is ready", func() bool {
		text, err := os.ReadFile(log)
		ts.Check(err)
		return bytes.Contains(text, []byte("Everything is ready"))
	})
}

// spansOf returns the spans that a script's collector has received.
func spansOf(ts *testscript.TestScript) (spans []tracingtest.Span) {
	if fake, ok := fakeCollectors.Load(ts.Getenv("COLLECTOR")); ok {
		return fake.(*tracingtest.Collector).Spans()
	}
	text, err := os.ReadFile(ts.MkAbs("spans.json"))
	ts.Check(err)
	for line := range bytes.Lines(text) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break // it is being written
		}
		more, err := tracingtest.ParseFile(line)
		ts.Check(err)
		spans = append(spans, more...)
	}
	return spans
}

// scriptTraced waits until the collector has a span with some attributes, and the other spans above it, the nearest first; more may be
// in between. It prints the trace. With "!" no span may have the text in its name or its attributes.
func scriptTraced(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		for _, s := range spansOf(ts) {
			if text := fmt.Sprint(s.Name, s.Attributes); strings.Contains(text, args[0]) {
				ts.Fatalf("a span has %q: %s", args[0], text)
			}
		}
		return
	}
	below := slices.Index(args, "below")
	if below < 1 {
		ts.Fatalf("usage: traced NAME [KEY=VALUE...] below NAME...")
	}
	var trace string
	eventuallyOr(ts, fmt.Sprintf("traced %q", args), func() bool {
		spans := spansOf(ts)
		for {
			s, ok := tracingtest.Find(spans, args[0], args[1:below]...)
			if !ok {
				return false
			}
			missing := args[below+1:]
			for _, name := range tracingtest.Above(spansOf(ts), s) {
				if len(missing) > 0 && strings.HasPrefix(name, missing[0]) {
					missing = missing[1:]
				}
			}
			if len(missing) == 0 {
				trace = tracingtest.Tree(spansOf(ts), s.Trace)
				return true
			}
			spans = slices.DeleteFunc(slices.Clone(spans), func(o tracingtest.Span) bool { return o.ID == s.ID })
		}
	}, func() string {
		var all strings.Builder
		said := map[string]bool{}
		for _, s := range spansOf(ts) {
			if !said[s.Trace] {
				said[s.Trace] = true
				fmt.Fprintf(&all, "%s\n%s", s.Trace, tracingtest.Tree(spansOf(ts), s.Trace))
			}
		}
		return all.String()
	})
	_, err := ts.Stdout().Write([]byte(trace))
	ts.Check(err)
}
