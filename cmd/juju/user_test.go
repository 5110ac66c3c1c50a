package main

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"juju/apiserver/display"
	"juju/cmd/juju/cli"
	"juju/cmd/juju/commands"
	"juju/cmd/juju/store"
)

// A user types commands and sees the outcome of the last.
type user struct {
	t        *testing.T
	session  *cli.Session
	env      map[string]string
	fake     *fakeModel
	ctrl     *fakeController
	out, err bytes.Buffer
	code     int
}

// newUser returns a user who has selected the model "default" of a controller.
func newUser(t *testing.T) *user {
	t.Helper()
	u := &user{t: t, fake: &fakeModel{}, ctrl: &fakeController{}, env: map[string]string{"JUJU_DATA": t.TempDir()}}
	u.session = &cli.Session{
		Stdin: strings.NewReader(""), Stdout: display.NewWriter(&u.out), Stderr: display.NewWriter(&u.err),
		Width: func() int { return 80 }, Height: func() int { return 24 },
		Getenv: func(key string) string { return u.env[key] }, Now: time.Now, ReachTimeout: time.Second, PollInterval: time.Hour,
	}
	u.session.Connect = func(context.Context) (io.Closer, error) {
		u.fake.opened++
		return u.fake, nil
	}
	u.session.ConnectController = func(context.Context, cli.Target) (io.Closer, error) { return u.ctrl, nil }
	u.session.AskController = u.session.ConnectController
	u.note(func(c *store.Contents) {
		c.Current = "prod"
		c.Controllers["prod"] = &store.Controller{UUID: "u", Cloud: "elsewhere", User: "admin", Model: "admin/default",
			Models: map[string]string{"admin/default": "d", "admin/controller": "c"}}
	})
	return u
}

func (u *user) store() *store.Store {
	u.t.Helper()
	st, err := u.session.Store()
	if err != nil {
		u.t.Fatal(err)
	}
	return st
}

// note changes the user's store.
func (u *user) note(change func(*store.Contents)) {
	u.t.Helper()
	err := u.store().Update(u.t.Context(), func(c *store.Contents) error { change(c); return nil })
	if err != nil {
		u.t.Fatal(err)
	}
}

// freeze makes the user's clock stand still, so that a slow machine shows no progress, and no time passes.
func (u *user) freeze() {
	now := time.Now()
	u.session.Now = func() time.Time { return now }
}

// types runs a command line.
func (u *user) types(args ...string) {
	u.t.Helper()
	u.typesUntil(u.t.Context(), args...)
}

func (u *user) typesUntil(ctx context.Context, args ...string) {
	u.out.Reset()
	u.err.Reset()
	u.fake.mu.Lock()
	u.fake.calls = nil
	u.fake.mu.Unlock()
	*u.session = cli.Session{Stdin: u.session.Stdin, Stdout: u.session.Stdout, Stderr: u.session.Stderr,
		Width: u.session.Width, Height: u.session.Height,
		InTerminal:  u.session.InTerminal,
		OutTerminal: u.session.OutTerminal, ErrTerminal: u.session.ErrTerminal,
		Getenv: u.session.Getenv, Now: u.session.Now, ReachTimeout: u.session.ReachTimeout, PollInterval: u.session.PollInterval, Connect: u.session.Connect,
		Exec: u.session.Exec, Embedded: u.session.Embedded,
		ConnectController: u.session.ConnectController, AskController: u.session.AskController}
	u.code = commands.Run(ctx, u.session, args)
	if again := doubled(u.err.String()); again != "" {
		u.t.Errorf("%q says %q twice:\n%s", args, again, u.err.String())
	}
	if u.fake.opened != u.fake.closed {
		u.t.Errorf("%q: %d connections were opened and %d closed", args, u.fake.opened, u.fake.closed)
	}
}

// sees checks the outcome of the last command: its exit code and all output.
func (u *user) sees(code int, stdout, stderr string) {
	u.t.Helper()
	if u.code != code || u.out.String() != stdout || u.err.String() != stderr {
		u.t.Errorf("exit code %d, want %d\nprinted %q\nwant    %q\nsaid %q\nwant %q", u.code, code, u.out.String(), stdout,
			u.err.String(), stderr)
	}
}

// asked checks the last command's calls to the model.
func (u *user) asked(calls ...string) {
	u.t.Helper()
	if strings.Join(u.fake.calls, "\n") != strings.Join(calls, "\n") {
		u.t.Errorf("asked\n\t%s\nwant\n\t%s", strings.Join(u.fake.calls, "\n\t"), strings.Join(calls, "\n\t"))
	}
}
