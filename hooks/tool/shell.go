package tool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// A Shell is a user's, in the directory and the environment of a hook.
type Shell struct {
	Prompt   string
	Terminal bool   // the standard input of this process is a terminal
	Term     string // which kind, or "": the hook's own TERM is that of a program
	Stdin    io.Reader
	Stdout   io.Writer
	Stderr   io.Writer
}

// Run runs the shell until the user leaves it, or ctx ends, and returns its exit code.
func (s Shell) Run(ctx context.Context, dir string, env []string) (code int, err error) {
	argv := []string{"sh"}
	if _, err := exec.LookPath("bash"); err == nil {
		// It leaves what follows exit in a pipe to the next hook's shell.
		argv = []string{"bash", "--noprofile", "--norc"}
	}
	if s.Terminal {
		argv = append(argv, "-i")
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, append(env, "PS1="+s.Prompt)
	if s.Terminal && s.Term != "" {
		cmd.Env = append(cmd.Env, "TERM="+s.Term)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.Stdin, s.Stdout, s.Stderr
	if s.Terminal {
		defer foreground(cmd)()
	}
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return 1, fmt.Errorf("cannot open a shell: %w", err)
	}
	if code := cmd.ProcessState.ExitCode(); code >= 0 {
		return code, nil
	}
	return 1, nil // killed
}

// foreground gives the terminal to a command that is about to start, and returns the function that
// takes it back: otherwise ctrl-c would end this program too.
func foreground(cmd *exec.Cmd) (back func()) {
	tty := int(os.Stdin.Fd())
	state, err := unix.IoctlGetTermios(tty, unix.TCGETS)
	cmd.SysProcAttr = &syscall.SysProcAttr{Foreground: true, Ctty: tty}
	signal.Ignore(unix.SIGTTOU) // or taking it back would stop this program
	return func() {
		_ = unix.IoctlSetPointerInt(tty, unix.TIOCSPGRP, unix.Getpgrp())
		if err == nil {
			_ = unix.IoctlSetTermios(tty, unix.TCSETS, state)
		}
	}
}
