// Package realtest runs commands in tests at a real controller.
package realtest

import (
	"context"
	"errors"
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

// A User is a user whose commands reach a real API server with a real store. There are no
// agents.
type User struct {
	*clitest.User
	Real     *controller.Controller
	State    *state.State // that the commands are about
	NewModel func(name string)
	Info     client.Info
}

// NewUser gives a user an empty model. Its NewModel makes another empty model, about which the commands are from then on.
func NewUser(t *testing.T, u *clitest.User) *User {
	t.Helper()
	r := &User{User: u}
	ctrl, model := statetest.Controller(t)
	r.Real, r.State = ctrl, model
	r.NewModel = func(name string) {
		t.Helper()
		var err error
		if r.State, err = ctrl.AddModel(t.Context(), controller.AddModelParams{Name: name, Owner: statetest.Admin,
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
		stop(errors.New("the test has ended"))
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	r.Info = client.Info{Addresses: []string{l.Addr().String()}, CACert: ca.Cert,
		Tag: entity.UserTag(statetest.Admin), Password: statetest.Password}
	r.Session.Connect = func(ctx context.Context) (io.Closer, error) { return r.Connect(ctx) }
	return r
}

// Connect connects to the user's model.
func (r *User) Connect(ctx context.Context) (*client.Conn, error) {
	info := r.Info
	info.Model = r.State.UUID()
	return client.Dial(ctx, info)
}

// Runs types a command that has to succeed, and returns what it prints on standard output.
func (r *User) Runs(args ...string) string {
	r.T.Helper()
	r.Types(args...)
	if r.Code != 0 {
		r.T.Fatalf("juju %q: exit code %d, %s", args, r.Code, r.Err.String())
	}
	return r.Out.String()
}
