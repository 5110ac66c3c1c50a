package entity_test

import (
	"fmt"
	"strings"
	"testing"

	"juju/state/entity"
)

func TestParseTracing(t *testing.T) {
	t.Parallel()
	const on = "open-telemetry-enabled=true open-telemetry-endpoint=otel:4318"
	for settings, want := range map[string]string{
		"":                                               "",
		"open-telemetry-endpoint=otel:4318":              "",
		on:                                               "https://otel:4318",
		on + " open-telemetry-insecure=true":             "http://otel:4318",
		on + "/x open-telemetry-sample-ratio=1":          "https://otel:4318/x",
		"open-telemetry-enabled=true":                    "error: open-telemetry-enabled needs open-telemetry-endpoint",
		on + " open-telemetry-sample-ratio=1.5":          `error: open-telemetry-sample-ratio: "1.5" is not valid`,
		on + " open-telemetry-sample-ratio=NaN":          `error: open-telemetry-sample-ratio: "NaN" is not valid`,
		on + " open-telemetry-insecure=perhaps":          `error: open-telemetry-insecure: "perhaps" is not valid`,
		on + " open-telemetry-stack-traces=true":         `error: unknown controller setting "open-telemetry-stack-traces"`,
		strings.ReplaceAll(on, "otel:", "ftp://x:"):      "error: open-telemetry-endpoint: expected HOST:PORT",
		strings.ReplaceAll(on, "otel:", "http://a:b@x:"): "error: open-telemetry-endpoint: expected HOST:PORT",
	} {
		given := map[string]string{}
		for _, pair := range strings.Fields(settings) {
			key, value, _ := strings.Cut(pair, "=")
			given[key] = value
		}
		got, err := entity.ParseTracing(given)
		url := ""
		if err == nil && got.Endpoint != "" {
			url, err = got.URL()
		}
		if err != nil {
			url = "error: " + err.Error()
			if entity.KindOf(err) != entity.Invalid {
				t.Errorf("%q: the error is of kind %q", settings, entity.KindOf(err))
			}
		}
		if url != want && (!strings.HasPrefix(want, "error") || !strings.HasPrefix(url, want)) {
			t.Errorf("%q: got %q, want %q", settings, url, want)
		}
		shown := map[string]string{}
		for key, value := range got.Settings() {
			shown[key] = fmt.Sprint(value)
		}
		if again, err := entity.ParseTracing(shown); err != nil || again != got {
			t.Errorf("%q: it shows %v", settings, shown)
		}
	}
}
