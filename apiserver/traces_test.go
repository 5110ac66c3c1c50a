package apiserver

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"

	"juju/apiserver/client"
	"juju/apiserver/facades/facadestest"
	"juju/apiserver/params"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/statetest"
	"juju/state/tracing"
	"juju/state/tracing/tracingtest"
)

// newTracedWorld serves a populated model, with traces, and returns the tracer and what it has recorded.
func newTracedWorld(t *testing.T) (*world, trace.Tracer, func() []tracingtest.Span) {
	t.Helper()
	tracer, spans := tracingtest.Record(t)
	c, st := statetest.ControllerOn(t, statetest.Store(t, mongo.Options{Traces: true}), controller.Options{})
	return newWorldOf(t, c, st, func(c *Config) { c.Tracer = tracer }).populate(), tracer, spans
}

// A trace goes from a caller's span through the request, the method and its transaction to the event of who watches what has
// changed.
func TestATraceFromTheCallerToTheWatcher(t *testing.T) {
	t.Parallel()
	w, tracer, spans := newTracedWorld(t)
	seen := &tracing.Causes{}
	events, err := w.uniter(entity.UnitTag("mysql/0")).WatchUnit(tracing.WithCauses(t.Context(), seen), entity.UnitTag("mysql/0"))
	if err != nil {
		t.Fatal(err)
	}
	facadestest.Receive(t, events)
	admin := w.dial(w.adminInfo(w.st.UUID()))
	ctx, command := tracer.Start(t.Context(), "juju set")
	if err := admin.SetServiceConfig(ctx, "mysql", map[string]string{"size": "6"}, ""); err != nil {
		t.Fatal(err)
	}
	command.End()
	go func() { // what has made the model may still be told, before that
		for range events {
		}
	}()
	var cause []trace.SpanContext
	eventually(t, "the event has a cause", func() bool { cause = seen.Take(); return len(cause) > 0 })
	all := spans()
	event, ok := tracingtest.Find(all, "Watcher.Next", "juju.caller=unit-mysql-0", "juju.model=default")
	if !ok || cause[0].SpanID().String() != event.ID {
		t.Fatalf("the event %v is not the cause %v in\n%s", event, cause, tracingtest.Tree(all, command.SpanContext().TraceID().String()))
	}
	want := []string{"transaction", "Application.SetConfigs", "Application.SetConfigs", "juju set"}
	if diff := cmp.Diff(want, tracingtest.Above(all, event)); diff != "" {
		t.Error(diff)
	}
	change, _ := tracingtest.Find(all, "transaction")
	if diff := cmp.Diff(map[string]string{"db.namespace": w.st.UUID(), "juju.outcome": "applied", "juju.attempts": "1"}, change.Attributes); diff != "" {
		t.Error(diff)
	}
}

// The kind of an error is in a span, but not its text, which may have values.
func TestASpanHasTheKindOfAnError(t *testing.T) {
	t.Parallel()
	w, tracer, spans := newTracedWorld(t)
	ctx, command := tracer.Start(t.Context(), "juju unexpose")
	if err := w.dial(w.adminInfo(w.st.UUID())).Unexpose(ctx, "xyzzy"); err == nil {
		t.Fatal("it is accepted")
	}
	command.End()
	for _, one := range spans()[:2] { // the controller's and the client's
		if one.Name != "Application.Unexpose" || !one.Failed || one.Attributes["error.type"] != string(entity.NotFound) {
			t.Errorf("got %+v", one)
		}
		if text := fmt.Sprint(one); strings.Contains(text, "xyzzy") {
			t.Errorf("it has the error's text: %s", text)
		}
	}
}

// A request whose trace is malformed is served without one, or as one that has none.
func TestMalformedTracesAreIgnored(t *testing.T) {
	t.Parallel()
	w, _, spans := newTracedWorld(t)
	const id, span = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	r := w.raw(w.modelPath()).login(entity.UserTag(statetest.Admin), statetest.Password, "")
	for _, header := range []string{
		`"trace-id":7`, `"trace-id":{"a":[1]},"span-id":null`, `"trace-id":"x","span-id":"` + span + `","trace-flags":1`,
		`"trace-id":"` + id + `","span-id":"0000000000000000","trace-flags":1`,
		`"trace-id":"00000000000000000000000000000000","span-id":"` + span + `","trace-flags":1`,
		`"trace-id":"` + id + id + id + `","span-id":"` + span + `","trace-flags":"1"`,
	} {
		before := len(spans())
		reply := w.ask(r, header)
		if err := reply.Err(); err != nil {
			t.Errorf("%s: %v", header, err)
		}
		eventually(t, "the span of the request", func() bool { return len(spans()) > before })
		if one := spans()[before]; one.Parent != "" || one.Trace == id {
			t.Errorf("%s: its span is below %s/%s", header, one.Trace, one.Parent)
		}
	}
	before := len(spans())
	w.ask(r, `"trace-id":"`+id+`","span-id":"`+span+`","trace-flags":1`)
	eventually(t, "the span of the request", func() bool { return len(spans()) > before })
	if one := spans()[before]; one.Parent != span || one.Trace != id {
		t.Errorf("its span is below %s/%s", one.Trace, one.Parent)
	}
}

// ask sends a request with more fields in its header.
func (w *world) ask(r *rawConn, header string) params.Response {
	w.Helper()
	r.id++
	frame := fmt.Sprintf(`{"request-id":%d,"type":"Client","version":7,"request":"FullStatus","params":{},%s}`, r.id, header)
	if !json.Valid([]byte(frame)) {
		w.Fatal(frame)
	}
	if err := r.ws.WriteMessage(1, []byte(frame)); err != nil {
		w.Fatal(err)
	}
	return r.read()
}

// Without a tracer nothing of a caller's trace is passed on. Agents begin none of their own.
func TestNoTraces(t *testing.T) {
	t.Parallel()
	tracer, spans := tracingtest.Record(t)
	w := newWorld(t).populate()
	seen := &tracing.Causes{}
	events, err := w.uniter(entity.UnitTag("mysql/0")).WatchUnit(tracing.WithCauses(t.Context(), seen), entity.UnitTag("mysql/0"))
	if err != nil {
		t.Fatal(err)
	}
	facadestest.Receive(t, events)
	ctx, command := tracer.Start(t.Context(), "juju set")
	if err := w.dial(w.adminInfo(w.st.UUID())).SetServiceConfig(ctx, "mysql", map[string]string{"size": "6"}, ""); err != nil {
		t.Fatal(err)
	}
	command.End()
	facadestest.Receive(t, events)
	if cause := seen.Take(); len(cause) > 0 || len(spans()) != 2 { // the command's and its request's
		t.Errorf("cause %v, spans %v", cause, spans())
	}
	traced, _, spans := newTracedWorld(t)
	before := len(spans())
	if _, err := (client.UniterFacade{Caller: traced.dial(traced.info(entity.UnitTag("mysql/0")))}).Unit(t.Context(), entity.UnitTag("mysql/0")); err != nil {
		t.Fatal(err)
	}
	if got := spans()[before:]; len(got) > 0 {
		t.Errorf("an agent began %v", got)
	}
}
