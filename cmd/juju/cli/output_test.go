package cli_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/clitest"
	"juju/state/entity"
)

// The name of a file says the format, unless the user does.
func TestFormatOfFile(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ args, format, path string }{
		{"", "tabular", ""}, {"-o x.json", "json", "x.json"}, {"-o x.yml", "yaml", "x.yml"}, {"-o x.yaml", "yaml", "x.yaml"},
		{"-o x.txt", "tabular", "x.txt"}, {"-o json", "json", ""}, {"-o yaml --format json", "json", "yaml"}, {"-o x.json --format yaml", "yaml", "x.json"},
	} {
		var o cli.Output
		cmd := &cobra.Command{}
		o.Flags(cmd, "tabular", cli.ListFormats...)
		if err := cmd.ParseFlags(strings.Fields(test.args)); err != nil {
			t.Fatal(err)
		}
		cli.FormatOfFile(cmd)
		if o.Format != test.format || o.Path != test.path || o.IsChosen() != strings.Contains(test.args, "--format") {
			t.Errorf("%q: %s into %q, chosen: %v", test.args, o.Format, o.Path, o.IsChosen())
		}
	}
	var o cli.Output
	text := &cobra.Command{}
	o.Flags(text, "")
	if err := text.ParseFlags([]string{"-o", "x.json"}); err != nil {
		t.Fatal(err)
	}
	if cli.FormatOfFile(text); o.Path != "x.json" || o.IsChosen() || cli.Formats(text) != nil {
		t.Errorf("of a command without formats: %+v", o)
	}
}

// On a terminal a table has a bold header and dim messages, and fits into the width; so do messages and errors.
func TestTerminalsGetFittingText(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Env["TERM"], u.Session.OutTerminal, u.Session.ErrTerminal = "xterm", true, true
	u.Session.Width = func() int { return 30 }
	rows := [][]string{{"Unit", "Message"}, {"a\nb", "a message that takes two lines"}}
	if err := u.Session.WriteTable(cli.Output{}, "Controller: x\ny", rows); err != nil {
		t.Fatal(err)
	}
	if err := u.Session.WriteLines(cli.Output{}, "  one line that takes more columns\n"); err != nil {
		t.Fatal(err)
	}
	want := "Controller: x\\ny\n\n\x1b[1mUnit\x1b[0m  \x1b[1mMessage\x1b[0m\n" +
		"a\\nb  \x1b[2ma message that takes two\x1b[0m\n      \x1b[2mlines\x1b[0m\n" +
		"  one line that takes more\n    columns\n"
	if got := u.Out.String(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	u.Session.Note("a note about %s in several lines", "something\nelse")
	u.Session.Warn("what is about to happen to web")
	u.Session.Report(t.Context(), entity.WithHint(errors.New("cannot do what you have asked for"), "To do it in another way: juju status"))
	want = "a note about something\\nelse\n  in several lines\n\x1b[33mWARNING\x1b[0m what is about to\n  happen to web\n" +
		"\x1b[31mERROR\x1b[0m cannot do what you have\n  asked for\nTo do it in another way: juju\n  status\n"
	if got := u.Err.String(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	path := filepath.Join(t.TempDir(), "out")
	if err := u.Session.WriteTable(cli.Output{Path: path}, "", rows); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(path); string(got) != "Unit  Message\na\\nb  a message that takes two lines\n" {
		t.Errorf("in a file: %q", got)
	}
}

func TestListsAreWritten(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	value, rows := map[string]int{"b": 1, "a": 2}, [][]string{{"NAME", "N"}, {"a\nb", "2"}}
	for format, want := range map[string]string{"tabular": "NAME  N\na\\nb  2\n", "yaml": "a: 2\nb: 1\n", "json": `{"a":2,"b":1}` + "\n"} {
		u.Out.Reset()
		if err := u.Session.WriteList(cli.Output{Format: format}, value, rows); err != nil || u.Out.String() != want {
			t.Errorf("%s: %q, %v", format, u.Out.String(), err)
		}
		path := filepath.Join(t.TempDir(), "out")
		err := u.Session.WriteList(cli.Output{Format: format, Path: path}, value, rows)
		if got, _ := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s in a file: %q, %v", format, got, err)
		}
		if cli.CheckListFormat(format) != nil {
			t.Errorf("%s is no format of lists", format)
		}
	}
	err := u.Session.Write(cli.Output{Path: "/no/such/file"}, nil)
	if err == nil || err.Error() != "cannot write the result: open /no/such/file: no such file or directory" {
		t.Errorf("%v", err)
	}
	for _, err := range []error{cli.CheckListFormat("smart"), cli.CheckFormat("smart", "tabular")} {
		if says(t, "smart", err, `unknown format "smart"`); entity.Hint(err) != "Valid formats: tabular, yaml, json" {
			t.Errorf("hint %q", entity.Hint(err))
		}
	}
	u.Session.Embedded = true
	says(t, "a file of the controller", u.Session.Write(cli.Output{Path: "x"}, nil),
		`cannot use the file "x": the controller runs this command, and your files are not there`)
	for arg, want := range map[any]string{"a\nb": `a\nb`, errors.New("c\nd"): `c\nd`, entity.ServiceTag("w\n"): `service-w\n`, 1: "1"} {
		if got := fmt.Sprint(cli.InLine([]any{arg})...); got != want {
			t.Errorf("in line: %s, want %s", got, want)
		}
	}
}

// Colors are for terminals, unless asked for or refused.
func TestColors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args     string
		terminal bool
		path     string
		want     bool
	}{
		{"", true, "", true}, {"", false, "", false}, {"", true, "f", false}, {"--no-color", true, "", false}, {"--color", false, "", true},
		{"--color", true, "f", true},
	} {
		u := newUser(t)
		u.Env["TERM"], u.Session.OutTerminal = "xterm", test.terminal
		var c cli.Colors
		cmd := &cobra.Command{}
		c.Flags(cmd)
		if err := cmd.ParseFlags(strings.Fields(test.args)); err != nil {
			t.Fatal(err)
		}
		if got, err := c.Used(u.Session, test.path); err != nil || got != test.want {
			t.Errorf("%+v: %v, %v", test, got, err)
		}
	}
	var c cli.Colors
	cmd := &cobra.Command{}
	c.Flags(cmd)
	_ = cmd.ParseFlags([]string{"--color", "--no-color"})
	_, err := c.Used(newUser(t).Session, "")
	says(t, "both", err, "--color and --no-color are mutually exclusive")
}

