package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"juju/apiserver"
	"juju/apiserver/client"
	"juju/apiserver/facades"
	"juju/apiserver/logs"
	"juju/cmd/juju/clitest"
	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/statetest"
)

// A realUser is a user whose commands reach a real API server with a real store. There are no
// agents.
type realUser struct {
	*clitest.User
	real     *controller.Controller
	model    *state.State // that the commands are about
	newModel func(name string)
	info     client.Info
}

// newRealUser returns a user of an empty model. Its newModel makes another empty model, about
// which the commands are from then on.
func newRealUser(t *testing.T) *realUser {
	t.Helper()
	r := &realUser{User: newUser(t)}
	ctrl, model := statetest.Controller(t)
	r.real, r.model = ctrl, model
	r.newModel = func(name string) {
		t.Helper()
		var err error
		if r.model, err = ctrl.AddModel(t.Context(), controller.AddModelParams{Name: name, Owner: statetest.Admin,
			Series: "jammy"}); err != nil {
			t.Fatal(err)
		}
	}
	store, err := logs.Open(t.TempDir(), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	ca, err := apiserver.NewCA("deadbeef-0000-4000-8000-000000000001", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	cert, err := apiserver.NewServerCert(ca, nil, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	config, err := apiserver.TLSConfig(cert)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server, err := apiserver.New(t.Context(), apiserver.Config{
		Config: facades.Config{Controller: ctrl, Version: "1.2.3", Series: "jammy"}, TLS: config, Logs: store, TempDir: t.TempDir(),
		Addresses: func() []string { return []string{l.Addr().String()} },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancelCause(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx, l) }()
	t.Cleanup(func() {
		stop(fmt.Errorf("the test has ended"))
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	r.info = client.Info{Addresses: []string{l.Addr().String()}, CACert: ca.Cert,
		Tag: entity.UserTag(statetest.Admin), Password: statetest.Password}
	r.Session.Connect = func(ctx context.Context) (io.Closer, error) { return r.connect(ctx) }
	return r
}

// connect connects to the user's model.
func (r *realUser) connect(ctx context.Context) (*client.Conn, error) {
	info := r.info
	info.Model = r.model.UUID()
	return client.Dial(ctx, info)
}

// runs types a command that has to succeed, and returns what it prints on standard output.
func (r *realUser) runs(args ...string) string {
	r.T.Helper()
	r.Types(args...)
	if r.Code != 0 {
		r.T.Fatalf("juju %q: exit code %d, %s", args, r.Code, r.Err.String())
	}
	return r.Out.String()
}
