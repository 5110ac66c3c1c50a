package export

import (
	"cmp"
	"context"
	"crypto/x509"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/sdk/resource"

	"juju/state/entity"
)

// FromEnvironment returns the provider that OpenTelemetry's standard environment variables ask for, nil if they ask for none.
// The SDK itself looks at those of the sampler, the batches and the resource. The error is Invalid.
func FromEnvironment(ctx context.Context, of Source) (*Provider, error) {
	at := endpoint()
	disabled, _ := strconv.ParseBool(os.Getenv("OTEL_SDK_DISABLED"))
	if exporter := cmp.Or(os.Getenv("OTEL_TRACES_EXPORTER"), "otlp"); at == "" || disabled || exporter != "otlp" {
		return nil, nil
	}
	if u, err := url.Parse(at); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, entity.Errorf(entity.Invalid, "OTEL_EXPORTER_OTLP_ENDPOINT is not an http or https URL")
	}
	if protocol := option("PROTOCOL"); protocol != "" && protocol != "http/protobuf" {
		return nil, entity.Errorf(entity.Invalid, "OTEL_EXPORTER_OTLP_PROTOCOL is %q, and only http/protobuf is supported",
			protocol)
	}
	headers, err := parseHeaders(option("HEADERS"))
	if err != nil {
		return nil, err
	}
	timeout := sendTime
	if n, err := strconv.Atoi(option("TIMEOUT")); err == nil && n > 0 {
		timeout = min(timeout, time.Duration(n)*time.Millisecond)
	}
	var trusted *x509.CertPool
	if path := option("CERTIFICATE"); path != "" {
		text, err := os.ReadFile(path)
		if err == nil {
			trusted, err = roots(text)
		}
		if err != nil {
			return nil, fmt.Errorf("cannot use OTEL_EXPORTER_OTLP_CERTIFICATE: %w", err)
		}
	}
	return newProvider(ctx, newClient(at, headers, trusted, timeout), nil, attributes(of), resource.WithFromEnv())
}

// option returns a variable of the exporter; that for traces comes before that for all signals.
func option(name string) string {
	return cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_TRACES_"+name), os.Getenv("OTEL_EXPORTER_OTLP_"+name))
}

// endpoint returns the URL that spans are sent to; "" for none.
func endpoint() string {
	if at := os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"); at != "" {
		return at
	}
	if at := os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT"); at != "" {
		return strings.TrimSuffix(at, "/") + tracesPath
	}
	return ""
}

// parseHeaders parses name=value,…, with values that are escaped as in URLs. Its error doesn't have them, because they may be
// secret.
func parseHeaders(text string) (map[string]string, error) {
	headers := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, ok := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if name = strings.TrimSpace(name); !ok || name == "" || err != nil {
			return nil, entity.Errorf(entity.Invalid, "OTEL_EXPORTER_OTLP_HEADERS is not a list of name=value")
		}
		headers[name] = value
	}
	return headers, nil
}
