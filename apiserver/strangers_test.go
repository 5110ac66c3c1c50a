package apiserver

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"juju/apiserver/client"
	"juju/apiserver/params"
	"juju/state/entity"
)

// Who has logged in is asked now and then whether he is there, and put out when
// he never answers.
func TestSilence(t *testing.T) {
	t.Parallel()
	w := newWorld(t, limited(func(l *Limits) { l.PingEvery, l.Silence = 50*time.Millisecond, 2*time.Second }))
	friend, talker := w.admin(), w.admin()
	var pings atomic.Int32
	friend.ws.SetPingHandler(func(string) error { pings.Add(1); return nil }) // no pong
	answered := make(chan error)
	go func() { // answers its pings, as all clients do by reading
		var reply params.Response
		answered <- talker.ws.ReadJSON(&reply)
	}()
	friend.ended()
	if pings.Load() == 0 {
		t.Error("the silent one was never asked")
	}
	talker.send("Pinger", 1, "Ping", "", nil)
	if err := receive(t, answered); err != nil {
		t.Errorf("the other was put out too: %v", err)
	}
}

// Who does not log in in time, or guesses too often, is put out; and no more
// strangers than so many are let in.
func TestStrangers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, limited(func(l *Limits) {
		l.LoginTime, l.Logins, l.Strangers = 3*time.Second, 3, 2
	}))
	guesser := w.raw(w.modelPath())
	for range 3 {
		reply := guesser.call("Admin", 3, "Login", params.LoginRequest{AuthTag: params.TagOf(entity.UnitTag("mysql/0")), Credentials: "guess"})
		if !errors.Is(reply.Err(), entity.Unauthorized) {
			t.Fatal(reply.Err())
		}
	}
	guesser.ended()
	room := func() bool { return w.server.strangers.Load() == 0 }
	eventually(t, "the guesser still takes up room", room)
	one, two := w.raw(w.modelPath()), w.raw(w.modelPath())
	if _, err := client.Dial(t.Context(), w.adminInfo("")); !errors.Is(err, entity.Unavailable) {
		t.Errorf("the third stranger: %v", err)
	}
	for _, r := range []*rawConn{one, two} {
		if code := r.ended(); code != websocket.ClosePolicyViolation {
			t.Errorf("a stranger is put out with %d", code)
		}
	}
	eventually(t, "strangers still take up room", room)
	w.raw(w.modelPath())
}

// When too many agents log in at once the others are told to try again; users
// wait, and are not held up by agents.
func TestLoginsAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, limited(func(l *Limits) { l.AgentLogins, l.AgentWait = 1, 10*time.Millisecond })).populate()
	release, err := w.server.agentLogins.take(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Dial(t.Context(), w.info(entity.UnitTag("mysql/0"))); !errors.Is(err, entity.Unavailable) || err.Error() != "try again" {
		t.Errorf("an agent in the rush: %v", err)
	}
	w.dial(w.adminInfo(w.st.UUID()))
	release()
	w.dial(w.info(entity.UnitTag("mysql/0")))
}
