// Package tracing passes OpenTelemetry's spans from what causes something to what comes of it: in a context, in the
// environment of a process, and from the transaction that made a change to who watches it.
//
// Spans begin below the one in a context, with the provider of that one. So only what begins traces has a trace.Tracer: a
// command of juju, the API server and the uniter. Without one, no context has a span, and everything here does nothing.
// Package tracing/export makes the tracers.
package tracing
