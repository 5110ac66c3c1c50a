package apiserver

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"juju/apiserver/client"
	"juju/apiserver/facades"
	"juju/apiserver/facades/facadestest"
	"juju/apiserver/params"
	"juju/doc/tools/verify"
	"juju/state/entity"
	"juju/state/statetest"
)

// with adds routes for a test, for users at the model. They change nothing.
func (w *world) with(methods map[string]facades.Handler) { w.withEffect(facades.Reads, methods) }

func (w *world) withEffect(effect facades.Effect, methods map[string]facades.Handler) {
	all := routes()
	for name, h := range methods {
		all = append(all, facades.Route{"Test", 1, name, facades.AtModel, facades.Reader, effect, facades.AnyLogin, nil, h})
	}
	w.server.table = facades.NewTable(all)
}

func (w *world) admin() *rawConn {
	w.Helper()
	return w.raw(w.modelPath()).login(entity.UserTag(statetest.Admin), statetest.Password, "")
}

func limited(change func(*Limits)) func(*Config) {
	return func(c *Config) {
		c.Limits = DefaultLimits()
		change(&c.Limits)
	}
}

// A client that does not use TLS is refused. A client that trusts another CA refuses the server.
func TestOnlyTLS(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	nc, err := net.Dial("tcp", w.address)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	fmt.Fprintf(nc, "GET /api HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n")
	response, err := http.ReadResponse(bufio.NewReader(nc), nil)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusBadRequest {
		t.Errorf("plain HTTP is answered with %s", response.Status)
	}
	if _, err := io.ReadAll(nc); err != nil {
		t.Errorf("the plain connection does not end: %v", err)
	}
	if _, _, err := websocket.DefaultDialer.Dial("ws://"+w.address+"/api", nil); err == nil {
		t.Error("a plain websocket is accepted")
	}
	other, err := NewCA(w.controller.UUID(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	info := w.adminInfo("")
	info.CACert = other.Cert
	if _, err := client.Dial(t.Context(), info); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a client of another controller: %v", err)
	}
	old := &tls.Config{RootCAs: clientTLS().RootCAs, MaxVersion: tls.VersionTLS11}
	if c, err := tls.Dial("tcp", w.address, old); err == nil {
		c.Close()
		t.Error("TLS 1.1 is accepted")
	}
}

// A reply says what went wrong, unless that is internal. A method that panics harms no other
// request.
func TestErrorsOnTheWire(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.with(map[string]facades.Handler{
		"Panic":    facades.Act(func(context.Context, *facades.Caller, facades.None) error { panic("hunter2") }),
		"Internal": facades.Act(func(context.Context, *facades.Caller, facades.None) error { return errors.New("mongo: hunter2") }),
		"Full": facades.Act(func(context.Context, *facades.Caller, facades.None) error {
			return fmt.Errorf("cannot run a transaction: write 000004.log: %w", syscall.ENOSPC)
		}),
		"Hint": facades.Act(func(context.Context, *facades.Caller, facades.None) error {
			return entity.WithHint(entity.Errorf(entity.InUse, "machine 0 is busy"), "run 'juju status'")
		}),
		"Slow": facades.Act(func(ctx context.Context, _ *facades.Caller, _ facades.None) error { return context.DeadlineExceeded }),
	})
	r := w.admin()
	for method, want := range map[string]params.Error{
		"Panic":    {Message: params.Internal},
		"Internal": {Message: params.Internal},
		"Full": {Message: "the controller's disk is full", Code: string(entity.Unavailable),
			Info: map[string]any{"hint": "Free space on the controller's disk, and try again"}},
		"Hint":    {Message: "machine 0 is busy", Code: "in use", Info: map[string]any{"hint": "run 'juju status'"}},
		"Slow":    {Message: "the controller took too long; try again", Code: "try again"},
		"Nothing": {Message: "no such request - method Test.Nothing is not implemented", Code: "not implemented"},
	} {
		reply := r.call("Test", 1, method, nil)
		got := params.Error{Message: reply.Error, Code: reply.ErrorCode, Info: reply.ErrorInfo}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %+v, want %+v", method, got, want)
		}
	}
	if err := r.call("Test", 2, "Hint", nil).Err(); !errors.Is(err, entity.NotImplemented) ||
		err.Error() != `unknown version 2 for facade type "Test"` {
		t.Error(err)
	}
	if err := r.call("Tset", 1, "Hint", nil).Err(); !errors.Is(err, entity.NotImplemented) ||
		err.Error() != `unknown facade type "Tset"` {
		t.Error(err)
	}
	if err := r.call("ModelManager", 10, "ListModels", nil).Err(); !errors.Is(err, entity.NotSupported) {
		t.Error(err)
	}
	if err := r.call("Application", 19, "Get", "a string").Err(); !errors.Is(err, entity.Invalid) {
		t.Error(err)
	}
	if err := r.call("Admin", 3, "Login", nil).Err(); !errors.Is(err, entity.Invalid) {
		t.Errorf("a second login: %v", err)
	}
}

