#!/usr/bin/env bash
# otlptracehttp 1.47.0: a collector's redirect is followed, also to where spans vanish as a success; dates of Retry-After count
#
# Guess: the exporter does not follow a 307, as its body can't be sent again, and fails; of Retry-After it reads numbers only, so
#        that a date is ignored and the usual pause of some five seconds follows.
# Seen:  a 307 is followed with the spans. A 302 is followed too, by a GET without a body, and if that is answered with 200 the
#        export has succeeded: no span has arrived, and no error says so. A date of Retry-After is read: one far ahead ends the
#        export at once, without a second attempt, one in the past leaves the usual pause.
. "$(dirname "$0")/lib/expect.sh"
needs go

cat >"$tmp/main.go" <<'GO'
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// export sends a span to a collector that answers the first request so, and says what came of it.
func export(first func(http.ResponseWriter, *http.Request)) string {
	var mu sync.Mutex
	var asked []string
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		has := "empty"
		if len(body) > 0 {
			has = "spans"
		}
		if asked = append(asked, r.Method+" "+r.URL.Path+" "+has); len(asked) == 1 {
			first(w, r)
		}
	}))
	defer collector.Close()
	ctx := context.Background()
	e, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(collector.URL+"/v1/traces"))
	if err != nil {
		panic(err)
	}
	p := sdk.NewTracerProvider(sdk.WithBatcher(e))
	_, span := p.Tracer("t").Start(ctx, "s")
	span.End()
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	outcome := "succeeds"
	switch err := p.ForceFlush(ctx); {
	case errors.Is(err, context.DeadlineExceeded):
		outcome = "pauses"
	case err != nil && strings.Contains(err.Error(), "max retry time would elapse"):
		outcome = "gives up"
	case err != nil:
		outcome = "fails"
	}
	mu.Lock()
	defer mu.Unlock()
	return strings.Join(asked, ", ") + ": " + outcome
}

func redirect(code int) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/login", code) }
}

func unavailable(after string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		if after != "" {
			w.Header().Set("Retry-After", after)
		}
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}

func main() {
	fmt.Println(map[string]func() string{
		"307":    func() string { return export(redirect(307)) },
		"302":    func() string { return export(redirect(302)) },
		"none":   func() string { return export(unavailable("")) },
		"past":   func() string { return export(unavailable("Wed, 21 Oct 2015 07:28:00 GMT")) },
		"future": func() string { return export(unavailable("Wed, 21 Oct 2099 07:28:00 GMT")) },
	}[os.Args[1]]())
}
GO
(cd "$tmp" && go mod init finding && go get go.opentelemetry.io/otel/sdk@v1.47.0 \
	go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp@v1.47.0 && go build -o finding .) >"$tmp/log" 2>&1 ||
	skip "the modules can't be had: $(tail -n 1 "$tmp/log")"

expect "a redirect with 307" "POST /v1/traces spans, POST /login spans: succeeds" "$("$tmp/finding" 307)"
expect "a redirect with 302" "POST /v1/traces spans, GET /login empty: succeeds" "$("$tmp/finding" 302)"
expect "503" "POST /v1/traces spans: pauses" "$("$tmp/finding" none)"
expect "503, to be tried again after a date in the past" "POST /v1/traces spans: pauses" "$("$tmp/finding" past)"
expect "503, to be tried again after a date far ahead" "POST /v1/traces spans: gives up" "$("$tmp/finding" future)"
finish
