package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// MaxOutput is the default limit of a program's output, in bytes.
const MaxOutput = 1 << 20

// ErrTooMuch is matched by the error of a program that was killed because it printed too much.
var ErrTooMuch = errors.New("it prints too much")

// outputGrace is how long output is read after the program has exited, because children that it left running
// may hold the pipes open.
const outputGrace = time.Second

// A Program is a short-lived program with limited output.
type Program struct {
	Path  string
	Args  []string
	Env   []string // replaces this process's environment
	Stdin io.Reader
	Max   int // the limit in bytes of each output stream; MaxOutput if 0
	// Alone runs it in a process group of its own, which is killed when the program exits.
	Alone bool
}

// Output runs the program and returns its output. It kills the program if ctx ends or the output exceeds the
// limit.
func (p Program) Output(ctx context.Context) (out, errOut []byte, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	max := p.Max
	if max == 0 {
		max = MaxOutput
	}
	full := func() { cancel(fmt.Errorf("%w: more than %d bytes", ErrTooMuch, max)) }
	stdout, stderr := Kept{Max: max, Full: full}, Kept{Max: max, Full: full}
	cmd := exec.CommandContext(ctx, p.Path, p.Args...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = p.Env, p.Stdin, &stdout, &stderr, outputGrace
	if p.Alone {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	if p.Alone {
		endGroup(cmd.Process.Pid)
	}
	err = cmd.Wait()
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	return stdout.Bytes(), stderr.Bytes(), err
}

// endGroup waits until the leader of a process group, which is a child, has exited, and kills the rest of the
// group. The leader is not reaped yet, so its pid can't be another group's.
func endGroup(leader int) {
	for {
		err := unix.Waitid(unix.P_PID, leader, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	_ = syscall.Kill(-leader, syscall.SIGKILL)
}

// A Kept is a writer that keeps the first Max bytes.
type Kept struct {
	Max  int
	Full func() // called when more bytes are written; may be nil

	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (k *Kept) Write(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	room := k.Max - k.text.Len()
	if len(p) > room && k.Full != nil {
		k.Full()
	}
	k.text.Write(p[:min(len(p), room)])
	return len(p), nil
}

// Bytes returns the kept bytes.
func (k *Kept) Bytes() []byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.text.Bytes()
}

// String returns the kept bytes as a string.
func (k *Kept) String() string { return string(k.Bytes()) }
