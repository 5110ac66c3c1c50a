// Package export sends spans to a collector, by OTLP over HTTP in protobuf. Everything is off unless settings or the environment
// name a collector: then there is no provider, and no goroutine.
//
// A provider queues spans, up to a limit, and sends them in the background. What a collector does not take in time is dropped, so
// one that is slow or away delays nothing; the first failure is logged. The HTTP client is our own, and not OpenTelemetry's
// otlptracehttp, which would add gRPC, 5 MB, to each program.
package export
