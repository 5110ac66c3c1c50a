package process

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"juju/doc/tools/verify"
)

// What a program prints is bounded, and its process group ends with it, however it ends.
func TestOutputIsBounded(t *testing.T) {
	// A child in the group writes its number, and waits until it is killed.
	leaving := `sleep 1000 & echo $! >"$1"; `
	endless := `ulimit -t 20; ` // of processor time, for one that is not ended
	for _, test := range []struct {
		about, script string
		want          error // matched
		out           string
	}{
		{"a version", `echo 1.2`, nil, "1.2\n"},
		{"it leaves a child", leaving + `echo 1.2`, nil, "1.2\n"},
		{"it prints without end", leaving + endless + `trap '' PIPE; while :; do echo y; done`, ErrTooMuch, ""},
		{"it complains without end", leaving + endless + `while :; do echo y >&2; done`, ErrTooMuch, ""},
		{"it hangs", leaving + `wait`, context.Canceled, ""},
	} {
		t.Run(test.about, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "child")
			ctx, cancel := context.WithTimeout(t.Context(), verify.Patience)
			defer cancel()
			if test.want == context.Canceled { // once the child has written
				go func() {
					for ctx.Err() == nil {
						if text, _ := os.ReadFile(file); strings.HasSuffix(string(text), "\n") {
							cancel()
						}
						time.Sleep(time.Millisecond)
					}
				}()
			}
			out, said, err := Program{Path: "sh", Args: []string{"-c", test.script, "sh", file}, Max: 1000, Alone: true}.Output(ctx)
			if !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
			if test.out != "" && string(out) != test.out || len(out) > 1000 || len(said) > 1000 {
				t.Errorf("it printed %d bytes, %.100q; and %d, %.100q", len(out), out, len(said), said)
			}
			text, err := os.ReadFile(file)
			if !strings.Contains(test.script, leaving) {
				return
			}
			child, err2 := strconv.Atoi(strings.TrimSpace(string(text)))
			if err := errors.Join(err, err2); err != nil {
				t.Fatal(err)
			}
			// A killed process may take a moment to be gone.
			for end := time.Now().Add(verify.Patience); ; time.Sleep(time.Millisecond) {
				if s, err := readStat(child); err != nil || s.ended() {
					break
				} else if time.Now().After(end) {
					_ = syscall.Kill(child, syscall.SIGKILL)
					t.Fatal("the child outlives the program")
				}
			}
		})
	}
}

// A program that is not Alone may leave something running.
func TestOutputOfAProgramThatLeavesSomething(t *testing.T) {
	out, _, err := Program{Path: "sh", Args: []string{"-c", "sleep 1000 & echo $!"}}.Output(t.Context())
	child, err2 := strconv.Atoi(strings.TrimSpace(string(out)))
	if err2 != nil || !errors.Is(err, exec.ErrWaitDelay) {
		t.Fatalf("got %v, %v", err, err2)
	}
	if err := syscall.Kill(child, syscall.SIGKILL); err != nil {
		t.Error(err)
	}
}
