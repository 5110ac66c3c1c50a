package apiserver

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"juju/apiserver/client"
	"juju/apiserver/facades"
	"juju/apiserver/logs"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/mongo/mongotest"
	"juju/state/statetest"
)

// A deafListener accepts no connections: all come through memory.
type deafListener struct{ closed chan struct{} }

func (l deafListener) Accept() (net.Conn, error) { <-l.closed; return nil, net.ErrClosed }
func (l deafListener) Close() error              { close(l.closed); return nil }
func (l deafListener) Addr() net.Addr            { return &net.TCPAddr{} }

// onASet runs a story with a server whose store is a simulated replica set. Its time advances
// only while everything waits.
func onASet(t *testing.T, story func(t *testing.T, w *world, set *mongotest.Set)) {
	config, dir := pki().config, t.TempDir()
	store, err := logs.Open(dir, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	synctest.Test(t, func(t *testing.T) {
		ok := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		t.Cleanup(func() { time.Sleep(time.Minute) }) // runs last: mgo's pings end
		ctx := context.Background()
		set := mongotest.NewSet(t, 3)
		url, err := mongo.ParseURL(set.URL())
		ok(err)
		db, err := mongo.OpenURL(ctx, url, mongo.Options{Dial: set.Dial})
		ok(err)
		t.Cleanup(func() { ok(db.Close()) })
		ok(controller.Initialize(ctx, db, controller.InitParams{Name: "test", Cloud: "dummy", Series: "jammy",
			User: statetest.Admin, Password: statetest.Password}, controller.Options{}))
		ctrl, err := controller.Open(ctx, db, controller.Options{})
		ok(err)
		t.Cleanup(ctrl.Close)
		st, err := ctrl.AddModel(ctx, statetest.NamedModel("default"))
		ok(err)
		w := &world{TB: t, controller: ctrl, st: st, logs: store, passwords: map[entity.Tag]string{},
			charms: map[string]string{}}
		w.server, err = New(ctx, Config{Config: facades.Config{Controller: ctrl, Version: "1"}, TLS: config, Logs: store, TempDir: dir})
		ok(err)
		serving, stop := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() { ended <- w.server.Serve(serving, deafListener{make(chan struct{})}) }()
		story(t, w, set)
		stop()
		ok(<-ended)
	})
}

// Users who log in during an outage of the store, and users who have logged in, get an error
// within the time that the command line waits. They do not notice an election.
func TestOutageOfTheStore(t *testing.T) {
	onASet(t, func(t *testing.T, w *world, set *mongotest.Set) {
		info := client.Info{Dial: w.server.Dial, Model: w.st.UUID(), Tag: entity.UserTag(statetest.Admin),
			Password: statetest.Password}
		dial := func() (*client.Conn, error) {
			ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
			defer cancel()
			return client.Dial(ctx, info)
		}
		conn, err := dial()
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()

		set.Kill(15 * time.Second)
		if _, err := conn.Status(t.Context()); err != nil {
			t.Errorf("status while a primary is elected: %v", err)
		}
		time.Sleep(5 * time.Second) // for the outage to be seen to have ended
		set.Kill(15 * time.Second)
		again, err := dial()
		if err != nil {
			// A failed login can't be repeated on its connection; clients dial again.
			if again, err = dial(); err != nil {
				t.Fatalf("log in while a primary is elected: %v", err)
			}
		}
		again.Close()

		set.Kill(-1)
		began := time.Now()
		told := func(what string, err error) {
			t.Helper()
			if !errors.Is(err, entity.Unavailable) || !strings.Contains(err.Error(), "the controller's store has been unavailable since ") ||
				!strings.Contains(entity.Hint(err), "MongoDB has a primary") {
				t.Errorf("%s: %v (%s)", what, err, entity.Hint(err))
			}
		}
		_, err = dial()
		told("log in", err)
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("an answer after %v", took)
		}
		began = time.Now()
		_, err = dial()
		told("log in later", err)
		_, err = conn.Status(t.Context())
		told("status", err)
		told("a change", conn.SetModelConfig(t.Context(), map[string]string{"x": "y"}))
		if took := time.Since(began); took > time.Second {
			t.Errorf("an answer after %v, although the outage was known", took)
		}
		set.Elect()
		time.Sleep(6 * time.Second)
		if _, err := conn.Status(t.Context()); err != nil {
			t.Errorf("status when it was over: %v", err)
		}
	})
}
