package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The shell of debug-hooks, in a process of its own whose terminal the test plays.
func TestShellInTerminal(t *testing.T) {
	if os.Getenv("JUJU_TEST_SHELL") == "" {
		return // it is run by TestDebugHooksShell
	}
	s := newSession()
	code, err := s.shell().Run(t.Context(), t.TempDir(), os.Environ())
	if err != nil || !s.inTerminal || !s.outTerminal {
		t.Error(err, s.inTerminal, s.outTerminal)
	}
	fmt.Printf("left with %d\n", code)
	os.Exit(0) // without the words of a test
}

// inTerminal runs the shell of debug-hooks on a new terminal, types into it, and returns all that
// the terminal got.
func inTerminal(t *testing.T, typed string) string {
	t.Helper()
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer terminal.Close()
	fd := int(terminal.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	side, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestShellInTerminal$")
	cmd.Env = append(os.Environ(), "JUJU_TEST_SHELL=1", "TERM=xterm", "HOME="+t.TempDir())
	cmd.Stdin, cmd.Stdout, cmd.Stderr = side, side, side
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err = cmd.Start()
	side.Close()
	if err != nil {
		t.Fatal(err)
	}
	defer time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() }).Stop()
	if _, err := io.WriteString(terminal, typed); err != nil {
		t.Error(err)
	}
	var shown bytes.Buffer
	_, _ = io.Copy(&shown, terminal) // until the last process has left it, which is an error
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%q", err, shown.String())
	}
	return shown.String()
}

// What runs in the shell of debug-hooks has the terminal to itself: what it writes arrives as it is.
func TestDebugHooksShell(t *testing.T) {
	shown := inTerminal(t, `printf '\033[3%dmred\033[0m\377\a' 1; test -t 1 && test -t 2 && echo a ter""minal; exit 7`+"\n")
	for _, want := range []string{"\x1b[31mred\x1b[0m\xff\a", "a terminal\r\n", "left with 7\r\n"} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is not in\n%q", want, shown)
		}
	}
	for program, typed := range map[string]string{"vim": "vim -u NONE -i NONE +q; exit 7\n", "less": "seq 500 >lines; less lines; exit 7\nq"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Logf("not tried: %v", err)
			continue
		}
		const other = "\x1b[?1049h" // to the other screen
		if shown := inTerminal(t, typed); !strings.Contains(shown, other) || !strings.HasSuffix(shown, "left with 7\r\n") {
			t.Errorf("%s shows\n%q", program, shown)
		}
	}
}
