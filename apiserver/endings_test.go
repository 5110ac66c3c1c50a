package apiserver

import (
	"errors"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	"juju/apiserver/admission"
	"juju/apiserver/client"
	"juju/apiserver/facades/facadestest"
	"juju/apiserver/params"
	"juju/state/entity"
)

// stream opens a websocket besides the API, such as "/log".
func (w *world) stream(path string, info client.Info) *rawConn {
	w.Helper()
	header := basicAuth(info)
	header.Set(params.NonceHeader, info.Nonce)
	ws, _, err := (&websocket.Dialer{TLSClientConfig: clientTLS()}).DialContext(w.Context(), "wss://"+w.address+"/model/"+
		w.st.UUID()+path, header)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { ws.Close() })
	var hello params.ErrorResult
	if err := ws.ReadJSON(&hello); err != nil {
		w.Fatal(err)
	}
	return &rawConn{TB: w, ws: ws}
}

// A user who changes a password ends all connections and streams that were opened with the old
// one, except the connection that made the change.
func TestPasswordChangeEndsOtherConnections(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	ctx := t.Context()
	w.addUser("bob")
	w.ok(w.controller.GrantModel(ctx, w.st.UUID(), "bob", "write", ""))
	info := w.info(entity.UserTag("bob"))
	others := map[string]*rawConn{
		"model":      w.user("bob", w.modelPath()),
		"controller": w.user("bob", "/api"),
		"debug-log":  w.stream("/log", info),
	}
	bystander := w.dial(w.adminInfo(w.st.UUID()))
	mine := w.user("bob", "/api")
	change := params.EntityPasswords{Changes: []params.EntityPassword{{Tag: params.TagOf(info.Tag), Password: "another"}}}
	for range 2 { // the second with the new one
		if err := mine.call("UserManager", 3, "SetPassword", change).Err(); err != nil {
			t.Fatal(err)
		}
		change.Changes[0].Password = "a third"
	}
	for name, c := range others {
		if code := c.ended(); code != params.CloseRevoked {
			t.Errorf("%s ends with code %d", name, code)
		}
	}
	if err := mine.call("UserManager", 3, "UserInfo", params.UserInfoRequest{}).Err(); err != nil {
		t.Errorf("the connection that changed it: %v", err)
	}
	if _, err := client.Dial(ctx, info); !errors.Is(err, entity.Unauthorized) {
		t.Errorf("a login with the old one: %v", err)
	}
	info.Password = "a third"
	w.dial(info)
	// A change by someone else ends all of the user's connections.
	_, err := w.controller.SetUserPassword(ctx, "bob", "a fourth")
	w.ok(err)
	if code := mine.ended(); code != params.CloseRevoked {
		t.Errorf("it ends with code %d", code)
	}
	if _, err := bystander.Status(ctx); err != nil {
		t.Errorf("a change by someone else: %v", err)
	}
}

