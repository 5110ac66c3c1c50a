package apiserver

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"juju/apiserver/admission"
	"juju/apiserver/deltas"
	"juju/apiserver/params"
	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/statetest"
)

// An events is a stream of server-sent events that a program reads.
type events struct {
	*program
	lines *bufio.Scanner
	close func() error
	id    string // of the last event that had one
}

// An anEvent is one of them.
type anEvent struct {
	id, name, data string
	comment        bool
}

// follow opens a stream.
func (p *program) follow(path, token string, headers ...string) *events {
	p.Helper()
	reply := p.ask(path, token, headers...)
	if reply.StatusCode != http.StatusOK || reply.Header.Get("Content-Type") != "text/event-stream" || reply.Header.Get("Cache-Control") != "no-store" {
		p.Fatalf("%s: %s %v", path, reply.Status, reply.Header)
	}
	p.described.CheckReply(p, reply, []byte{})
	e := &events{program: p, lines: bufio.NewScanner(reply.Body), close: reply.Body.Close}
	e.lines.Buffer(nil, 1<<20)
	if e.lines.Scan(); e.lines.Text() != "retry: "+retryAfter {
		p.Fatalf("it begins with %q", e.lines.Text())
	}
	e.lines.Scan()
	return e
}

// next reads an event, false at the end of the stream.
func (e *events) next() (one anEvent, ok bool) {
	e.Helper()
	for e.lines.Scan() {
		key, value, _ := strings.Cut(e.lines.Text(), ": ")
		switch key {
		case "id":
			one.id, e.id = value, value
		case "event":
			one.name = value
		case "data":
			one.data = value
		case ":":
			one.comment = true
		case "":
			return one, true
		default:
			e.Fatalf("a line is %q", e.lines.Text())
		}
	}
	return one, false
}

// news reads the next event that is no comment, which must have that name, and returns its deltas in a few words.
func (e *events) news(name string) (words []string) {
	e.Helper()
	for {
		one, ok := e.next()
		if ok && one.comment {
			continue
		}
		if !ok || one.name != name || one.id == "" {
			e.Fatalf("there is %+v, want %s", one, name)
		}
		e.described.Check(e, "Deltas", []byte(one.data))
		var all []params.Delta
		e.ok(json.Unmarshal([]byte(one.data), &all))
		for _, d := range all {
			var what struct {
				Name string
				ID   any
			}
			e.ok(json.Unmarshal(d.Data, &what))
			word := fmt.Sprint(d.Kind, " ", cmp.Or[any](what.ID, what.Name))
			if d.Removed {
				word = "-" + word
			}
			words = append(words, word)
		}
		return words
	}
}

// until reads events of that name until one has a word.
func (e *events) until(name, word string) {
	e.Helper()
	for {
		for _, w := range e.news(name) {
			if w == word {
				return
			}
		}
	}
}

// ends reads the rest of the stream, which must say why it ends.
func (e *events) ends(want string) {
	e.Helper()
	for {
		one, ok := e.next()
		switch {
		case !ok:
			e.Fatalf("the stream does not say why it ends: %v", e.lines.Err())
		case one.name == "end":
			e.described.Check(e, "Error", []byte(one.data))
			var why params.CharmsResponse
			if err := json.Unmarshal([]byte(one.data), &why); err != nil || why.Error != want {
				e.Errorf("the stream ends with %s, want %q", one.data, want)
			}
			if one, more := e.next(); more || e.lines.Err() != nil {
				e.Errorf("after its end there is %+v, %v", one, e.lines.Err())
			}
			return
		}
	}
}

