package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"
	"go.opentelemetry.io/otel/trace"

	"juju/apiserver/params"
	"juju/state/entity"
	"juju/state/tracing"
)

// told replies to a request, of which there may be several.
func (f *fakeServer) told(t *testing.T, ws *websocket.Conn, req params.Request, reply string, span trace.SpanContext) {
	frame, err := params.EncodeSuccess(req.RequestID, json.RawMessage(reply), params.TraceOf(span))
	f.telling.Lock()
	defer f.telling.Unlock()
	if err == nil {
		err = ws.WriteMessage(websocket.TextMessage, frame)
	}
	if err != nil && t.Context().Err() == nil {
		t.Error(err)
	}
}

// A request may take as long as the controller says that it moves. If the controller only says that it is there, the request
// fails after a time, and the connection is lost when it says nothing any more.
func TestSlowRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var pongs atomic.Int32
		f := &fakeServer{pong: func(string) { pongs.Add(1) }}
		// slow answers after some minutes, in each of which it says something.
		slow := func(minutes int, says string) {
			f.answers(func(ws *websocket.Conn, req params.Request) {
				for range minutes {
					time.Sleep(time.Minute)
					if err := ws.WriteControl(websocket.PingMessage, []byte(says), time.Now().Add(time.Second)); err != nil {
						t.Error(err)
					}
				}
				f.told(t, ws, req, `{"result":"web/0"}`, trace.SpanContext{})
			})
		}
		const minutes = 20
		slow(minutes, params.Moving)
		c := f.dial(t)
		if leader, err := c.Leader(t.Context(), "web"); err != nil || leader != "web/0" {
			t.Errorf("a request that moves: %q, %v", leader, err)
		}
		if synctest.Wait(); pongs.Load() != minutes {
			t.Errorf("the client has answered %d pings, want %d", pongs.Load(), minutes)
		}
		slow(minutes, "here")
		begun := time.Now()
		_, err := c.Leader(t.Context(), "web")
		if passed := time.Since(begun); !errors.Is(err, entity.Unavailable) || passed != callTime ||
			!strings.HasPrefix(err.Error(), "the controller did not answer Application.Leader in time: ") {
			t.Errorf("a request that stands still: %v, after %v", err, passed)
		}
		time.Sleep(minutes*time.Minute - callTime) // until the reply, for which nothing waits
		slow(1, "here")
		if leader, err := c.Leader(t.Context(), "web"); err != nil || leader != "web/0" {
			t.Errorf("the next request: %q, %v", leader, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.Leader(ctx, "web"); !errors.Is(err, entity.Unavailable) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a request with a deadline: %v", err)
		}
		over := errors.New("it is over")
		ended, end := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { end(over) })
		if _, err := c.Leader(ended, "web"); err != over {
			t.Errorf("a request whose context ends: %v", err)
		}
		if _, err := c.Leader(ended, "web"); err != over {
			t.Errorf("a request whose context has ended: %v", err)
		}
		f.answers(func(*websocket.Conn, params.Request) {})
		time.Sleep(2 * time.Minute)
		begun = time.Now()
		if _, err := c.Leader(t.Context(), "web"); !errors.Is(err, entity.Unavailable) ||
			!strings.HasPrefix(err.Error(), "the connection to the controller is lost: ") || time.Since(begun) > silence {
			t.Errorf("a controller that says nothing: %v after %v", err, time.Since(begun))
		}
	})
}

// The controller learns that a client ends its connection, and the client why the controller does. What uses the connection
// ends with it.
func TestEndsOfConnections(t *testing.T) {
	t.Parallel()
	codes := make(chan int, 1)
	f := &fakeServer{hang: func(code int) { codes <- code }}
	c := f.dial(t)
	during, cancel := c.During(t.Context())
	defer cancel()
	if err := c.Err(); err != nil || during.Err() != nil {
		t.Errorf("an open connection has ended: %v", err)
	}
	c.Close()
	if code := <-codes; code != websocket.CloseNormalClosure {
		t.Errorf("the controller sees close code %d", code)
	}
	<-during.Done()
	for what, err := range map[string]error{"the connection": c.Err(), "what is done during it": context.Cause(during),
		"a request": c.ReloadSpaces(t.Context())} {
		if err != error(errClosed) {
			t.Errorf("%s ended with %v", what, err)
		}
	}
	for code, want := range map[int]entity.Kind{params.CloseRevoked: entity.Unauthorized, websocket.CloseGoingAway: entity.Unavailable} {
		f := &fakeServer{answer: func(ws *websocket.Conn, _ params.Request) {
			bye := websocket.FormatCloseMessage(code, "bye")
			_ = ws.WriteControl(websocket.CloseMessage, bye, time.Now().Add(time.Minute))
		}}
		err := f.dial(t).ReloadSpaces(t.Context())
		if entity.KindOf(err) != want || (entity.Hint(err) != "") != (want == entity.Unauthorized) {
			t.Errorf("closed with %d: %v (%s)", code, err, entity.Hint(err))
		}
	}
}

