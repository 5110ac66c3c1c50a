package controller_test

import (
	"testing"
	"time"

	mgo "gopkg.in/mgo.v2"

	"juju/doc/tools/verify"
	"juju/state/controller"
	"juju/state/entity"
)

// A session begins with a log-in that works once, and ends when someone ends it.
func TestSessionBeginsWithALogin(t *testing.T) {
	w := newWorld(t)
	w.addUser("Bob")
	login, expires, err := w.ctrl.CreateLogin(w.ctx, "bob")
	w.ok(err)
	if left := time.Until(expires); left <= 0 || left > controller.LoginAge {
		t.Errorf("the log-in expires after %v", left)
	}
	_, err = w.ctrl.CheckSession(w.ctx, login)
	w.refused(err, entity.Unauthorized, "the session has ended")
	text, session, err := w.ctrl.BeginSession(w.ctx, login)
	w.ok(err)
	if session.User != "Bob" || !controller.IsSession(text) || controller.IsSession(login) {
		t.Errorf("the session is %+v", session)
	}
	_, _, err = w.ctrl.BeginSession(w.ctx, login)
	w.refused(err, entity.Unauthorized, "this log-in has been used, or has expired")
	_, _, err = w.ctrl.BeginSession(w.ctx, text)
	w.refused(err, entity.Unauthorized, "this log-in has been used, or has expired")
	got, err := w.ctrl.CheckSession(w.ctx, text)
	if w.ok(err); got != session {
		t.Errorf("the session is %+v, want %+v", got, session)
	}
	w.ok(w.ctrl.EndSession(w.ctx, session.ID))
	w.ok(w.ctrl.EndSession(w.ctx, session.ID))
	_, err = w.ctrl.CheckSession(w.ctx, text)
	w.refused(err, entity.Unauthorized, "the session has ended")
	_, _, err = w.ctrl.CreateLogin(w.ctx, "eve")
	w.refused(err, entity.NotFound, `cannot create a log-in: user "eve" not found`)
}

// Of two who begin a session with the same log-in at once, one does.
func TestOneSessionBeginsWithALogin(t *testing.T) {
	w := newWorld(t)
	login, _, err := w.ctrl.CreateLogin(w.ctx, "admin")
	w.ok(err)
	begun := make(chan error, 2)
	for range 2 {
		go func() {
			_, _, err := w.ctrl.BeginSession(w.ctx, login)
			begun <- err
		}()
	}
	if a, b := <-begun, <-begun; (a == nil) == (b == nil) {
		t.Errorf("two sessions with one log-in: %v and %v", a, b)
	}
}

// A session ends when its user can no longer log in as before, and when its time is over; who watches it is told.
func TestSessionEndsWithItsUser(t *testing.T) {
	for name, ends := range map[string]func(*world, *node) error{
		"another password": func(w *world, n *node) error { _, err := n.SetUserPassword(w.ctx, "bob", "another"); return err },
		"disabled":         func(w *world, n *node) error { return n.DisableUser(w.ctx, "bob") },
		"removed":          func(w *world, n *node) error { return n.RemoveUser(w.ctx, "bob") },
		"expired":          func(w *world, n *node) error { n.passes(controller.SessionAge); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.addUser("bob")
			n := w.node(time.Now())
			login, _, err := n.CreateLogin(w.ctx, "bob")
			w.ok(err)
			unused, _, err := n.CreateLogin(w.ctx, "bob")
			w.ok(err)
			text, session, err := n.BeginSession(w.ctx, login)
			w.ok(err)
			changes := n.WatchSession(w.ctx, session, w.st.UUID())
			<-changes
			w.ok(ends(w, n))
			if name != "expired" {
				select {
				case <-changes:
				case <-time.After(verify.Patience):
					t.Error("who watches the session is not told")
				}
			}
			_, err = n.CheckSession(w.ctx, text)
			w.refused(err, entity.Unauthorized, "the session has ended")
			_, _, err = n.BeginSession(w.ctx, unused)
			w.refused(err, entity.Unauthorized, "this log-in has been used, or has expired")
		})
	}
}

// A user's sessions are bounded: the oldest make place.
func TestSessionsAreBounded(t *testing.T) {
	w := newWorld(t)
	n := w.node(time.Now())
	begin := func() string {
		login, _, err := n.CreateLogin(w.ctx, "admin")
		w.ok(err)
		text, _, err := n.BeginSession(w.ctx, login)
		w.ok(err)
		n.passes(time.Second)
		return text
	}
	first, second := begin(), begin()
	for range controller.MaxSessions - 2 {
		begin()
	}
	_, err := n.CheckSession(w.ctx, first)
	w.ok(err)
	begin()
	_, err = n.CheckSession(w.ctx, first)
	w.refused(err, entity.Unauthorized, "the session has ended")
	_, err = n.CheckSession(w.ctx, second)
	w.ok(err)
}

// Sessions and log-ins that have expired make place, and those of another user stay.
func TestExpiredSessionsMakePlace(t *testing.T) {
	w := newWorld(t)
	n := w.node(time.Now())
	w.addUser("bob")
	login := func(user string) string {
		t.Helper()
		text, _, err := n.CreateLogin(w.ctx, user)
		w.ok(err)
		return text
	}
	unused, bobs := login("admin"), login("bob")
	text, _, err := n.BeginSession(w.ctx, login("admin"))
	w.ok(err)
	count := func(want int) {
		t.Helper()
		w.ok(w.db().With(w.ctx, "sessions", func(c *mgo.Collection) error {
			got, err := c.Count()
			if got != want {
				t.Errorf("there are %d sessions and log-ins, want %d", got, want)
			}
			return err
		}))
	}
	count(3)
	n.passes(controller.LoginAge)
	_, _, err = n.BeginSession(w.ctx, unused)
	w.refused(err, entity.Unauthorized, "this log-in has been used, or has expired")
	_, _, err = n.BeginSession(w.ctx, bobs)
	w.refused(err, entity.Unauthorized, "this log-in has been used, or has expired")
	_, err = n.CheckSession(w.ctx, text)
	w.ok(err)
	login("admin")
	count(3) // in place of the unused one
	// Of two at once each counts.
	w.before(func() { login("admin") })
	login("admin")
	count(5)
	n.passes(controller.SessionAge)
	last := login("admin")
	count(2)
	// Who gets another password meanwhile has no session.
	w.before(func() { w.ok(func() error { _, err := n.SetUserPassword(w.ctx, "admin", "another"); return err }()) })
	_, _, err = n.BeginSession(w.ctx, last)
	w.refused(err, entity.Unauthorized, "this log-in has been used, or has expired")
	w.ok(n.DisableUser(w.ctx, "bob"))
	_, _, err = n.CreateLogin(w.ctx, "bob")
	w.refused(err, entity.Unauthorized, "cannot create a log-in: the user is disabled")
}
