package conformancetest_test

import (
	"bytes"
	"cmp"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"juju/doc/tools/verify"
)

// TestMongosh runs MongoDB's shell on a jujud process. testdata/mongosh.txt has what a person types, each after "> ",
// and what the shell then prints. The shell is not in this repository: make verify-mongosh downloads it and runs this
// test.
func TestMongosh(t *testing.T) {
	verify.Only(t, "needs mongosh")
	t.Parallel()
	mongosh, err := exec.LookPath(cmp.Or(os.Getenv("MONGOSH"), "mongosh"))
	if err != nil {
		t.Skip("MONGOSH does not name a mongosh, and none is on PATH; make verify-mongosh installs one")
	}
	text, err := os.ReadFile("testdata/mongosh.txt")
	if err != nil {
		t.Fatal(err)
	}
	var typed, want []string
	for line := range strings.Lines(string(text)) {
		switch line = strings.TrimSuffix(line, "\n"); {
		case strings.HasPrefix(line, "> "):
			typed, want = append(typed, line[2:]), append(want, "")
		case len(want) > 0:
			want[len(want)-1] += line + "\n"
		}
	}
	p := start(t, buildJujud(t), t.TempDir())
	home := t.TempDir()
	config := filepath.Join(home, ".mongodb", "mongosh", "config")
	if err := os.MkdirAll(filepath.Dir(config), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, []byte(`{"enableTelemetry": false, "disableGreetingMessage": true}`), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), verify.Patience)
	defer cancel()
	shell := exec.CommandContext(ctx, mongosh, "--quiet", "--norc", "mongodb://"+p.addr+"/shop")
	shell.Env = append(os.Environ(), "HOME="+home, "NO_COLOR=1")
	shell.Stdin = strings.NewReader(strings.Join(typed, "\n") + "\n")
	var stderr bytes.Buffer
	shell.Stderr = &stderr
	output, err := shell.Output()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, output, stderr.Bytes())
	}
	const prompt = "embedded [direct: primary] shop> "
	answers := strings.Split(string(output), prompt)
	if len(answers) != len(typed)+2 {
		t.Fatalf("%d answers to %d lines:\n%s", len(answers)-2, len(typed), output)
	}
	for i, got := range answers[1 : len(answers)-1] {
		got = strings.TrimSpace(strings.ReplaceAll(got, "\r", "")) // it erases its prompt
		if got != strings.TrimSpace(want[i]) {
			t.Errorf("> %s\n%s\nwant\n%s", typed[i], got, want[i])
		}
	}
}
