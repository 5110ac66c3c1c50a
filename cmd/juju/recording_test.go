package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/testscript"

	"juju/cmd/juju/clitest"
)

// The size of the terminal of recordings: wide enough for the messages of the demo's units.
const castWidth, castHeight = 100, 30

// A cast is a recording of a terminal, in the format of asciinema, version 2: a header and what was written when.
type cast struct{ events []castEvent }

type castEvent struct {
	at   time.Duration
	text string
}

// together is how long after each other two texts are one event.
const together = 20 * time.Millisecond

func (c *cast) add(at time.Duration, text string) {
	if last := len(c.events) - 1; last >= 0 && at-c.events[last].at < together {
		c.events[last].text += text
		return
	}
	c.events = append(c.events, castEvent{at, text})
}

// end returns the time of the last event.
func (c *cast) end() time.Duration {
	if len(c.events) == 0 {
		return 0
	}
	return c.events[len(c.events)-1].at
}

// A castWriter records what is written, from a time on.
type castWriter struct {
	cast  *cast
	begun time.Time
	from  time.Duration
	part  []byte // of a character
}

func (w *castWriter) Write(p []byte) (int, error) {
	text := append(w.part, p...)
	n := len(text)
	for back := 1; back <= min(utf8.UTFMax, n); back++ {
		if utf8.RuneStart(text[n-back]) {
			if !utf8.FullRune(text[n-back:]) {
				n -= back
			}
			break
		}
	}
	w.cast.add(w.from+time.Since(w.begun), string(text[:n]))
	w.part = bytes.Clone(text[n:])
	return len(p), nil
}

// castHeader is the first line of a recording. Players shorten what takes longer than the limit.
var castHeader = map[string]any{"version": 2, "width": castWidth, "height": castHeight, "idle_time_limit": 1,
	"title": "make demo: two related services, on this host, without root", "env": map[string]string{"TERM": "xterm-256color"}}

// encode writes a recording, with each line of the format on one line.
func (c *cast) encode() ([]byte, error) {
	var b bytes.Buffer
	line := json.NewEncoder(&b)
	line.SetEscapeHTML(false)
	err := line.Encode(castHeader)
	for _, e := range c.events {
		if err == nil {
			err = line.Encode([]any{math.Round(e.at.Seconds()*100) / 100, "o", e.text})
		}
	}
	return b.Bytes(), err
}

func decodeCast(text []byte) (*cast, error) {
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	if !lines.Scan() {
		return nil, fmt.Errorf("a recording without a header")
	}
	var header map[string]any
	if err := json.Unmarshal(lines.Bytes(), &header); err != nil || header["version"] != 2.0 {
		return nil, fmt.Errorf("the header is %s: %w", lines.Bytes(), err)
	}
	c := &cast{}
	for lines.Scan() {
		var event [3]any
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			return nil, err
		}
		at, isTime := event[0].(float64)
		text, isText := event[2].(string)
		if !isTime || !isText || event[1] != "o" || at < c.end().Seconds() {
			return nil, fmt.Errorf("%s is no event that follows one at %v", lines.Bytes(), c.end())
		}
		c.events = append(c.events, castEvent{time.Duration(at * float64(time.Second)), text})
	}
	return c, lines.Err()
}

// The parts of what the demo shows that differ from run to run, and from host to host.
var varying = []struct {
	pattern *regexp.Regexp
	by      string
}{
	{regexp.MustCompile(`127(\.\d+){3}:\d+/dashboard/login#\S+`), "LOGIN"},
	{regexp.MustCompile(`until \d\d:\d\d:\d\d`), "until TIME"},
	{regexp.MustCompile(`127(\.\d+){3}`), "ADDRESS"},
	{regexp.MustCompile(`\blocal-(\d+)-[0-9a-f]+`), "local-$1-ID"},
	{regexp.MustCompile(`\b\d\d:\d\d:\d\dZ?`), "TIME"},
	{regexp.MustCompile(`\(\d+s\)`), ""},
	{regexp.MustCompile(`\bfor\s+(\d+[dhms])+`), "for TIME"}, // also where a line ends between
	{regexp.MustCompile(`\blocal:\w+/`), "local:SERIES/"},
	{regexp.MustCompile(`\b\w+@[\d.]+`), "BASE"},
}

// loginText is a log-in for the dashboard, which no recording has.
var loginText = regexp.MustCompile(`jujulogin_[-_0-9A-Za-z]+`)