// Nothing is sent before the barrier: no reply, no event, no answer to an upload.
func TestNothingLeavesBeforeTheBarrier(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	u0 := entity.UnitTag("mysql/0")
	r := w.raw(w.modelPath()).login(u0, w.passwords[u0], "")
	arrived, pass := make(chan struct{}), make(chan error)
	w.server.barrier = func(ctx context.Context) error {
		select {
		case arrived <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		return <-pass
	}
	about := params.Entity{Tag: params.TagOf(u0)}
	replies := make(chan params.Response)
	read := func() { replies <- r.read() }
	held := func(what string) {
		t.Helper()
		<-arrived
		select {
		case reply := <-replies:
			t.Fatalf("%s was sent before the barrier: %+v", what, reply)
		default:
		}
		pass <- nil
	}

	go read()
	r.send("Uniter", 1, "Unit", "", about)
	held("a reply")
	if reply := <-replies; reply.Err() != nil {
		t.Error(reply.Err())
	}
	go read()
	r.send("Uniter", 1, "Unit", "", params.Entity{Tag: params.TagOf(entity.UnitTag("mysql/1"))})
	held("an error")
	<-replies
	go read()
	r.send("Uniter", 1, "WatchUnit", "", about)
	held("a watcher's id")
	var id params.WatcherID
	if err := json.Unmarshal((<-replies).Response, &id); err != nil {
		t.Fatal(err)
	}
	go read()
	r.send("Watcher", 1, "Next", id.ID, nil)
	held("an event")
	<-replies

	// If the barrier fails, only that error is sent.
	go read()
	r.send("Uniter", 1, "Unit", "", about)
	<-arrived
	pass <- errors.New("the disk is gone")
	if reply := <-replies; reply.Error != params.Internal || string(reply.Response) != "{}" {
		t.Errorf("after a failed barrier: %+v", reply)
	}

	answers := make(chan error)
	go func() {
		req, err := http.NewRequest("POST", "https://"+w.address+"/model/"+w.st.UUID()+"/charms", strings.NewReader("no zip"))
		if err != nil {
			answers <- err
			return
		}
		req.SetBasicAuth("user-admin", statetest.Password)
		hc := &http.Client{Transport: &http.Transport{TLSClientConfig: clientTLS(), DisableKeepAlives: true}}
		response, err := hc.Do(req)
		if err == nil {
			response.Body.Close()
		}
		answers <- err
	}()
	<-arrived
	select {
	case err := <-answers:
		t.Fatalf("an upload was answered before the barrier: %v", err)
	default:
	}
	pass <- nil
	if err := <-answers; err != nil {
		t.Error(err)
	}
	w.server.barrier = w.controller.Barrier
}

// Requests of one connection run concurrently, up to a limit. Others wait in the socket.
func TestConcurrentRequests(t *testing.T) {
	t.Parallel()
	const limit, requests = 4, 40
	w := newWorld(t, limited(func(l *Limits) { l.Requests = limit }))
	var now, peak atomic.Int32
	full, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	w.with(map[string]facades.Handler{"Block": facades.Act(func(ctx context.Context, _ *facades.Caller, _ facades.None) error {
		n := now.Add(1)
		defer now.Add(-1)
		for old := peak.Load(); n > old && !peak.CompareAndSwap(old, n); old = peak.Load() {
		}
		if n == limit {
			once.Do(func() { close(full) })
		}
		<-release
		return nil
	})})
	r := w.admin()
	for range requests {
		r.send("Test", 1, "Block", "", nil)
	}
	<-full
	close(release)
	seen := map[uint64]bool{}
	for range requests {
		reply := r.read()
		if reply.Err() != nil || seen[reply.RequestID] {
			t.Errorf("reply %+v", reply)
		}
		seen[reply.RequestID] = true
	}
	if got := peak.Load(); got != limit {
		t.Errorf("%d requests ran at once, want %d", got, limit)
	}
}

// A frame beyond the limit ends the connection, and so does one that is not a request. Before
// the login the limit is lower.
func TestFramesThatEndTheConnection(t *testing.T) {
	t.Parallel()
	w := newWorld(t, limited(func(l *Limits) { l.Frame, l.LoginFrame = 100_000, 2_000 }))
	long := func(n int) []byte {
		text, _ := json.Marshal(params.Request{RequestID: 5, Type: "Pinger", Version: 1, Request: "Ping",
			Params: json.RawMessage(`"` + strings.Repeat("x", n) + `"`)})
		return text
	}
	for name, test := range map[string]struct {
		loggedIn bool
		kind     int
		frame    []byte
		code     int
	}{
		"a long frame before the login":  {false, websocket.TextMessage, long(5_000), websocket.CloseMessageTooBig},
		"a longer frame after the login": {true, websocket.TextMessage, long(200_000), websocket.CloseMessageTooBig},
		"no JSON": {true, websocket.TextMessage, []byte("GET /"),
			websocket.CloseInvalidFramePayloadData},
		"no object": {true, websocket.TextMessage, []byte("[1]"), websocket.CloseInvalidFramePayloadData},
		"no id": {true, websocket.TextMessage, []byte(`{"type":"Pinger","version":1,"request":"Ping"}`),
			websocket.CloseInvalidFramePayloadData},
		"a negative id":  {true, websocket.TextMessage, []byte(`{"request-id":-1}`), websocket.CloseInvalidFramePayloadData},
		"a binary frame": {true, websocket.BinaryMessage, long(1), websocket.CloseUnsupportedData},
	} {
		r := w.raw(w.modelPath())
		if test.loggedIn {
			r.login(entity.UserTag(statetest.Admin), statetest.Password, "")
			// Too long before the login is not too long after it.
			if err := r.ws.WriteMessage(websocket.TextMessage, long(5_000)); err != nil {
				t.Fatal(err)
			}
			if reply := r.read(); reply.RequestID != 5 || reply.Err() != nil {
				t.Errorf("%s: first %+v", name, reply)
			}
		}
		// The server may close the connection in the middle of a long frame. Then its reason
		// can be lost.
		err := r.ws.WriteMessage(test.kind, test.frame)
		if err != nil && len(test.frame) < 1000 {
			t.Fatal(err)
		}
		if code := r.ended(); code != test.code && (code != 0 || len(test.frame) < 1000) {
			t.Errorf("%s: closed with %d, want %d", name, code, test.code)
		}
	}
}

// A client that sends requests and does not read is given up, and holds up no one.
func TestClientThatDoesNotRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t, limited(func(l *Limits) { l.WriteTime = time.Second }))
	gone := make(chan struct{})
	end := sync.OnceFunc(func() { close(gone) })
	big := strings.Repeat("x", 1<<20)
	w.with(map[string]facades.Handler{"Big": facades.Do(func(ctx context.Context, c *facades.Caller, _ facades.None) (string, error) {
		context.AfterFunc(c.Request.(*request).ctx, end)
		return big, nil
	})})
	r := w.rawMemory(w.modelPath()).login(entity.UserTag(statetest.Admin), statetest.Password, "")
	for range 4 {
		r.send("Test", 1, "Big", "", nil)
	}
	other := w.admin()
	if err := other.call("Pinger", 1, "Ping", nil).Err(); err != nil {
		t.Error(err)
	}
	closes(t, gone)
	if err := other.call("Pinger", 1, "Ping", nil).Err(); err != nil {
		t.Error(err)
	}
}

