package export

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/juju/loggo"

	"juju/state/entity"
	"juju/state/tracing"
	"juju/state/tracing/tracingtest"
)

var program = Source{Service: "jujud", Instance: "a/0", Version: "1"}

// heard returns the log entries of this package from now on.
func heard(t *testing.T) func() []string {
	t.Helper()
	w := &loggo.TestWriter{}
	previous, err := loggo.ReplaceDefaultWriter(w)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = loggo.ReplaceDefaultWriter(previous) })
	return func() (lines []string) {
		for _, e := range w.Log() {
			lines = append(lines, e.Message)
		}
		return lines
	}
}

// act makes spans as a program does.
func act(p *Provider, spans int) {
	for i := range spans {
		_, span := tracing.Begin(context.Background(), p.Tracer(), fmt.Sprint("span ", i))
		span.End()
	}
}

// clean unsets OpenTelemetry's variables, and sets some.
func clean(t *testing.T, variables ...string) {
	t.Helper()
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "OTEL_") {
			t.Setenv(name, "")
		}
	}
	for _, entry := range variables {
		name, value, _ := strings.Cut(entry, "=")
		t.Setenv(name, value)
	}
}

// Spans reach a collector when the program ends, with what names the program and without any credential.
func TestExport(t *testing.T) {
	clean(t, "OTEL_SERVICE_NAME=other")
	collector, end := tracingtest.NewCollector()
	defer end()
	p, err := New(t.Context(), entity.Tracing{Endpoint: strings.TrimPrefix(collector.URL, "http://"), Insecure: true, SampleRatio: 1}, program)
	if err != nil {
		t.Fatal(err)
	}
	act(p, 3)
	p.Close()
	if spans := collector.Spans(); len(spans) != 3 || spans[0].Service != "jujud" {
		t.Errorf("it got %+v", spans)
	}
	for name := range collector.Headers()[0] {
		switch name {
		case "Content-Type", "Content-Length", "User-Agent", "Accept-Encoding":
		default:
			t.Errorf("it got the header %s", name)
		}
	}
	p, err = New(t.Context(), entity.Tracing{Endpoint: collector.URL, SampleRatio: 0}, program)
	if err != nil {
		t.Fatal(err)
	}
	act(p, 100)
	p.Close()
	if spans := collector.Spans(); len(spans) != 3 {
		t.Errorf("with the ratio 0, it got %d spans more", len(spans)-3)
	}
}

// What names no collector has no provider, and so no goroutine.
func TestOff(t *testing.T) {
	for _, variables := range [][]string{nil, {"OTEL_SERVICE_NAME=x"}, {"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", "OTEL_SDK_DISABLED=true"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", "OTEL_TRACES_EXPORTER=none"}} {
		clean(t, variables...)
		if p, err := FromEnvironment(t.Context(), program); p != nil || err != nil {
			t.Errorf("%q: %v, %v", variables, p, err)
		}
		clean(t, "OTEL_SDK_DISABLED=", "OTEL_TRACES_EXPORTER=", "OTEL_EXPORTER_OTLP_ENDPOINT=")
	}
	p, err := New(t.Context(), entity.Tracing{}, program)
	if p != nil || err != nil || p.Tracer() != nil {
		t.Errorf("%v, %v", p, err)
	}
	p.Close()
}

// A collector that is away, or never answers, delays nothing: spans are dropped when too many wait, and it is said once.
func TestACollectorThatDoesNotAnswer(t *testing.T) {
	clean(t)
	release := make(chan struct{})
	asked := make(chan struct{}, 100)
	hangs := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked <- struct{}{}
		<-release
	}))
	defer hangs.Close()
	defer close(release)
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "busy", http.StatusServiceUnavailable) }))
	defer refuses.Close()
	away := httptest.NewServer(nil)
	away.Close()
	for what, url := range map[string]string{"hangs": hangs.URL, "refuses": refuses.URL, "is away": away.URL} {
		t.Run(what, func(t *testing.T) {
			said := heard(t)
			p, err := New(t.Context(), entity.Tracing{Endpoint: url, SampleRatio: 1}, program)
			if err != nil {
				t.Fatal(err)
			}
			act(p, 4*queued) // it would never return if it waited for the one that hangs
			if url == hangs.URL {
				<-asked
			}
			p.Close()
			if lines := said(); len(lines) != 1 || !strings.HasPrefix(lines[0], "cannot send traces") {
				t.Errorf("said %q", lines)
			}
		})
	}
}

// Redirections are not followed, so headers with credentials for the collector go nowhere else.
func TestRedirectionsAreNotFollowed(t *testing.T) {
	var others sync.Once
	followed := false
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { others.Do(func() { followed = true }) }))
	redirects := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	clean(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+redirects.URL, "OTEL_EXPORTER_OTLP_HEADERS=api-key=secret")
	heard(t)
	p, err := FromEnvironment(t.Context(), program)
	if err != nil || p == nil {
		t.Fatal(p, err)
	}
	act(p, 1)
	p.Close()
	redirects.Close()
	other.Close()
	if followed {
		t.Error("it was")
	}
}

func TestFromEnvironment(t *testing.T) {
	collector, end := tracingtest.NewCollector()
	defer end()
	clean(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+collector.URL+"/", "OTEL_SERVICE_NAME=mine", "OTEL_EXPORTER_OTLP_HEADERS=api-key=a%20b, x=y",
		"OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf", "OTEL_EXPORTER_OTLP_TIMEOUT=60000")
	p, err := FromEnvironment(t.Context(), program)
	if err != nil {
		t.Fatal(err)
	}
	act(p, 1)
	p.Close()
	if spans := collector.Spans(); len(spans) != 1 || spans[0].Service != "mine" {
		t.Fatalf("it got %+v", spans)
	}
	if h := collector.Headers()[0]; h.Get("Api-Key") != "a b" || h.Get("X") != "y" {
		t.Errorf("it got the headers %v", h)
	}
	file := filepath.Join(t.TempDir(), "roots")
	if err := os.WriteFile(file, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, wrong := range []string{"ENDPOINT=collector:4317", "PROTOCOL=grpc", "HEADERS=secret", "CERTIFICATE=" + file, "CERTIFICATE=/nowhere"} {
		t.Run(wrong, func(t *testing.T) {
			clean(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+collector.URL)
			name, value, _ := strings.Cut(wrong, "=")
			t.Setenv("OTEL_EXPORTER_OTLP_"+name, value)
			p, err := FromEnvironment(t.Context(), program)
			if p != nil || err == nil || !strings.Contains(err.Error(), "OTEL_EXPORTER_OTLP_"+name) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%v, %v", p, err)
			}
		})
	}
}
