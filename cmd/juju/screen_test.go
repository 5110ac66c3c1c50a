package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"juju/apiserver/display"
	"juju/cmd/juju/cli"
	"juju/cmd/juju/clitest"
	"juju/cmd/juju/wait/waittest"
	"juju/state/entity"
)

// A screen is what a terminal shows of what is written to it. It knows the sequences that this program uses, and keeps what
// scrolls off its top.
type screen struct {
	mu            sync.Mutex // tests read it while it is drawn
	width, height int
	lines         []string
	top           int // the line at the top of the terminal
	row, column   int // row counts from the first line
	unknown       []string
}

var sequence = regexp.MustCompile(`^\x1b\[([0-9;]*)([A-Za-z])`)

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for rest := string(p); rest != ""; {
		if m := sequence.FindStringSubmatch(rest); m != nil {
			s.control(m[1], m[2])
			rest = rest[len(m[0]):]
			continue
		}
		r := []rune(rest)[0]
		rest = rest[len(string(r)):]
		switch r {
		case '\r':
			s.column = 0
		case '\n':
			s.column = 0
			s.down()
		default:
			s.put(r)
		}
	}
	return len(p), nil
}

func (s *screen) down() {
	s.row++
	s.top = max(s.top, s.row-s.height+1)
}

func (s *screen) put(r rune) {
	if s.column >= s.width {
		s.column = 0
		s.down()
	}
	for len(s.lines) <= s.row {
		s.lines = append(s.lines, "")
	}
	line := []rune(s.lines[s.row])
	for len(line) <= s.column {
		line = append(line, ' ')
	}
	line[s.column] = r
	s.lines[s.row] = string(line)
	s.column += display.Width(string(r))
}

func (s *screen) control(n, what string) {
	count, _ := strconv.Atoi(n)
	switch what + n {
	case "K":
		if s.row < len(s.lines) {
			line := []rune(s.lines[s.row])
			s.lines[s.row] = string(line[:min(len(line), s.column)])
		}
	case "J":
		s.control("", "K")
		s.lines = s.lines[:min(len(s.lines), s.row+1)]
	case "H":
		s.row, s.column = s.top, 0
	case "J2":
		s.lines = s.lines[:min(len(s.lines), s.top)]
	case "A" + n:
		s.row = max(s.row-count, s.top)
	case "m" + n:
	default:
		s.unknown = append(s.unknown, n+what)
	}
}

// String returns all lines.
func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for _, line := range s.lines {
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// onScreen has the session of a user draw on a screen.
func onScreen(u *clitest.User, width, height int) *screen {
	s := &screen{width: width, height: height}
	u.Session.Width, u.Session.Height = func() int { return width }, func() int { return height }
	u.Session.OutTerminal, u.Session.ErrTerminal = true, true
	u.Session.Stdout, u.Session.Stderr = display.NewWriter(s), display.NewWriter(s)
	return s
}

// shows compares what is on a screen with a file in testdata/screens, which UPDATE_SCREENS=1 writes.
func (s *screen) shows(t *testing.T, name, got string) {
	t.Helper()
	for _, line := range strings.Split(got, "\n") {
		if display.Width(line) > s.width {
			t.Errorf("%s: %q does not fit", name, line)
		}
	}
	if len(s.unknown) > 0 {
		t.Errorf("%s: unknown sequences %q", name, s.unknown)
	}
	path := filepath.Join("testdata", "screens", name)
	if os.Getenv("UPDATE_SCREENS") != "" {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Error(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || got != string(want) {
		t.Errorf("%s: %v, shows\n%s\nwant\n%s", name, err, got, want)
	}
}

// offTick keeps what a test does apart from the ticks at which progress is drawn.
const offTick = 70 * time.Millisecond

const longUnit = "kubernetes-control-plane/"

// installing returns a model of two units: one on a machine that starts, one that runs a hook.
func installing(hook string) *entity.ModelStatus {
	m := waittest.Model("kubernetes-control-plane/0=waiting:allocating kubernetes-control-plane/1=maintenance:executing " +
		"kubernetes-control-plane=waiting 7=pending")
	units := m.Services[0].Units
	units[0].Machine, units[0].Agent.Message = "7", ""
	units[0].Workload.Message = "waiting for machine"
	m.Machines[0].Status.Message = "starting"
	units[1].Agent.Message = hook
	return m
}

// A wait shows a tree that grows, in which unit's names stay whole at any width, and leaves what was reached and when.
func TestWaitShowsATree(t *testing.T) {
	t.Parallel()
	for _, width := range []int{40, 80, 120} {
		synctest.Test(t, func(t *testing.T) { testWaitShowsATree(t, width) })
	}
}

func testWaitShowsATree(t *testing.T, width int) {
	u := newUser(t)
	s := onScreen(u, width, 24)
	u.Model.Returns.Statuses = []*entity.ModelStatus{installing("running install hook")}
	change := func(at time.Duration, m *entity.ModelStatus) {
		time.AfterFunc(at+offTick, func() { u.Model.Change(m) })
	}
	change(3*time.Second, installing("waiting to run install hook: the machine lock is held"))
	change(5*time.Second, installing("running install hook"))
	change(8*time.Second, installing("running cluster-relation-changed hook for "+longUnit+"0"))
	done := waittest.Model("kubernetes-control-plane/0=active kubernetes-control-plane/1=active kubernetes-control-plane=active 7=started")
	done.Services[0].Units[1].Workload.Message = "serving at https://10.0.0.1:6443, and much more than fits into a line of this terminal"
	change(13*time.Second, done)
	name := func(what string) string { return fmt.Sprintf("wait-%s-%d.txt", what, width) }
	time.AfterFunc(11*time.Second+2*offTick, func() { s.shows(t, name("goes"), s.String()) })
	u.Types("wait-for", "kubernetes-control-plane")
	s.shows(t, name("ends"), s.String())
	if u.Code != 0 {
		t.Errorf("exit code %d", u.Code)
	}
}

// A service that was awaited by itself is not removed when it is done.
func TestWaitShowsTheServiceToTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := newUser(t)
		s := onScreen(u, 80, 24)
		goes, done := waittest.Model("web/0=active"), waittest.Model("web/0=active")
		goes.Services[0].Rollout = &entity.Rollout{Former: "local:jammy/web-0", Batch: 1}
		u.Model.Returns.Statuses = []*entity.ModelStatus{goes}
		time.AfterFunc(time.Second+offTick, func() { u.Model.Change(done) })
		u.Types("wait-for", "web")
		if shown := s.String(); u.Code != 0 || !strings.Contains(shown, "✓ web/0 active\n") || !strings.Contains(shown, "✓ web active (1s)\n") {
			t.Errorf("exit code %d, shows\n%s", u.Code, shown)
		}
	})
}