// A program gets everything, then each change. When it has lost the connection, it resumes after the last event, and is
// told of what was removed meanwhile. With an id that is unknown it begins anew.
func TestEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t, limited(func(l *Limits) { l.PingEvery = 20 * time.Millisecond })).populate()
	ctx, p, token := t.Context(), w.program(), w.token(statetest.Admin, "t")
	s := p.follow("/v1/events", token)
	first := s.news("whole")
	for _, want := range []string{"model default", "application mysql", "unit wordpress/1", "machine 3"} {
		if !strings.Contains(fmt.Sprint(first), want) {
			t.Errorf("%s is not in %v", want, first)
		}
	}
	for beat := false; !beat; {
		one, ok := s.next()
		if beat = one.comment; !ok || one.name != "" {
			t.Fatalf("while nothing changes there is %+v", one)
		}
	}
	m, err := w.st.AddMachine(ctx, state.AddMachineParams{})
	w.ok(err)
	s.until("delta", "machine "+m.ID())

	w.ok(s.close())
	w.ok(m.Destroy(ctx, entity.Destruction{}))
	later, err := w.st.AddMachine(ctx, state.AddMachineParams{})
	w.ok(err)
	for how, s := range map[string]*events{
		"since":  p.follow("/v1/events?since="+s.id, token),
		"header": p.follow("/v1/events?since=old", token, "Last-Event-ID", s.id),
	} {
		told := map[string]bool{}
		for !told["machine "+later.ID()] || !told["-machine "+m.ID()] {
			for _, word := range s.news("delta") {
				told[word] = true
			}
		}
		if told["application mysql"] {
			t.Errorf("%s: it resumes with what it knew: %v", how, told)
		}
	}
	anew := p.follow("/v1/events?since=x-1", token).news("whole")
	if len(anew) != len(first)+1 {
		t.Errorf("anew there is %v, first there was %v", anew, first)
	}

	head, err := http.NewRequestWithContext(ctx, http.MethodHead, "https://"+w.address+"/v1/events", nil)
	w.ok(err)
	head.Header.Set("Authorization", "Bearer "+token)
	reply, err := p.Do(head)
	w.ok(err)
	reply.Body.Close()
	if reply.StatusCode != http.StatusOK {
		t.Errorf("HEAD: %s", reply.Status)
	}
}

// A stream ends with its token, with the rights of the token's user, with the model and with the server, and says why. Those
// of others go on.
func TestEndsOfEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	ctx, p := t.Context(), w.program()
	w.addUser("bob")
	w.ok(w.controller.GrantModel(ctx, w.st.UUID(), "bob", controller.AccessRead, ""))
	open := func(user, name string) *events {
		t.Helper()
		s := p.follow("/v1/events", w.token(user, name))
		s.news("whole")
		return s
	}
	stays, revoked := open(statetest.Admin, "stays"), open(statetest.Admin, "revoked")
	w.ok(w.controller.RevokeToken(ctx, statetest.Admin, "revoked"))
	revoked.ends(errNoToken.Error())

	for _, loss := range []struct {
		of           string
		lose, regain func() error
	}{
		{"access", func() error { return w.controller.RevokeModel(ctx, w.st.UUID(), "bob", controller.AccessRead) },
			func() error { return w.controller.GrantModel(ctx, w.st.UUID(), "bob", controller.AccessRead, "") }},
		{"login", func() error { return w.controller.DisableUser(ctx, "bob") },
			func() error { return w.controller.EnableUser(ctx, "bob") }},
		{"all", func() error { return w.controller.RemoveUser(ctx, "bob") }, func() error { return nil }},
	} {
		s := open("bob", loss.of)
		w.ok(loss.lose())
		s.ends(errNoToken.Error())
		w.ok(loss.regain())
	}

	_, err := w.st.AddMachine(ctx, state.AddMachineParams{})
	w.ok(err)
	stays.until("delta", "machine 4")
	w.end()
	if one, more := stays.next(); more && one.name != "end" {
		t.Errorf("when the server stops there is %+v", one)
	}
}

// A stream ends when its token expires.
func TestEventsEndWhenTheTokenExpires(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	text, token, err := w.controller.CreateToken(t.Context(), statetest.Admin, "t", w.st.UUID(), time.Hour)
	w.ok(err)
	w.server.config.now = func() time.Time { return token.Expires.Add(-time.Millisecond) }
	w.program().follow("/v1/events", text).ends(errExpired.Error())
}

