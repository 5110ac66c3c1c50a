package apiserver

import (
	"context"
	"crypto/tls"
	"flag"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/juju/loggo"

	"juju/apiserver/client"
	"juju/apiserver/facades"
	"juju/apiserver/logs"
	"juju/doc/tools/verify"
	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/statetest"
)

// TestMain silences the server's log: many tests provoke errors.
func TestMain(m *testing.M) {
	flag.Parse()
	if *playsCommand {
		playCommand()
	}
	if _, err := loggo.RemoveWriter(loggo.DefaultWriterName); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// pki is made once, since keys take time to make.
var pki = sync.OnceValue(func() (p struct {
	ca     KeyPair
	config *tls.Config
}) {
	var err error
	if p.ca, err = NewCA("deadbeef-0000-4000-8000-000000000001", time.Now()); err != nil {
		panic(err)
	}
	server, err := NewServerCert(p.ca, nil, time.Now())
	if err != nil {
		panic(err)
	}
	if p.config, err = TLSConfig(server); err != nil {
		panic(err)
	}
	return p
})

// A world is a server on a real state, with a model that has two related services with two
// units each, on two machines, and the agents of all of them.
type world struct {
	testing.TB
	controller    *controller.Controller
	st            *state.State // the model "default"
	server        *Server
	address       string
	logs          *logs.Store
	passwords     map[entity.Tag]string // of agents in the model
	manager       string                // the password of machine 0 of the controller's model
	charms        map[string]string     // name → URL
	stop          context.CancelCauseFunc
	stopped       chan error
	auditedBefore int // entries of the audit log that audited has returned
}

const nonce = "nonce"

// newWorld serves an empty model.
func newWorld(t testing.TB, adjust ...func(*Config)) *world {
	t.Helper()
	c, st := statetest.Controller(t)
	return newWorldOf(t, c, st, adjust...)
}

// newWorldOf serves an empty model of a controller.
func newWorldOf(t testing.TB, c *controller.Controller, st *state.State, adjust ...func(*Config)) *world {
	t.Helper()
	w := &world{controller: c, st: st, TB: t, passwords: map[entity.Tag]string{}, charms: map[string]string{}, stopped: make(chan error, 1)}
	var err error
	if w.logs, err = logs.Open(t.TempDir(), 1<<20); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.logs.Close() })
	config := Config{
		Config: facades.Config{Controller: w.controller, Version: "1.2.3", Series: "jammy"},
		TLS:    pki().config, Logs: w.logs, TempDir: t.TempDir(),
		Addresses: func() []string { return []string{w.address} },
	}
	for _, f := range adjust {
		f(&config)
	}
	if w.server, err = New(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	w.manager = w.newPassword(w.server.controllerModel, entity.MachineTag("0"))
	w.serve()
	t.Cleanup(w.end)
	return w
}

// serve begins to serve, on the same port as before if there was one.
func (w *world) serve() {
	w.Helper()
	address := w.address
	if address == "" {
		address = "127.0.0.1:0"
	}
	l := verify.Listen(w, address)
	w.address = l.Addr().String()
	ctx, stop := context.WithCancelCause(context.Background())
	w.stop = stop
	stopped := w.stopped
	server := w.server
	go func() { stopped <- server.Serve(ctx, l) }()
}

// end stops serving and waits for that. It can be called again.
func (w *world) end() {
	w.Helper()
	if w.stop == nil {
		return
	}
	w.stop(fmt.Errorf("the test has ended"))
	w.stop = nil
	if err := <-w.stopped; err != nil {
		w.Error(err)
	}
}

// newPassword sets the first password of an agent.
func (w *world) newPassword(st *state.State, tag entity.Tag) string {
	w.Helper()
	password := state.NewAgentPassword()
	if err := st.Agents().SetPassword(w.Context(), tag, password); err != nil {
		w.Fatal(err)
	}
	return password
}

// populate adds the services and machines that the comment of world describes.
func (w *world) populate() *world {
	w.Helper()
	ctx := w.Context()
	w.charms["mysql"] = statetest.Charm(w, w.st, statetest.MySQL, "config.yaml",
		"{options: {size: {type: int, default: 5}}}")
	w.charms["wordpress"] = statetest.Charm(w, w.st, statetest.Wordpress)
	for _, name := range []string{"mysql", "wordpress"} {
		if _, err := w.st.AddService(ctx,
			state.AddServiceParams{Name: name, CharmURL: w.charms[name], Units: 2}); err != nil {
			w.Fatal(err)
		}
	}
	if _, err := w.st.AddRelation(ctx, "wordpress", "mysql"); err != nil {
		w.Fatal(err)
	}
	machines, err := w.st.Machines(ctx)
	if err != nil {
		w.Fatal(err)
	}
	for i, m := range machines {
		if err := m.SetProvisioned(ctx,
			entity.Instance{ID: "i-" + m.ID(), Nonce: nonce, Addresses: []string{fmt.Sprintf("127.0.1.%d", i)}}); err != nil {
			w.Fatal(err)
		}
		w.passwords[entity.MachineTag(m.ID())] = w.newPassword(w.st, entity.MachineTag(m.ID()))
	}
	for _, name := range []string{"mysql/0", "mysql/1", "wordpress/0", "wordpress/1"} {
		w.passwords[entity.UnitTag(name)] = w.newPassword(w.st, entity.UnitTag(name))
	}
	return w
}

// info returns how an agent connects to the model.
func (w *world) info(tag entity.Tag) client.Info {
	return client.Info{
		Addresses: []string{w.address}, CACert: pki().ca.Cert, Model: w.st.UUID(),
		Tag: tag, Password: w.passwords[tag], Nonce: nonce,
	}
}

func (w *world) adminInfo(model string) client.Info {
	info := w.info(entity.UserTag(statetest.Admin))
	info.Password, info.Model = statetest.Password, model
	return info
}

// managerInfo returns how the controller's own agent connects, in memory.
func (w *world) managerInfo(model string) client.Info {
	return client.Info{
		Dial: w.server.Dial, Model: model, Tag: entity.MachineTag("0"), Password: w.manager, Nonce: "controller",
	}
}

// dial connects until the test ends.
func (w *world) dial(info client.Info) *client.Conn {
	w.Helper()
	c, err := client.Dial(w.Context(), info)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { c.Close() })
	return c
}

// uniter is the API of a unit's agent, on a connection of its own.
func (w *world) uniter(unit entity.Tag) client.UniterFacade {
	w.Helper()
	return client.UniterFacade{Caller: w.dial(w.info(unit))}
}

// closes waits for a channel to be closed, and drops what it still holds.
func closes[T any](t testing.TB, ch <-chan T) {
	t.Helper()
	timeout := time.After(verify.Patience)
	for {
		select {
		case _, ok := <-ch:
			if !ok {
				return
			}
		case <-timeout:
			t.Fatal("the channel stays open")
		}
	}
}
