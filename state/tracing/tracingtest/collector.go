package tracingtest

import (
	"encoding/base64"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// A Collector is a fake collector that takes OTLP over HTTP.
type Collector struct {
	URL string

	mu      sync.Mutex
	spans   []Span
	headers []http.Header
}

// NewCollector starts a collector, which ends through end.
func NewCollector() (c *Collector, end func()) {
	c = &Collector{}
	server := httptest.NewServer(c)
	c.URL = server.URL
	return c, server.Close
}

// ServeHTTP implements http.Handler.
func (c *Collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var data tracepb.TracesData
	if err == nil {
		err = proto.Unmarshal(body, &data)
	}
	if err != nil || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" {
		http.Error(w, "not OTLP", http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.headers = append(c.headers, r.Header)
	c.spans = append(c.spans, spansOf(&data, hex.EncodeToString)...)
}

// Spans returns the spans that have come so far.
func (c *Collector) Spans() []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Span(nil), c.spans...)
}

// Headers returns the headers of the requests that have come so far.
func (c *Collector) Headers() []http.Header {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]http.Header(nil), c.headers...)
}

// ParseFile returns the spans in a line of the file that OpenTelemetry's collector writes, in OTLP's JSON.
func ParseFile(line []byte) ([]Span, error) {
	var data tracepb.TracesData
	// Ids are in hex there, which is taken for base 64.
	err := protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(line, &data)
	return spansOf(&data, base64.StdEncoding.EncodeToString), err
}

// Record returns a tracer that records all spans in memory, and a function that returns those that have ended.
func Record(t testing.TB) (trace.Tracer, func() []Span) {
	t.Helper()
	recorder := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder), sdktrace.WithSampler(sdktrace.AlwaysSample()))
	return provider.Tracer("juju"), func() (spans []Span) {
		for _, one := range recorder.Ended() {
			s := Span{Name: one.Name(), Trace: one.SpanContext().TraceID().String(), ID: one.SpanContext().SpanID().String(),
				Attributes: map[string]string{}, Failed: one.Status().Code == codes.Error}
			if one.Parent().IsValid() {
				s.Parent = one.Parent().SpanID().String()
			}
			for _, l := range one.Links() {
				s.Links = append(s.Links, l.SpanContext.SpanID().String())
			}
			for _, e := range one.Events() {
				s.Events = append(s.Events, e.Name)
			}
			for _, a := range one.Attributes() {
				s.Attributes[string(a.Key)] = a.Value.String()
			}
			spans = append(spans, s)
		}
		return spans
	}
}

func spansOf(data *tracepb.TracesData, id func([]byte) string) (spans []Span) {
	for _, of := range data.ResourceSpans {
		service := attributesOf(of.Resource.GetAttributes())["service.name"]
		for _, scope := range of.ScopeSpans {
			for _, one := range scope.Spans {
				s := Span{Service: service, Name: one.Name, Trace: id(one.TraceId), ID: id(one.SpanId), Parent: id(one.ParentSpanId),
					Attributes: attributesOf(one.Attributes), Failed: one.Status.GetCode() == tracepb.Status_STATUS_CODE_ERROR}
				for _, l := range one.Links {
					s.Links = append(s.Links, id(l.SpanId))
				}
				for _, e := range one.Events {
					s.Events = append(s.Events, e.Name)
				}
				spans = append(spans, s)
			}
		}
	}
	return spans
}

func attributesOf(all []*commonpb.KeyValue) map[string]string {
	m := map[string]string{}
	for _, a := range all {
		if v, ok := a.Value.GetValue().(*commonpb.AnyValue_IntValue); ok {
			m[a.Key] = attribute.Int64Value(v.IntValue).String()
		} else {
			m[a.Key] = a.Value.GetStringValue()
		}
	}
	return m
}
