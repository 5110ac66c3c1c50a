package entity

import (
	"net/url"
	"strconv"
	"strings"
)

// Tracing says where a controller and its agents send traces. The zero value means nowhere.
type Tracing struct {
	// Endpoint is the collector, host:port or a URL, which speaks OTLP over HTTP.
	Endpoint string `json:"endpoint" yaml:"endpoint"`
	// Insecure means that a collector without a scheme is reached by plain HTTP.
	Insecure bool `json:"insecure,omitempty" yaml:"insecure,omitempty"`
	// SampleRatio is the part of the traces without a caller's that are recorded, from 0 to 1.
	SampleRatio float64 `json:"sample-ratio" yaml:"sample-ratio"`
}

// The settings of a controller that Tracing comes from, as in Juju.
const (
	tracingPrefix      = "open-telemetry-"
	tracingEnabled     = tracingPrefix + "enabled"
	tracingEndpoint    = tracingPrefix + "endpoint"
	tracingInsecure    = tracingPrefix + "insecure"
	tracingSampleRatio = tracingPrefix + "sample-ratio"
)

// sampleRatio is the sample ratio if none is given.
const sampleRatio = 0.1

// IsTracingSetting reports whether a key is that of a setting for ParseTracing, or looks like one.
func IsTracingSetting(key string) bool { return strings.HasPrefix(key, tracingPrefix) }

// ParseTracing parses settings of a controller. Errors are Invalid.
func ParseTracing(settings map[string]string) (Tracing, error) {
	t := Tracing{SampleRatio: sampleRatio}
	enabled := false
	for key, value := range settings {
		var err error
		switch key {
		case tracingEnabled:
			enabled, err = strconv.ParseBool(value)
		case tracingInsecure:
			t.Insecure, err = strconv.ParseBool(value)
		case tracingSampleRatio:
			t.SampleRatio, err = strconv.ParseFloat(value, 64)
			if err == nil && !(t.SampleRatio >= 0 && t.SampleRatio <= 1) {
				err = strconv.ErrRange
			}
		case tracingEndpoint:
			t.Endpoint = value
		default:
			return Tracing{}, Errorf(Invalid, "unknown controller setting %q", key)
		}
		if err != nil {
			return Tracing{}, Errorf(Invalid, "%s: %q is not valid", key, value)
		}
	}
	switch {
	case !enabled:
		return Tracing{}, nil
	case t.Endpoint == "":
		return Tracing{}, WithHint(Errorf(Invalid, "%s needs %s", tracingEnabled, tracingEndpoint),
			"Say where the collector is: --config %s=HOST:4318", tracingEndpoint)
	}
	if _, err := t.URL(); err != nil {
		return Tracing{}, err
	}
	return t, nil
}

// URL returns the URL of the collector, to which paths of OTLP are added. The error is Invalid.
func (t Tracing) URL() (string, error) {
	text := t.Endpoint
	if !strings.Contains(text, "://") {
		text = map[bool]string{false: "https://", true: "http://"}[t.Insecure] + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
		return "", Errorf(Invalid, "%s: expected HOST:PORT or an http or https URL of a collector without a password",
			tracingEndpoint)
	}
	return u.String(), nil
}

// Settings returns all settings.
func (t Tracing) Settings() map[string]any {
	if t.Endpoint == "" {
		t.SampleRatio = sampleRatio
	}
	return map[string]any{tracingEnabled: t.Endpoint != "", tracingEndpoint: t.Endpoint, tracingInsecure: t.Insecure, tracingSampleRatio: t.SampleRatio}
}
