package clitest

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"juju/apiserver/display"
)

// A Screen is what a terminal shows of what is written to it. It knows the sequences that this program uses, and keeps what
// scrolls off its top.
type Screen struct {
	mu            sync.Mutex // tests read it while it is drawn
	width, height int
	lines         []string
	top           int      // the line at the top of the terminal
	row, column   int      // row counts from the first line
	Unknown       []string // sequences
}

var sequence = regexp.MustCompile(`^\x1b\[([0-9;]*)([A-Za-z])`)

func (s *Screen) Write(p []byte) (int, error) {
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

func (s *Screen) down() {
	s.row++
	s.top = max(s.top, s.row-s.height+1)
}

func (s *Screen) put(r rune) {
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

func (s *Screen) control(n, what string) {
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
		s.Unknown = append(s.Unknown, n+what)
	}
}

// String returns all lines.
func (s *Screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for _, line := range s.lines {
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// NewScreen returns an empty screen.
func NewScreen(width, height int) *Screen { return &Screen{width: width, height: height} }

// OnScreen has the session of a user draw on a screen.
func (u *User) OnScreen(width, height int) *Screen {
	s := NewScreen(width, height)
	u.Session.Width, u.Session.Height = func() int { return width }, func() int { return height }
	u.Session.OutTerminal, u.Session.ErrTerminal = true, true
	u.Session.Stdout, u.Session.Stderr = display.NewWriter(s), display.NewWriter(s)
	return s
}

// Shows compares what is on a screen with a file in testdata/screens, which UPDATE_SCREENS=1 writes.
func (s *Screen) Shows(t *testing.T, name, got string) {
	t.Helper()
	for _, line := range strings.Split(got, "\n") {
		if display.Width(line) > s.width {
			t.Errorf("%s: %q does not fit", name, line)
		}
	}
	if len(s.Unknown) > 0 {
		t.Errorf("%s: unknown sequences %q", name, s.Unknown)
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

// An Interrupter presses ^C at the first output.
type Interrupter struct{ Press func() }

func (i *Interrupter) Write(b []byte) (int, error) {
	i.Press()
	return len(b), nil
}

// OffTick keeps what a test does apart from the ticks at which progress is drawn.
const OffTick = 70 * time.Millisecond