// A stream ends with its model.
func TestEventsEndWithTheModel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.program().follow("/v1/events", w.token(statetest.Admin, "t"))
	s.news("whole")
	w.ok(w.st.Destroy(t.Context(), entity.Destruction{}))
	w.ok(w.st.EnsureDead(t.Context()))
	w.ok(w.controller.RemoveModel(t.Context(), w.st.UUID()))
	for {
		one, ok := s.next()
		if !ok || one.name == "end" {
			if !strings.Contains(one.data, errNoModel.Error()) && !strings.Contains(one.data, errNoToken.Error()) {
				t.Errorf("the stream ends with %+v", one)
			}
			return
		}
	}
}

// A stream that can't read what has changed says why it ends: the read may fail before it is told that the model has ended.
func TestEventsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ends := func() string {
		ctx, end := context.WithCancelCause(t.Context())
		defer end(nil)
		reply := httptest.NewRecorder()
		e := &eventStream{&sse{w.server, reply, http.NewResponseController(reply), ctx, end}, &viewer{visitor: &visitor{model: w.st}}}
		takes, cannot := make(chan deltas.Take, 1), errors.New("no")
		takes <- func() (deltas.News, error) { return deltas.News{}, cannot }
		if err := e.follow(takes); !errors.Is(err, cannot) {
			t.Errorf("it ended with %v", err)
		}
		return reply.Body.String()
	}
	if got := ends(); !strings.HasPrefix(got, "event: end\n") || !strings.Contains(got, errBehind.Error()) {
		t.Errorf("a stream of a model ends with %q", got)
	}
	w.ok(w.st.Destroy(t.Context(), entity.Destruction{}))
	w.ok(w.st.EnsureDead(t.Context()))
	w.ok(w.controller.RemoveModel(t.Context(), w.st.UUID()))
	if got := ends(); !strings.HasPrefix(got, "event: end\n") || !strings.Contains(got, errNoModel.Error()) {
		t.Errorf("a stream of a model that has ended ends with %q", got)
	}
}

// A stream counts as a connection and as a watch of its user, until it has ended.
func TestEventsAreCounted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, limited(func(l *Limits) { l.MemberWatches = 2 }))
	p, token := w.program(), w.token(statetest.Admin, "t")
	first := p.follow("/v1/events", token)
	p.follow("/v1/events", token)
	_, reply := p.get(503, "/v1/events", token)
	if reply.Header.Get("Retry-After") == "" {
		t.Error("it does not say when to try again")
	}
	p.get(200, "/v1/status", token)
	w.ok(first.close())
	eventually(t, "a stream that has ended is counted", func() bool {
		reply := p.ask("/v1/events", token)
		defer reply.Body.Close()
		return reply.StatusCode == http.StatusOK
	})
	w = newWorld(t, limited(func(l *Limits) { l.UserConns = 1 }))
	p, token = w.program(), w.token(statetest.Admin, "t")
	p.follow("/v1/events", token)
	p.refused(503, "cannot read the status: user-admin has 1 connections to the controller, which is the limit", "/v1/status", token)
}

// A program that does not read its events loses its connection, and holds no memory.
func TestASlowReaderOfEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t, limited(func(l *Limits) { l.WriteTime = 100 * time.Millisecond }))
	ctx, p := t.Context(), w.program()
	p.Transport.(*http.Transport).DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err == nil {
			err = conn.(*net.TCPConn).SetReadBuffer(4 << 10) // so that the kernel keeps little
		}
		return conn, err
	}
	p.ask("/v1/events", w.token(statetest.Admin, "t"))
	m, err := w.st.AddMachine(ctx, state.AddMachineParams{})
	w.ok(err)
	events := 0
	eventually(t, "the stream goes on", func() bool {
		for range 100 {
			events++
			w.ok(m.SetStatus(ctx, entity.Status{Status: entity.StatusStarted, Message: fmt.Sprint(events, strings.Repeat("x", 15_000))}))
		}
		return w.server.members.Connections() == [admission.Kinds]int{}
	})
	if n := w.server.budget.Used(); n != 0 {
		t.Errorf("%d bytes are held", n)
	}
}