// form returns the words that stay on the terminal at the end, without what varies.
func (c *cast) form() []string {
	s := clitest.NewScreen(castWidth, castHeight)
	for _, e := range c.events {
		fmt.Fprint(s, e.text)
	}
	return append(invariable(s.String()), s.Unknown...)
}

// invariable returns the words of a text without what varies.
func invariable(text string) []string {
	for _, v := range varying {
		text = v.pattern.ReplaceAllString(text, v.by)
	}
	return strings.Fields(text)
}

// scriptRecord runs a command on a terminal, and adds to a recording that somebody has typed a line and what the command
// shows. The script's clone is shown as ~/juju.
func scriptRecord(ts *testscript.TestScript, neg bool, args []string) {
	noNot(ts, neg)
	if len(args) < 3 {
		ts.Fatalf("usage: record FILE LINE COMMAND...")
	}
	c := &cast{}
	path := ts.MkAbs(args[0])
	if text, err := os.ReadFile(path); err == nil {
		c, err = decodeCast(text)
		ts.Check(err)
	}
	at := c.end()
	for _, r := range "$ " + args[1] + "\r\n" {
		at += 2 * together
		c.add(at, string(r))
	}
	w := &castWriter{cast: c, begun: time.Now(), from: at + together}
	cmd := exec.Command(args[2], args[3:]...)
	cmd.Dir = ts.MkAbs(".")
	for _, name := range []string{"HOME", "PATH", "JUJU_DATA", "TMPDIR"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	cmd.Env = append(cmd.Env, "TERM=xterm-256color")
	_, err := onTerminal(cmd, "", w)
	ts.Check(err)
	for i := range c.events {
		c.events[i].text = loginText.ReplaceAllString(strings.ReplaceAll(c.events[i].text, ts.MkAbs("clone"), "~/juju"), "jujulogin_…")
	}
	text, err := c.encode()
	ts.Check(err)
	ts.Check(os.WriteFile(path, text, 0o644))
}

// scriptRecorded compares a recording with the one that is kept, which RECORD_DEMO=1 writes anew.
func scriptRecorded(ts *testscript.TestScript, neg bool, args []string) {
	noNot(ts, neg)
	if len(args) != 2 {
		ts.Fatalf("usage: recorded FILE KEPT")
	}
	text, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	got, err := decodeCast(text)
	ts.Check(err)
	if os.Getenv("RECORD_DEMO") != "" {
		ts.Check(os.WriteFile(args[1], text, 0o644))
	}
	text, err = os.ReadFile(args[1])
	ts.Check(err)
	want, err := decodeCast(text)
	ts.Check(err)
	if got, want := strings.Join(got.form(), " "), strings.Join(want.form(), " "); got != want {
		ts.Fatalf("the demo shows\n%s\nand %s\n%s\nIf that is right, record it anew: RECORD_DEMO=1 JUJU_VERIFY=1 go test ./cmd/juju "+
			"-run TestSystem/recording", got, args[1], want)
	}
}

// The recording of the demo that the README links to is one, shows its two services up, and names nobody's directory.
func TestRecordingOfTheDemo(t *testing.T) {
	text, err := os.ReadFile("../../doc/demo.cast")
	if err != nil {
		t.Fatal(err)
	}
	c, err := decodeCast(text)
	if err != nil {
		t.Fatal(err)
	}
	form := strings.Join(c.form(), " ")
	for _, want := range []string{"$ make demo ", "✓ Logging in to controller \"demo\"", "✓ store/0 active: at ADDRESS:7379",
		"web/0* active idle 1 ADDRESS 8080/tcp", "visit number 2.", "$ make demo-down Controller \"demo\" is destroyed."} {
		if !strings.Contains(form, want) {
			t.Errorf("%q is not in what it shows:\n%s", want, form)
		}
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)\n```\n(.*?)\n```\n").FindSubmatch(readme)
	if block == nil {
		t.Fatal("the README does not show what the demo prints")
	}
	for line := range strings.Lines(string(block[1])) {
		if line != "…\n" && !strings.Contains(form, strings.Join(invariable(line), " ")) {
			t.Errorf("the README shows %q, which is not in the recording", line)
		}
	}
	if strings.Contains(string(text), "/tmp/") || c.end() > time.Minute {
		t.Errorf("it takes %v, or names a temporary directory", c.end())
	}
}
