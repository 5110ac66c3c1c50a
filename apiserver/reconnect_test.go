package apiserver

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"juju/apiserver/client"
	"juju/apiserver/facades"
	"juju/apiserver/facades/facadestest"
	"juju/apiserver/params"
	"juju/state/entity"
)

// When the controller goes away, everything on the connection ends and its channels close.
// When it is back, clients can dial again.
func TestReconnect(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	ctx := t.Context()
	u0 := entity.UnitTag("mysql/0")
	c := w.dial(w.info(u0))
	uniter := client.UniterFacade{Caller: c}
	watch, err := uniter.WatchUnit(ctx, u0)
	if err != nil {
		t.Fatal(err)
	}
	facadestest.Receive(t, watch)
	if c.Err() != nil || c.Context().Err() != nil {
		t.Error("the connection has ended too early")
	}
	w.end()
	closes(t, watch)
	<-c.Context().Done()
	if err := c.Err(); err == nil {
		t.Error("the connection has ended without an error")
	}
	if _, err := uniter.Unit(ctx, u0); !errors.Is(err, entity.Unavailable) {
		t.Errorf("a request on an ended connection: %v", err)
	}
	if _, err := client.Dial(ctx, w.info(u0)); !errors.Is(err, entity.Unavailable) {
		t.Errorf("while the controller is away: %v", err)
	}
	if _, err := client.Dial(ctx, w.managerInfo(w.st.UUID())); !errors.Is(err, entity.Unavailable) {
		t.Errorf("in memory: %v", err)
	}
	// An upload that was interrupted leaves nothing behind.
	half := filepath.Join(w.server.config.TempDir, "juju-upload-1.zip")
	if err := os.WriteFile(half, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if w.server, err = New(ctx, w.server.config); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(half); err == nil {
		t.Error("an interrupted upload is still there")
	}
	w.serve()
	again := w.uniter(u0)
	watch, err = again.WatchUnit(ctx, u0)
	if err != nil {
		t.Fatal(err)
	}
	facadestest.Receive(t, watch) // the first event again, so nothing is missed
	if _, err := again.Unit(ctx, u0); err != nil {
		t.Error(err)
	}
}

// A client can give up a request or a watch and use the connection for others. It uses the
// first of several addresses that answers.
func TestCancelRequestAndWatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	asked, release := make(chan struct{}), make(chan struct{})
	var onServer *conn
	open := func() map[string]*openWatch {
		onServer.watches.mu.Lock()
		defer onServer.watches.mu.Unlock()
		return onServer.watches.open
	}
	w.server.table.Route("Uniter", 1, "Unit").Handler = facades.Act(func(_ context.Context, c *facades.Caller,
		_ params.Entity) error {
		onServer = c.Request.(*request).conn
		asked <- struct{}{}
		<-release
		return nil
	})
	u0 := entity.UnitTag("mysql/0")
	info := w.info(u0)
	info.Addresses = []string{"127.0.0.1:1", w.address}
	c := client.UniterFacade{Caller: w.dial(info)}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("changed my mind")
	go func() {
		<-asked
		cancel(why)
	}()
	if _, err := c.Unit(ctx, u0); !errors.Is(err, why) {
		t.Errorf("given up: %v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	watch, err := c.WatchRelations(ctx, u0)
	if err != nil {
		t.Fatal(err)
	}
	facadestest.Receive(t, watch)
	stop()
	closes(t, watch) // after the server has been told
	close(release)
	if _, err := c.Relations(t.Context(), u0); err != nil {
		t.Errorf("the connection afterwards: %v", err)
	}
	if len(open()) != 0 {
		t.Errorf("watches %v are still open on the server", open())
	}
}

// An address that was a controller's once, and that someone else's server has now, hides no controller at another.
func TestAddressOfAnotherServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	other := httptest.NewUnstartedServer(http.NotFoundHandler())
	other.Config.ErrorLog = log.New(io.Discard, "", 0) // it would log each refused handshake
	other.StartTLS()
	defer other.Close()
	info := w.info(entity.UnitTag("mysql/0"))
	theirs := other.Listener.Addr().String()
	info.Addresses = []string{theirs, w.address}
	for range 10 { // the order is random
		c, err := client.Dial(t.Context(), info)
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
	}
	info.Addresses = info.Addresses[:1]
	_, err := client.Dial(t.Context(), info)
	want := "cannot connect to the controller at " + theirs + ": a different server is listening there: tls: "
	if err == nil || !strings.HasPrefix(err.Error(), want) || errors.Is(err, entity.Unavailable) {
		t.Errorf("no controller at all: %v", err)
	}
}

// The connections to a model end when it is removed; others do not.
func TestRemovedModelEndsConnections(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	root, c := w.dial(w.adminInfo("")), w.dial(w.info(entity.UnitTag("mysql/0")))
	watch, err := client.UniterFacade{Caller: c}.WatchUnit(t.Context(), c.Tag())
	if err != nil {
		t.Fatal(err)
	}
	facadestest.Receive(t, watch)
	w.controller.Close() // closes the models, as if one were removed
	closes(t, watch)
	closes(t, c.Context().Done())
	if err := c.Err(); !strings.Contains(err.Error(), errNoModel.Error()) {
		t.Errorf("the connection to the model: %v", err)
	}
	if err := root.Err(); err != nil && strings.Contains(err.Error(), errNoModel.Error()) {
		t.Errorf("the connection to the controller: %v", err)
	}
}