// FuzzFrames: whatever a client sends, the server answers or ends the connection, and
// continues to serve others.
func FuzzFrames(f *testing.F) {
	for _, seed := range []string{
		`{"request-id":1,"type":"Uniter","version":1,"request":"Unit","params":{"tag":"unit-mysql-0"}}`,
		`{"request-id":1,"type":"Uniter","version":1,"request":"Unit","params":[]}`,
		`{"request-id":1,"type":"Uniter","version":1,"request":"CommitHook","params":{"tag":"unit-mysql-0","changes":{"relations":{"x":1}}}}`,
		`{"request-id":1,"type":"Watcher","version":1,"id":"9","request":"Next"}`,
		`{"request-id":1,"type":"Admin","version":3,"request":"Login","params":{"auth-tag":"unit-"}}`,
		`{"request-id":18446744073709551615,"type":"","version":-1}`,
		`{"request-id":1e3}`, `null`, `{}`, ``, "\x00\xff", strings.Repeat("[", 5000),
		`{"request-id":1,"request-id":2,"params":null}`,
	} {
		f.Add([]byte(seed))
	}
	w := newWorld(f).populate()
	f.Fuzz(func(t *testing.T, frame []byte) {
		d := websocket.Dialer{NetDialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return w.server.Dial(ctx)
		}}
		ws, _, err := d.Dial("ws://memory"+w.modelPath(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer ws.Close()
		r := &rawConn{TB: t, ws: ws}
		u0 := entity.UnitTag("mysql/0")
		r.login(u0, w.passwords[u0], "")
		go func() { _ = ws.WriteMessage(websocket.TextMessage, frame) }()
		_ = ws.SetReadDeadline(time.Now().Add(verify.Patience))
		var keys map[string]json.RawMessage
		err = ws.ReadJSON(&keys)
		if ne, ok := err.(net.Error); ok && ne.Timeout() {
			t.Fatalf("%q neither gets a reply nor ends the connection", frame)
		}
		if err != nil {
			return // ended
		}
		_, isError := keys["error"]
		if response := string(keys["response"]); response == "" || isError && response != "{}" || len(keys["request-id"]) == 0 {
			t.Errorf("%q is answered with %s", frame, keys)
		}
	})
}

// Errors about malformed requests use the request's words, not Go's.
func TestMalformedParameters(t *testing.T) {
	w := newWorld(t)
	r := w.raw(w.modelPath()).login(entity.UserTag(statetest.Admin), statetest.Password, "")
	reply := r.call("Application", 19, "AddUnits", json.RawMessage(`{"application": "web", "num-units": "two"}`))
	if want := "cannot read the request: num-units can't be a string"; reply.Error != want ||
		reply.ErrorCode != string(entity.Invalid) {
		t.Errorf("got %q (%s), want %q", reply.Error, reply.ErrorCode, want)
	}
}

// A server that can accept no more connections ends those that it has, and says why.
func TestServeEndsWithItsListener(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server, err := New(t.Context(), w.server.config)
	w.ok(err)
	l := verify.Listen(t, "127.0.0.1:0")
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(t.Context(), l) }()
	conn, err := server.Dial(t.Context()) // so it has begun
	w.ok(err)
	w.ok(l.Close())
	if err := facadestest.Receive(t, ended); err == nil || !strings.HasPrefix(err.Error(), "cannot serve the API: ") {
		t.Errorf("it ends with %v", err)
	}
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("a connection is left")
	}
}

