package apiserver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"juju/apiserver/admission"
	"juju/apiserver/client"
	"juju/apiserver/facades/facadestest"
	"juju/apiserver/params"
	"juju/doc/tools/verify"
	"juju/state/entity"
	"juju/state/statetest"
)

// Clients that have logged in are pinged, and their connections end if they never answer.
func TestSilence(t *testing.T) {
	t.Parallel()
	w := newWorld(t, limited(func(l *Limits) { l.PingEvery, l.Silence = 50*time.Millisecond, 10*time.Second }))
	friend, talker := w.admin(), w.admin()
	var pings atomic.Int32
	friend.ws.SetPingHandler(func(string) error { pings.Add(1); return nil }) // no pong
	answered := make(chan error)
	go func() { // answers pings, as reading clients do
		var reply params.Response
		answered <- talker.ws.ReadJSON(&reply)
	}()
	friend.ended()
	if pings.Load() == 0 {
		t.Error("the silent client was never pinged")
	}
	talker.send("Pinger", 1, "Ping", "", nil)
	if err := facadestest.Receive(t, answered); err != nil {
		t.Errorf("the other connection has ended too: %v", err)
	}
}

// A client that does not log in in time, or has too many failed logins, loses its connection.
func TestStrangers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, limited(func(l *Limits) { l.Logins = 3 }))
	guesser := w.raw(w.modelPath())
	for range 3 {
		reply := guesser.call("Admin", 3, "Login",
			params.LoginRequest{AuthTag: params.TagOf(entity.UnitTag("mysql/0")), Credentials: "guess"})
		if !errors.Is(reply.Err(), entity.Unauthorized) {
			t.Fatal(reply.Err())
		}
	}
	guesser.ended()
	eventually(t, "a stranger still takes up room", func() bool { return w.server.limiter.Count() == 0 })
	w = newWorld(t, limited(func(l *Limits) { l.LoginTime = time.Second }))
	silent := w.raw(w.modelPath())
	if code := silent.ended(); code != websocket.ClosePolicyViolation {
		t.Errorf("a stranger's connection ends with code %d", code)
	}
	eventually(t, "a silent stranger still takes up room", func() bool { return w.server.limiter.Count() == 0 })
}

// Half a body of a stranger's request keeps no connection open, whatever the path. Whoever has logged in has the time of an upload.
func TestHalfABodyOfAStranger(t *testing.T) {
	t.Parallel()
	w := newWorld(t, limited(func(l *Limits) { l.LoginTime = time.Nanosecond }))
	for _, request := range []string{
		"POST /dashboard/login", "POST /dashboard/logout", "POST /dashboard/admin/default/command", "POST /dashboard/none",
		"POST /model/" + w.st.UUID() + "/charms", "PUT /model-" + w.st.UUID() + "/charms/x", "GET /healthz", "GET /v1/status", "DELETE /none",
	} {
		conn, err := tls.Dial("tcp", w.address, clientTLS())
		w.ok(err)
		defer conn.Close()
		_, err = fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: controller\r\nContent-Type: application/x-www-form-urlencoded\r\n"+
			"Content-Length: 4000\r\n\r\ncode=", request)
		w.ok(err)
		w.ok(conn.SetReadDeadline(time.Now().Add(verify.Patience)))
		if _, err := io.ReadAll(conn); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s keeps its connection", request)
		}
	}
	eventually(t, "the strangers still take up room", func() bool { return w.server.limiter.Count() == 0 })
	body, rest := io.Pipe()
	go func() {
		archive := archiveBytes(t)
		_, _ = rest.Write(archive[:len(archive)/2])
		eventually(t, "the upload has begun", func() bool { _, _, n := w.server.uploads.begun.Take(entity.Tag{}, 0, 0); return n == 1 })
		_, _ = rest.Write(archive[len(archive)/2:])
		rest.Close()
	}()
	if response, _, err := w.post(t.Context(), statetest.Admin, body); err != nil || response.StatusCode != http.StatusOK {
		t.Errorf("an upload: %v, %v", response, err)
	}
}

