package export

import (
	"context"
	"crypto/x509"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/juju/loggo"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"juju/state/entity"
	"juju/state/tracing"
)

var logger = loggo.GetLogger("juju.tracing")

const (
	queued     = 2048             // spans that wait to be sent; more are dropped
	sendTime   = 10 * time.Second // for one batch
	closeTime  = 2 * time.Second  // for all spans that are left when a program ends
	maxText    = 256              // bytes of an attribute's value
	tracesPath = "/v1/traces"     // below the collector's URL
)

// A Provider makes the spans of a process and sends them. The methods of nil, for a process without traces, do nothing.
type Provider struct {
	sdk   *sdktrace.TracerProvider
	quiet *quiet
}

// A Source says whose spans they are.
type Source struct {
	Service  string // the program
	Instance string // "unit-web-0"; "" if it doesn't matter which one it is
	Version  string
}

// New returns the provider for a controller or an agent, nil if its settings name no collector. The error is Invalid.
func New(ctx context.Context, settings entity.Tracing, of Source) (*Provider, error) {
	if settings.Endpoint == "" {
		return nil, nil
	}
	url, err := settings.URL()
	if err != nil {
		return nil, err
	}
	return newProvider(ctx, newClient(strings.TrimSuffix(url, "/")+tracesPath, nil, nil, sendTime),
		sdktrace.ParentBased(sdktrace.TraceIDRatioBased(settings.SampleRatio)), attributes(of))
}

func attributes(of Source) resource.Option {
	all := []attribute.KeyValue{attribute.String("service.name", of.Service), attribute.String("service.version", of.Version)}
	if of.Instance != "" {
		all = append(all, attribute.String("service.instance.id", of.Instance))
	}
	return resource.WithAttributes(all...)
}

// newProvider returns a provider that sends with c. It takes the sampler from OpenTelemetry's environment variables if it is nil.
func newProvider(ctx context.Context, c *client, sampler sdktrace.Sampler, what ...resource.Option) (*Provider, error) {
	exporter, err := otlptrace.New(ctx, c)
	if err != nil {
		return nil, err
	}
	of, err := resource.New(ctx, append([]resource.Option{resource.WithTelemetrySDK()}, what...)...)
	if err != nil {
		return nil, fmt.Errorf("cannot describe this process: %w", err)
	}
	q := &quiet{SpanExporter: exporter}
	limits := sdktrace.NewSpanLimits()
	limits.AttributeValueLengthLimit = maxText
	options := []sdktrace.TracerProviderOption{sdktrace.WithResource(of), sdktrace.WithRawSpanLimits(limits),
		sdktrace.WithBatcher(q, sdktrace.WithMaxQueueSize(queued), sdktrace.WithExportTimeout(sendTime))}
	if sampler != nil {
		options = append(options, sdktrace.WithSampler(sampler))
	}
	return &Provider{sdktrace.NewTracerProvider(options...), q}, nil
}

// Tracer returns the tracer of all spans; nil if there are none.
func (p *Provider) Tracer() trace.Tracer {
	if p == nil {
		return nil
	}
	return p.sdk.Tracer(tracing.Scope)
}

// Close sends the spans that are left, as far as the time suffices.
func (p *Provider) Close() {
	if p == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	if err := p.sdk.Shutdown(ctx); err != nil {
		p.quiet.say(err)
	}
}

// quiet logs the first failure of an exporter. OpenTelemetry would print each of them.
type quiet struct {
	sdktrace.SpanExporter
	said sync.Once
}

// ExportSpans implements sdktrace.SpanExporter. It never fails: the spans are dropped.
func (q *quiet) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if err := q.SpanExporter.ExportSpans(ctx, spans); err != nil {
		q.say(err)
	}
	return nil
}

func (q *quiet) say(err error) {
	q.said.Do(func() { logger.Warningf("cannot send traces, so they are dropped (this is said once): %v", err) })
}

// roots returns the certificates in a PEM file's text.
func roots(text []byte) (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, entity.Errorf(entity.Invalid, "it has no certificate in PEM")
	}
	return pool, nil
}