// An agent that gets another password, or is removed, loses its connections and its log
// stream. Other agents keep theirs.
func TestRemovedAgentLosesItsConnections(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	ctx := t.Context()
	u0, u1, m1 := entity.UnitTag("mysql/0"), entity.UnitTag("mysql/1"), entity.MachineTag("1")
	type conns struct{ api, sink *rawConn }
	open := func(tag entity.Tag) conns {
		return conns{w.raw(w.modelPath()).login(tag, w.passwords[tag], nonce), w.stream("/logsink", w.info(tag))}
	}
	ended := func(what string, c conns) {
		t.Helper()
		for name, c := range map[string]*rawConn{"api": c.api, "log": c.sink} {
			if code := c.ended(); code != params.CloseRevoked {
				t.Errorf("%s: %s ends with code %d", what, name, code)
			}
		}
	}
	old, removed, machine, other := open(u0), open(u1), open(m1), open(entity.UnitTag("wordpress/0"))
	w.passwords[u0] = w.newPassword(w.st, u0)
	ended("another password", old)
	again := open(u0)

	for _, tag := range []entity.Tag{u1, entity.UnitTag("wordpress/1")} {
		u, err := w.st.Unit(ctx, tag.ID)
		w.ok(err)
		w.ok(u.Destroy(ctx, entity.Destruction{}))
		w.ok(u.EnsureDead(ctx))
		w.ok(u.Remove(ctx))
	}
	ended("a removed unit", removed)
	m, err := w.st.Machine(ctx, m1.ID)
	w.ok(err)
	w.ok(m.Destroy(ctx, entity.Destruction{}))
	w.ok(m.EnsureDead(ctx))
	w.ok(m.Remove(ctx))
	ended("a removed machine", machine)

	for name, c := range map[string]conns{"new": again, "other": other} {
		if err := c.api.call("Pinger", 1, "Ping", nil).Err(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		w.ok(c.sink.ws.WriteJSON(params.LogRecord{Time: time.Now(), Level: "INFO", Message: "here"}))
	}
}

// If an agent's password changes while it logs in, the connection ends.
func TestPasswordChangeDuringLogin(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	u0 := entity.UnitTag("mysql/0")
	first := w.raw(w.modelPath()).login(u0, w.passwords[u0], "") // from now on passwords are watched
	w.dial(w.info(entity.UnitTag("mysql/1")))                    // keeps the watch open
	eventually(t, "no watch begins", func() bool {
		w.server.ending.mu.Lock()
		defer w.server.ending.mu.Unlock()
		m := w.server.ending.models[w.st]
		return m != nil && !m.listed.IsZero()
	})
	id, st, err := w.server.authenticate(t.Context(), w.st.UUID(), credential{u0, w.passwords[u0], "", &admission.Conn{}})
	w.ok(err)
	w.newPassword(w.st, u0)
	first.ended() // so the watch has delivered the event
	over := make(chan error, 1)
	leave := w.server.ending.join(w.server, st, id, func(why error) { over <- why })
	defer leave()
	if why := facadestest.Receive(t, over); why != errRevoked {
		t.Errorf("it ends with %v", why)
	}
}

// An agent's connections end with its password, also those that are left when one of them has closed.
func TestPasswordChangeEndsWhatIsLeft(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	u0 := entity.UnitTag("mysql/0")
	id, st, err := w.server.authenticate(t.Context(), w.st.UUID(), credential{u0, w.passwords[u0], "", &admission.Conn{}})
	w.ok(err)
	over := make(chan error, 1)
	closed := w.server.ending.join(w.server, st, id, func(error) {})
	leave := w.server.ending.join(w.server, st, id, func(why error) { over <- why })
	defer leave()
	closed()
	w.newPassword(w.st, u0)
	if why := facadestest.Receive(t, over); why != errRevoked {
		t.Errorf("it ends with %v", why)
	}
}

// All streams end with the model.
func TestStreamsEndWithTheModel(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	streams := map[string]*rawConn{
		"logsink": w.stream("/logsink", w.info(entity.UnitTag("mysql/0"))),
		"log":     w.stream("/log", w.adminInfo(w.st.UUID())),
	}
	w.controller.Close() // closes the models, as if one were removed
	for _, c := range streams {
		c.ended()
	}
}

// The first event of a watch of passwords may stand for a change after all were read. It
// concerns agents that had logged in by then with the old password. Agents whose login looked
// up a password before the event are checked too.
func TestFirstPasswordEventConcernsAllAgents(t *testing.T) {
	var e endings
	agent := entity.UnitTag("mysql/0")
	read := time.Now()
	here := &tie{agent: agent, since: read.Add(time.Nanosecond)}
	m := &modelTies{listed: read, agents: map[entity.Tag]map[*tie]bool{agent: {here: true}},
		changed: map[entity.Tag]time.Time{}}
	if ties := e.concerned(m, nil); len(ties) != 1 || ties[0] != here {
		t.Errorf("it concerns %v", ties)
	}
	if !here.since.Before(m.listed) {
		t.Error("a login that began before the event would not be checked")
	}
}

// The watch's recent events are kept for agents whose login was in progress, and older ones are forgotten.
func TestRecentPasswordChangesAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e endings
		now := time.Now()
		old, recent, other := entity.UnitTag("mysql/0"), entity.UnitTag("mysql/1"), entity.UnitTag("mysql/2")
		m := &modelTies{changed: map[entity.Tag]time.Time{old: now.Add(-changedKept - 1), recent: now.Add(-changedKept)}}
		if ties := e.concerned(m, []string{other.String(), "nonsense"}); len(ties) > 0 {
			t.Errorf("it concerns %v", ties)
		}
		want := map[entity.Tag]time.Time{recent: now.Add(-changedKept), other: now}
		if !maps.Equal(m.changed, want) {
			t.Errorf("kept are %v, want %v", m.changed, want)
		}
	})
}
