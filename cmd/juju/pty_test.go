package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	"juju/cmd/juju/commands"
	"juju/cmd/juju/ssh"
	"juju/doc/tools/verify"
)

// The shell of debug-hooks, in a process of its own whose terminal the test plays.
func TestShellInTerminal(t *testing.T) {
	if os.Getenv("JUJU_TEST_SHELL") == "" {
		return // it is run by TestDebugHooksShell
	}
	s := commands.NewSession()
	code, err := ssh.Shell(s).Run(t.Context(), t.TempDir(), os.Environ())
	if err != nil || !s.InTerminal || !s.OutTerminal {
		t.Error(err, s.InTerminal, s.OutTerminal)
	}
	fmt.Printf("left with %d\n", code)
	os.Exit(0) // without the words of a test, and without its end: its TMPDIR is removed by the test that runs it
}

// inTerminal runs the shell of debug-hooks on a new terminal, types into it, and returns all that
// the terminal got.
func inTerminal(t *testing.T, typed string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestShellInTerminal$")
	cmd.Env = append(os.Environ(), "JUJU_TEST_SHELL=1", "TERM=xterm", "HOME="+t.TempDir(), "TMPDIR="+t.TempDir())
	shown, err := onTerminal(cmd, typed)
	if err != nil {
		t.Errorf("%v\n%q", err, shown)
	}
	return shown
}

// onTerminal runs a command on a new terminal, for at most a minute, types into it, and returns
// all that the terminal got until the last process had left it. Others get it as it comes.
func onTerminal(cmd *exec.Cmd, typed string, others ...io.Writer) (shown string, err error) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return "", err
	}
	defer terminal.Close()
	fd := int(terminal.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: castHeight, Col: castWidth})
	}
	if err != nil {
		return "", err
	}
	side, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return "", err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = side, side, side
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err = cmd.Start()
	side.Close()
	if err != nil {
		return "", err
	}
	defer time.AfterFunc(verify.Patience, func() { _ = cmd.Process.Kill() }).Stop()
	_, err = io.WriteString(terminal, typed)
	var got bytes.Buffer
	_, _ = io.Copy(io.MultiWriter(append(others, &got)...), terminal) // until the last process has left it, which is an error
	return got.String(), errors.Join(err, cmd.Wait())
}

// scriptTerminal runs a command on a terminal, types a file into it, and has what the terminal got
// as its stdout. The ttyin of testscript loses the last lines of a busy machine.
func scriptTerminal(ts *testscript.TestScript, neg bool, args []string) {
	noNot(ts, neg)
	if len(args) < 2 {
		ts.Fatalf("usage: terminal FILE COMMAND...")
	}
	cmd := exec.Command(args[1], args[2:]...)
	cmd.Dir = ts.MkAbs(".")
	for _, name := range []string{"HOME", "PATH", "JUJU_DATA", "TMPDIR"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	shown, err := onTerminal(cmd, ts.ReadFile(args[0]))
	fmt.Fprint(ts.Stdout(), strings.ReplaceAll(shown, "\r\n", "\n"))
	ts.Check(err)
}

// What runs in the shell of debug-hooks has the terminal to itself: what it writes arrives as it is.
func TestDebugHooksShell(t *testing.T) {
	t.Parallel()
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