// A server that is told to stop answers what users have it change, unless that takes too long, and begins nothing more.
func TestChangesAreAnsweredBeforeTheServerStops(t *testing.T) {
	t.Parallel()
	for name, patience := range map[string]time.Duration{"soon": time.Hour, "too late": time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, limited(func(l *Limits) { l.StopTime = patience }))
			begun, release := make(chan context.Context, 1), make(chan struct{})
			w.withEffect(facades.Changes, map[string]facades.Handler{
				"Slow": facades.Act(func(ctx context.Context, _ *facades.Caller, _ facades.None) error {
					begun <- ctx
					select {
					case <-release:
						return nil
					case <-ctx.Done():
						return ctx.Err()
					}
				}),
				"More": facades.Act(func(ctx context.Context, _ *facades.Caller, _ facades.None) error { return ctx.Err() })})
			r := w.admin()
			id := r.send("Test", 1, "Slow", "", nil)
			ctx := <-begun
			w.stop(errors.New("told to stop"))
			if patience < time.Hour {
				<-ctx.Done()
				if code := r.ended(); code != websocket.CloseGoingAway {
					t.Errorf("the connection ends with %d", code)
				}
				return
			}
			for w.server.changing.TryRLock() {
				w.server.changing.RUnlock()
				runtime.Gosched()
			}
			r.send("Test", 1, "More", "", nil)
			close(release)
			if reply := r.read(); reply.RequestID != id || reply.Err() != nil {
				t.Errorf("the answer is %+v", reply)
			}
			if code := r.ended(); code != websocket.CloseGoingAway {
				t.Errorf("the connection ends with %d", code)
			}
		})
	}
}