// What has colors is shown as it is, and escaped in a file.
func TestStyledOutput(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	path, text := filepath.Join(t.TempDir(), "out"), []byte("\x1b[32mgreen\x1b[0m\n")
	if err := u.Session.WriteStyled(cli.Output{}, text); err != nil || u.Out.String() != string(text) {
		t.Errorf("printed %q, %v", u.Out.String(), err)
	}
	u.Out.Reset()
	err := u.Session.WriteStyled(cli.Output{Path: path}, text)
	if got, _ := os.ReadFile(path); err != nil || len(got) == 0 || strings.Contains(string(got), "\x1b") || u.Out.Len() > 0 {
		t.Errorf("written is %q, %v; printed %q", got, err, u.Out.String())
	}
}

// What is asked for in secret is read from standard input if that is a file.
func TestSecretsOfFiles(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := w.WriteString("secret\n"); err != nil {
		t.Fatal(err)
	}
	w.Close()
	u.Session.Stdin = r
	if got, err := u.Session.AskSecret(t.Context(), "password: "); err != nil || got != "secret" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestNewPassword(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]string{
		"a\na\n": "", "a\r\na": "", "": "you must specify a non-empty password", "a\nb\n": "passwords do not match", "a\n": "passwords do not match",
	} {
		u := newUser(t)
		u.Session.Stdin = strings.NewReader(input)
		got, err := u.Session.NewPassword(t.Context(), "new: ", "again: ")
		if err == nil && (want != "" || got != "a") || err != nil && err.Error() != want {
			t.Errorf("%q: %q, %v", input, got, err)
		}
	}
}

// Only what is a file is read, up to a size, and below a folder only what is there.
func TestFilesOfUsers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	below := filepath.Join(dir, "below")
	clitest.Write(t, filepath.Join(below, "f"), "hello")
	clitest.Write(t, filepath.Join(dir, "outside"), "secret")
	if err := os.Symlink("../outside", filepath.Join(below, "up")); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for path, want := range map[string]string{
		filepath.Join(below, "f"): "", below: "is a directory, not a file", filepath.Join(dir, "s"): "is a socket, not a file",
		"/dev/null": "is a device, not a file", filepath.Join(dir, "none"): "no such file or directory",
	} {
		text, err := cli.ReadWhole(path, 5)
		if err == nil && (want != "" || string(text) != "hello") || err != nil && err.Error() != "open "+path+": "+want {
			t.Errorf("%s: %q, %v", path, text, err)
		}
	}
	if _, err := cli.ReadWhole(filepath.Join(below, "f"), 4); err == nil || err.Error() != filepath.Join(below, "f")+" is larger than 4 bytes" {
		t.Errorf("%v", err)
	}
	if text, err := cli.ReadFile(filepath.Join(below, "f"), 3); err != nil || string(text) != "hell" {
		t.Errorf("%q, %v", text, err)
	}
	for name, want := range map[string]error{"f": nil, "../below/f": nil, "../outside": cli.ErrNotBelow, "up": cli.ErrNotBelow, "none": os.ErrNotExist} {
		f, err := cli.OpenBelow(below, below+"/"+name)
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
		if err == nil {
			f.Close()
		}
	}
}
