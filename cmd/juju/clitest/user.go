// Package clitest runs commands in tests: a user types them, and they reach a fake of the API.
package clitest

import (
	"bytes"
	"context"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"juju/apiserver/display"
	"juju/cmd/juju/cli"
	"juju/cmd/juju/store"
)

// A User types commands and sees the outcome of the last.
type User struct {
	T          *testing.T
	Session    *cli.Session
	Env        map[string]string
	Model      *FakeModel
	Controller *FakeController
	Out, Err   bytes.Buffer
	Code       int

	run func(context.Context, *cli.Session, []string) int
}

// NewUser returns a user who has selected the model "default" of a controller, and whose only commands are those that
// commands returns.
func NewUser(t *testing.T, commands func(*cli.Session) []*cobra.Command) *User {
	t.Helper()
	return NewUserOf(t, func(ctx context.Context, s *cli.Session, args []string) int {
		s.BeginLog()
		root := cli.NewRoot(s)
		root.RunE = func(_ *cobra.Command, args []string) error {
			t.Fatalf("this user has no command %q", args)
			return nil
		}
		root.SetArgs(args)
		root.SetIn(s.Stdin)
		root.SetOut(s.Stdout)
		root.SetErr(s.Stderr)
		for _, cmd := range commands(s) {
			cli.HintHelp(cmd)
			root.AddCommand(cmd)
		}
		return s.Report(ctx, root.ExecuteContext(ctx))
	})
}

// NewUserOf is NewUser for a program of which run runs a command line.
func NewUserOf(t *testing.T, run func(context.Context, *cli.Session, []string) int) *User {
	t.Helper()
	u := &User{T: t, run: run, Model: &FakeModel{}, Controller: &FakeController{}, Env: map[string]string{"JUJU_DATA": t.TempDir()}}
	u.Session = &cli.Session{
		Stdin: strings.NewReader(""), Stdout: display.NewWriter(&u.Out), Stderr: display.NewWriter(&u.Err),
		Width: func() int { return 80 }, Height: func() int { return 24 },
		Getenv: func(key string) string { return u.Env[key] }, Now: time.Now, ReachTimeout: time.Second, PollInterval: time.Hour,
	}
	u.Session.Connect = func(context.Context) (io.Closer, error) {
		u.Model.Opened++
		return u.Model, nil
	}
	u.Session.ConnectController = func(context.Context, cli.Target) (io.Closer, error) { return u.Controller, nil }
	u.Session.AskController = u.Session.ConnectController
	u.Note(func(c *store.Contents) {
		c.Current = "prod"
		c.Controllers["prod"] = &store.Controller{UUID: "u", Cloud: "elsewhere", User: "admin", Model: "admin/default",
			Models: map[string]string{"admin/default": "d", "admin/controller": "c"}}
	})
	return u
}

// Store returns the user's store.
func (u *User) Store() *store.Store {
	u.T.Helper()
	st, err := u.Session.Store()
	if err != nil {
		u.T.Fatal(err)
	}
	return st
}

// Note changes the user's store.
func (u *User) Note(change func(*store.Contents)) {
	u.T.Helper()
	err := u.Store().Update(u.T.Context(), func(c *store.Contents) error { change(c); return nil })
	if err != nil {
		u.T.Fatal(err)
	}
}

// Freeze makes the user's clock stand still, so that a slow machine shows no progress, and no time passes.
func (u *User) Freeze() {
	now := time.Now()
	u.Session.Now = func() time.Time { return now }
}

// Types runs a command line.
func (u *User) Types(args ...string) {
	u.T.Helper()
	u.TypesUntil(u.T.Context(), args...)
}

// TypesUntil is Types with a context.
func (u *User) TypesUntil(ctx context.Context, args ...string) {
	u.Out.Reset()
	u.Err.Reset()
	u.Model.Mu.Lock()
	u.Model.Calls = nil
	u.Model.Mu.Unlock()
	*u.Session = cli.Session{Stdin: u.Session.Stdin, Stdout: u.Session.Stdout, Stderr: u.Session.Stderr,
		Width: u.Session.Width, Height: u.Session.Height,
		InTerminal:  u.Session.InTerminal,
		OutTerminal: u.Session.OutTerminal, ErrTerminal: u.Session.ErrTerminal,
		Getenv: u.Session.Getenv, Now: u.Session.Now, ReachTimeout: u.Session.ReachTimeout, PollInterval: u.Session.PollInterval, Connect: u.Session.Connect,
		Exec: u.Session.Exec, Embedded: u.Session.Embedded,
		ConnectController: u.Session.ConnectController, AskController: u.Session.AskController}
	u.Code = u.run(ctx, u.Session, args)
	if again := Doubled(u.Err.String()); again != "" {
		u.T.Errorf("%q says %q twice:\n%s", args, again, u.Err.String())
	}
	if u.Model.Opened != u.Model.Closed {
		u.T.Errorf("%q: %d connections were opened and %d closed", args, u.Model.Opened, u.Model.Closed)
	}
}

// Sees checks the outcome of the last command: its exit code and all output.
func (u *User) Sees(code int, stdout, stderr string) {
	u.T.Helper()
	if u.Code != code || u.Out.String() != stdout || u.Err.String() != stderr {
		u.T.Errorf("exit code %d, want %d\nprinted %q\nwant    %q\nsaid %q\nwant %q", u.Code, code, u.Out.String(), stdout,
			u.Err.String(), stderr)
	}
}

// Asked checks the last command's calls to the model.
func (u *User) Asked(calls ...string) {
	u.T.Helper()
	if strings.Join(u.Model.Calls, "\n") != strings.Join(calls, "\n") {
		u.T.Errorf("asked\n\t%s\nwant\n\t%s", strings.Join(u.Model.Calls, "\n\t"), strings.Join(calls, "\n\t"))
	}
}

// WithModels gives the controller two models, and stops the user's clock at SomeTime.
func (u *User) WithModels() *User {
	u.Controller.Add("admin", "default")
	u.Controller.Add("eve", "shared")
	u.Session.Now = func() time.Time { return SomeTime }
	return u
}

// Doubled returns a clause of an error that repeats an earlier one, as in "cannot start an
// instance: cannot start an instance for machine 3: no addresses", where two layers both say
// what failed; "" if there is none.
func Doubled(text string) string {
	for line := range strings.Lines(text) {
		seen := map[string]bool{}
		for _, clause := range regexp.MustCompile(`\bcannot [^:;()]*`).FindAllString(line, -1) {
			words := strings.Fields(regexp.MustCompile(`\b(the|an|a|its|this) `).ReplaceAllString(clause, ""))
			key := strings.Join(words[1:min(3, len(words))], " ")
			if key = strings.TrimRight(key, "s,.\""); len(words) > 2 && seen[key] {
				return clause
			}
			seen[key] = true
		}
	}
	return ""
}