// More idle strangers than the limit keep neither users nor agents out: the oldest of them
// lose their connections.
func TestIdleStrangersKeepNoOneOut(t *testing.T) {
	t.Parallel()
	limit := 100
	if os.Getenv("JUJU_SOAK") != "" {
		limit = 4096
	}
	w := newWorld(t, limited(func(l *Limits) { l.Unauthenticated, l.LoginTime = limit, 10*time.Minute })).populate()
	inside := w.dial(w.adminInfo(w.st.UUID()))
	var first []*rawConn
	for i := range limit + limit/2 {
		c := w.raw(w.modelPath())
		if i < limit/2 {
			first = append(first, c)
		}
	}
	for _, c := range first {
		if code := c.ended(); code != websocket.CloseTryAgainLater {
			t.Errorf("a stranger's connection ends with code %d", code)
		}
	}
	for range limit / 2 { // the same without TLS
		c, err := net.Dial("tcp", w.address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	w.dial(w.adminInfo(""))
	w.dial(w.info(entity.UnitTag("mysql/0")))
	w.stream("/logsink", w.info(entity.UnitTag("mysql/1")))
	if _, err := inside.Status(t.Context()); err != nil {
		t.Errorf("a connection after its login: %v", err)
	}
	if n := w.server.Load().Connections["unauthenticated"]; n == 0 || n > limit {
		t.Errorf("%d strangers are connected", n)
	}
}

// gatedTurns are turns that do not begin until they may pass.
type gatedTurns struct {
	hashing
	pass  chan struct{}
	first chan struct{} // the first turn has come
}

func (g *gatedTurns) Take(ctx context.Context, wait time.Duration, t admission.Turn) (func(), error) {
	release, err := g.hashing.Take(ctx, wait, t)
	if err != nil {
		return nil, err
	}
	select {
	case g.first <- struct{}{}:
	default:
	}
	select {
	case <-g.pass:
		return release, nil
	case <-ctx.Done():
		release()
		return nil, context.Cause(ctx)
	}
}

// Three hundred clients that guess passwords do not make others wait for three hundred hashes.
// A first login has the next turn, whatever names they guess at. A user who has logged in
// before needs no turn. Agents never wait for users' hashes.
func TestGuessesDelayNoOne(t *testing.T) {
	t.Parallel()
	const crowd = 300
	w := newWorld(t, limited(func(l *Limits) {
		l.UserLogins, l.UserWait, l.RequestTime = 1, 10*time.Minute,
			10*time.Minute
	})).populate()
	w.addUser("bob")
	w.addUser("eve")
	q := &gatedTurns{hashing: w.server.hashing, pass: make(chan struct{}), first: make(chan struct{}, 1)}
	w.server.hashing = q
	send := func(user, password string) *rawConn {
		c := w.raw("/api")
		c.send("Admin", 3, "Login", "",
			params.LoginRequest{AuthTag: params.TagOf(entity.UserTag(user)), Credentials: password})
		return c
	}
	wait := func(n int) {
		t.Helper()
		eventually(t, "they don't wait", func() bool { return q.Waiting() == n })
	}
	send("nobody", "guess")
	facadestest.Receive(t, q.first) // it has the only turn
	for i := range crowd {
		send([]string{"bob", "eve", "nobody" + strconv.Itoa(i)}[i%3], "guess")
		if i >= crowd-3 { // the last come in order, so that bob and eve have had no turn when they come themselves
			wait(i + 1)
		}
	}
	for i, user := range []string{"bob", "eve"} {
		c := send(user, w.passwords[entity.UserTag(user)])
		wait(crowd + 1 - i)
		q.pass <- struct{}{} // who has the turn
		q.pass <- struct{}{} // who has the next one
		if err := c.read().Err(); err != nil {
			t.Errorf("%s: %v", user, err)
		}
		wait(crowd - 1 - i)
		// The same again, and by HTTP, without a turn.
		w.user(user, "/api")
		if user == "bob" {
			w.ok(w.controller.GrantModel(t.Context(), w.st.UUID(), "bob", "read", ""))
			w.stream("/log", w.info(entity.UserTag("bob")))
		}
	}
	w.dial(w.info(entity.UnitTag("mysql/0")))
}

// One user, or one agent, can have a limited number of connections, whatever others have.
func TestLimitOfConnections(t *testing.T) {
	t.Parallel()
	w := newWorld(t, limited(func(l *Limits) { l.UserConns, l.AgentConns = 2, 3 })).populate()
	one := w.dial(w.adminInfo(""))
	w.dial(w.adminInfo(w.st.UUID()))
	_, err := client.Dial(t.Context(), w.adminInfo(""))
	if !errors.Is(err, entity.Unavailable) || !strings.HasPrefix(err.Error(), "user-admin has 2 connections") {
		t.Errorf("one too many: %v", err)
	}
	u0 := w.info(entity.UnitTag("mysql/0"))
	for range 5 { // requests that are over don't count
		code, text := w.request("GET", "/charms?url=local:none-1", u0.Tag.String(), u0.Password, "")
		if code != http.StatusNotFound || !strings.Contains(text, "none") {
			t.Errorf("a request: %d %s", code, text)
		}
	}
	w.dial(u0)
	w.stream("/logsink", u0)
	log := w.stream("/logsink", u0)
	if _, err := client.Dial(t.Context(), u0); !errors.Is(err, entity.Unavailable) {
		t.Errorf("an agent: %v", err)
	}
	log.ws.Close()
	eventually(t, "a log that has ended is still counted", func() bool {
		c, err := client.Dial(t.Context(), u0)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	w.dial(w.info(entity.UnitTag("mysql/1")))
	for range 5 {
		w.dial(w.managerInfo(w.st.UUID()))
	}
	one.Close()
	eventually(t, "one that has closed is still counted", func() bool {
		c, err := client.Dial(t.Context(), w.adminInfo(""))
		if err == nil {
			c.Close()
		}
		return err == nil
	})
}

// Names of strangers are cut in the log, and clients that never log in have a limited number
// of requests.
func TestLongNameOfAStranger(t *testing.T) {
	t.Parallel()
	w := newWorld(t, limited(func(l *Limits) { l.LoginTime = time.Hour }))
	lines := make(chan string, 10)
	w.server.failures.Log = func(line string) { lines <- line }
	c := w.raw("/api")
	login := func(name string) {
		c.call("Admin", 3, "Login", map[string]string{"auth-tag": name, "credentials": "guess"})
	}
	login("user-" + strings.Repeat("x", 200))
	if line := facadestest.Receive(t, lines); len(line) > 220 ||
		!strings.Contains(line, " cannot log in: invalid entity name or password") {
		t.Errorf("logged: %q", line)
	}
	for i := range requestsPerLogin*w.server.limits.Logins - 1 { // no tags, so no login attempts
		login([]string{"user-a\nINFO bob logged in", "user-" + strings.Repeat("x", 15_000)}[i%2])
	}
	if len(lines) > 0 {
		t.Errorf("logged: %q", <-lines)
	}
	c.ended()
}

// When too many agents log in at the same time, some are told to try again. Users wait, and
// agents do not hold them up.
func TestConcurrentLogins(t *testing.T) {
	t.Parallel()
	w := newWorld(t, limited(func(l *Limits) { l.AgentLogins, l.AgentWait = 1, 10*time.Millisecond })).populate()
	release, err := w.server.agentLogins.Take(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Dial(t.Context(), w.info(entity.UnitTag("mysql/0"))); !errors.Is(err, entity.Unavailable) ||
		err.Error() != "try again" {
		t.Errorf("an agent in the rush: %v", err)
	}
	w.dial(w.adminInfo(w.st.UUID()))
	release()
	w.dial(w.info(entity.UnitTag("mysql/0")))
}
