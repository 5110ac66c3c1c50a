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

// MaxOutput is how much of a program's output is kept where no more is expected, in bytes.
const MaxOutput = 1 << 20

// ErrTooMuch is matched by the error of a program that was killed because it printed too much.
var ErrTooMuch = errors.New("it prints too much")

// outputGrace is how long output is read after the end of the program that printed it. What it leaves running
// may have it open.
const outputGrace = time.Second

// A Program is a program that prints little and ends by itself.
type Program struct {
	Path  string
	Args  []string
	Env   []string // instead of this process's
	Stdin io.Reader
	Max   int // bytes that it may print to either stream; MaxOutput when 0
	// Alone gives it a process group of its own, of which nothing outlives it.
	Alone bool
}

// Output runs the program and returns what it prints. It kills the program when ctx ends, or it prints too much.
func (p Program) Output(ctx context.Context) (out, said []byte, err error) {
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

// endGroup waits until the leader of a process group, a child, has ended, and kills the rest of the group. The
// leader is not reaped yet, so its number is no other group's.
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
	Full func() // is called when there are more, if it is set

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

// Bytes returns what is kept.
func (k *Kept) Bytes() []byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.text.Bytes()
}

// String returns what is kept.
func (k *Kept) String() string { return string(k.Bytes()) }
