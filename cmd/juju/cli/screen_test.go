package cli_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/juju/loggo"

	"juju/apiserver/display"
	"juju/cmd/juju/cli"
	"juju/cmd/juju/clitest"
	"juju/state/entity"
)

// A note, and a warning of the log, are printed above what is drawn; a narrower terminal doesn't leave lines behind.
func TestNotesStandAboveATree(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := newUser(t)
		s := u.OnScreen(60, 24)
		u.Session.WaitsFor("It goes on. To see it: look")
		p := u.Session.Await("", []cli.Awaited{{Name: "web/0", Text: "installing"}, {Name: "web/1", Text: "installing"}})
		time.Sleep(2*time.Second + clitest.OffTick)
		u.Session.Note("A note.")
		u.Session.Warn("beware")
		fmt.Fprintln(u.Session.LogWriter(), "00:00:00 WARNING juju a log entry")
		inner := u.Session.Progress("Waiting for the controller")
		time.Sleep(2*time.Second + clitest.OffTick)
		s.Shows(t, "notes-inner.txt", s.String())
		inner.Done()
		p.Await("", []cli.Awaited{{Name: "web/0", Text: "active", Done: true}, {Name: "web/1", Text: "running start hook"}})
		time.Sleep(2*time.Second + clitest.OffTick)
		s.Shows(t, "notes.txt", s.String())
		p.Clear()
		s.Shows(t, "notes-end.txt", s.String())
	})
}

// The steps of a bootstrap stay; bytes are counted.
func TestStepsAndBytes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := newUser(t)
		s := u.OnScreen(72, 24)
		p := u.Session.Steps("Creating controller %q on cloud %q", "prod", "lxd")
		p.OnInterrupt("What was created is removed")
		p.Say("Packing the binaries for controller %q", "prod")
		time.Sleep(2*time.Second + clitest.OffTick)
		p.Say("Copying the binaries into container juju-1234-controller")
		p.Count(5<<20, 48<<20)
		time.Sleep(4*time.Second + clitest.OffTick)
		s.Shows(t, "steps.txt", s.String())
		p.End(nil)
		f, err := os.Create(filepath.Join(t.TempDir(), "f"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := f.Truncate(8 << 20); err != nil {
			t.Fatal(err)
		}
		upload, content := u.Session.Upload(u.Session.Progress, `charm "web"`, f)
		if n, err := content.Read(make([]byte, 3<<20)); n != 3<<20 || err != nil {
			t.Errorf("read %d bytes: %v", n, err)
		}
		time.Sleep(time.Second + clitest.OffTick)
		s.Shows(t, "upload.txt", s.String())
		upload.Done()
		s.Shows(t, "steps-end.txt", s.String())
	})
}

// The head of a tree counts what is not done. A text that fits is not broken, and what is done has a green mark.
func TestTreesCountAndFit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := newUser(t)
		s := u.OnScreen(display.Width("├─ · web/0 running a hook")+1, 24)
		u.Env["TERM"] = "xterm"
		var raw bytes.Buffer
		u.Session.Stderr = display.NewWriter(io.MultiWriter(s, &raw))
		p := u.Session.Await("", []cli.Awaited{{Name: "web/0", Text: "running a hook"}, {Name: "web/1", Text: "running a hook"}, {Name: "web/2", Text: "running a hook", Done: true}})
		if want := "Waiting for 2 of 3 (0s)\n├─ · web/0 running a hook\n├─ · web/1 running a hook\n└─ ✓ web/2 running a hook\n"; s.String() != want {
			t.Errorf("it shows\n%s, want\n%s", s.String(), want)
		}
		if !strings.Contains(raw.String(), "└─ \x1b[32m✓ \x1b[0mweb/2") {
			t.Errorf("it draws %q", raw.String())
		}
		p.Clear()
	})
}

// Without a terminal a wait has lines: its text, and each that follows it, but not for each thing that moves.
func TestWaitsWithoutATerminal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := newUser(t)
		p := u.Session.Await("Waiting for two units", []cli.Awaited{{Name: "web/0"}, {Name: "web/1"}})
		time.Sleep(10*time.Second + clitest.OffTick)
		p.Await("", []cli.Awaited{{Name: "web/0", Done: true}, {Name: "web/1"}})
		time.Sleep(10*time.Second + clitest.OffTick)
		p.Await("Waiting for one unit", []cli.Awaited{{Name: "web/1"}})
		p.Done()
		if got := u.Err.String(); got != "Waiting for two units\nWaiting for one unit\n" {
			t.Errorf("it says\n%s", got)
		}
	})
}

// How much of its log a command shows is up to the user. The log is the process's, so nothing else may run meanwhile.
func TestLogLevels(t *testing.T) {
	u := newUser(t)
	for args, want := range map[string]loggo.Level{"": loggo.WARNING, "-q": loggo.ERROR, "--show-log": loggo.INFO, "--debug": loggo.DEBUG, "--debug --show-log": loggo.DEBUG,
		"--logging-config <root>=TRACE": loggo.TRACE} {
		u.Types(append([]string{"status"}, strings.Fields(args)...)...)
		if got := loggo.GetLogger("").LogLevel(); u.Code != 0 || got != want {
			t.Errorf("%s: level %v, said %s", args, got, u.Err.String())
		}
	}
	u.Types("status")
	for args, want := range map[string]string{"--logging-config <root>=LOUD": "ERROR invalid --logging-config: ", "-q -v": "ERROR --quiet and --verbose are mutually exclusive\n"} {
		u.Types(append([]string{"status"}, strings.Fields(args)...)...)
		if u.Code != 2 || !strings.HasPrefix(u.Err.String(), want) {
			t.Errorf("%s: exit code %d, said %s", args, u.Code, u.Err.String())
		}
	}
}

// Errors and warnings are colored on terminals only, and not with NO_COLOR or on a dumb one.
func TestColorsOfErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		terminal      bool
		noColor, term string
		want          bool
	}{{true, "", "xterm", true}, {false, "", "xterm", false}, {true, "1", "xterm", false}, {true, "", "dumb", false}} {
		u := newUser(t)
		u.Session.ErrTerminal, u.Env["NO_COLOR"], u.Env["TERM"] = c.terminal, c.noColor, c.term
		u.Model.Returns.Err = entity.Errorf(entity.Unauthorized, "permission denied")
		u.Types("status", "--debug")
		u.Session.Warn("beware")
		said := u.Err.String()
		for _, word := range []string{"\x1b[31mERROR\x1b[0m permission", "\x1b[33mWARNING\x1b[0m beware"} {
			if strings.Contains(said, word) != c.want {
				t.Errorf("%+v: %q", c, said)
			}
		}
		if strings.Contains(said, "\x1b") != c.want {
			t.Errorf("%+v: %q", c, said)
		}
	}
}