// A connection knows what the controller said at the login. The login of an agent says which it is.
func TestLogin(t *testing.T) {
	t.Parallel()
	f := &fakeServer{login: `{"server-version":"3.6.5","release":"1.2","controller-tag":"controller-deadbeef-0bad-400d-8000-4b1d0d06f00d","user-info":{"controller-access":"login"},` +
		`"servers":[[{"value":"10.0.0.1","port":17070}],[{"value":"fd00::1","port":17070}]]}`}
	c := f.dial(t)
	got := fmt.Sprintf("%s %s %s %s %s %s %s", c.ServerVersion(), c.Release(), c.ControllerUUID(), c.ControllerAccess(), c.Tag(), c.Model(), c.Addresses())
	if want := "3.6.5 1.2 deadbeef-0bad-400d-8000-4b1d0d06f00d login user-bob u [10.0.0.1:17070 [fd00::1]:17070]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	f.login = ""
	c = f.dial(t)
	if c.ControllerAccess() != "" || c.Addresses() != nil {
		t.Errorf("an agent has access %q, addresses %q", c.ControllerAccess(), c.Addresses())
	}
}

// spanOf returns a span that is recorded.
func spanOf(id byte) trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{id}, TraceFlags: trace.FlagsSampled})
}

// A watch sends what the controller does, with its causes, and the controller is told when nobody listens any more.
func TestWatches(t *testing.T) { synctest.Test(t, testWatches) }

func testWatches(t *testing.T) {
	next, stopped := make(chan string), make(chan string, 1)
	var id atomic.Int32
	f := &fakeServer{}
	f.answer = func(ws *websocket.Conn, req params.Request) {
		switch req.Request {
		case "Next":
			select {
			case reply := <-next:
				f.told(t, ws, req, reply, spanOf(byte(id.Add(1))))
			case <-t.Context().Done():
			}
		case "Stop":
			stopped <- req.ID
			f.told(t, ws, req, "{}", trace.SpanContext{})
		default:
			f.told(t, ws, req, `{"watcher-id":"7"}`, trace.SpanContext{})
		}
	}
	c := f.dial(t)
	causes := &tracing.Causes{}
	ctx, cancel := context.WithCancel(tracing.WithCauses(t.Context(), causes))
	machines, err := names(ctx, c, "Any", "WatchMachines", nil)
	if err != nil {
		t.Fatal(err)
	}
	for n, reply := range []string{`{"names":["0","1"]}`, `{"names":["2"]}`} {
		next <- reply
		if got := <-machines; fmt.Sprint(got) != []string{"[0 1]", "[2]"}[n] {
			t.Errorf("the event is %q", got)
		}
		synctest.Wait()
		if all := causes.Take(); len(all) != 1 || all[0].SpanID() != spanOf(byte(n+1)).SpanID() {
			t.Errorf("the causes of event %d are %v", n, all)
		}
	}
	cancel()
	if _, open := <-machines; open || <-stopped != "7" {
		t.Errorf("it goes on, or another watch is stopped")
	}
	next <- "{}" // the request that was given up

	ctx, cancel = context.WithCancel(t.Context())
	units, err := relationUnits(ctx, c, "Any", "WatchUnits", nil)
	if err != nil {
		t.Fatal(err)
	}
	next <- `{"relation-units":{"departed":["web/0"]}}`
	if got := <-units; !slices.Equal(got.Departed, []string{"web/0"}) {
		t.Errorf("the event is %+v", got)
	}
	next <- "{}" // nobody takes it
	synctest.Wait()
	cancel()
	if id := <-stopped; id != "7" {
		t.Errorf("watch %q is stopped", id)
	}
	changes, err := c.WatchStatus(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	next <- "{}"
	<-changes
	c.Close()
	if _, open := <-changes; open {
		t.Error("it outlives its connection")
	}
	if _, err := c.WatchStatus(t.Context()); err != error(errClosed) {
		t.Errorf("a watch on a closed connection: %v", err)
	}
}