// Where there are more units than lines, those that are awaited are shown.
func TestWaitForMoreThanFits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := newUser(t)
		s := onScreen(u, 60, 12)
		words := ""
		for i := range 30 {
			words += fmt.Sprintf("web/%d=%s ", i, map[bool]string{true: "active", false: "waiting"}[i%3 > 0])
		}
		u.Model.Returns.Statuses = []*entity.ModelStatus{waittest.Model(words)}
		u.Types("wait-for", "web", "--timeout", "10s")
		s.shows(t, "wait-many.txt", s.String())
	})
}

// A note, and a warning of the log, are printed above what is drawn; a narrower terminal doesn't leave lines behind.
func TestNotesStandAboveATree(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := newUser(t)
		s := onScreen(u, 60, 24)
		u.Session.WaitsFor("It goes on. To see it: look")
		p := u.Session.Await("", []cli.Awaited{{Name: "web/0", Text: "installing"}, {Name: "web/1", Text: "installing"}})
		time.Sleep(2*time.Second + offTick)
		u.Session.Note("A note.")
		u.Session.Warn("beware")
		fmt.Fprintln(u.Session.LogWriter(), "00:00:00 WARNING juju a log entry")
		inner := u.Session.Progress("Waiting for the controller")
		time.Sleep(2*time.Second + offTick)
		s.shows(t, "notes-inner.txt", s.String())
		inner.Done()
		p.Await("", []cli.Awaited{{Name: "web/0", Text: "active", Done: true}, {Name: "web/1", Text: "running start hook"}})
		time.Sleep(2*time.Second + offTick)
		s.shows(t, "notes.txt", s.String())
		p.Clear()
		s.shows(t, "notes-end.txt", s.String())
	})
}

// The steps of a bootstrap stay; bytes are counted.
func TestStepsAndBytes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := newUser(t)
		s := onScreen(u, 72, 24)
		p := u.Session.Steps("Creating controller %q on cloud %q", "prod", "lxd")
		p.OnInterrupt("What was created is removed")
		p.Say("Packing the binaries for controller %q", "prod")
		time.Sleep(2*time.Second + offTick)
		p.Say("Copying the binaries into container juju-1234-controller")
		p.Count(5<<20, 48<<20)
		time.Sleep(4*time.Second + offTick)
		s.shows(t, "steps.txt", s.String())
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
		time.Sleep(time.Second + offTick)
		s.shows(t, "upload.txt", s.String())
		upload.Done()
		s.shows(t, "steps-end.txt", s.String())
	})
}

// A status that is watched shows what has changed and gone, and no more than fits; nothing of a longer one before is left.
func TestWatchedStatusOnAScreen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := newUser(t)
		s := onScreen(u, 72, 20)
		u.Model.Returns.Statuses = []*entity.ModelStatus{waittest.Model("web/0=active web/1=waiting web=waiting 0=started 1=pending")}
		change := func(at time.Duration, words string) {
			time.AfterFunc(at+offTick, func() { u.Model.Change(waittest.Model(words)) })
		}
		change(3*time.Second, "web/0=active web/1=active web=active 0=started 1=started")
		change(15*time.Second, "web/1=active web=active 1=started")
		many := ""
		for i := range 40 {
			many += fmt.Sprintf("web/%d=active ", i)
		}
		change(30*time.Second, many)
		ctx, cancel := context.WithCancel(t.Context())
		for at, name := range map[time.Duration]string{2: "begins", 5: "changes", 17: "goes", 31: "overflows"} {
			time.AfterFunc(at*time.Second+2*offTick, func() { s.shows(t, "watch-"+name+".txt", s.String()) })
		}
		time.AfterFunc(32*time.Second+offTick, cancel)
		u.TypesUntil(ctx, "status", "--watch", "1s", "--utc")
		if u.Code != 0 {
			t.Errorf("exit code %d", u.Code)
		}
	})
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
