package commandline

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// A Request is a command line, and who gives it where.
type Request struct {
	Text string // "status --format json"
	Plan bool   // only say what it would lead to

	User, Password string
	ControllerName string
	Controller     string // its UUID
	Cloud          string // its kind
	CloudName      string
	Addresses      []string // of the API, to be shown
	CACert         string   // likewise
	Model, UUID    string   // the qualified name, "admin/default", and the UUID
}

// A Bound limits a process.
type Bound struct {
	Time   time.Duration
	Output int // bytes
}

// errTooMuch ends a process that prints too much.
var errTooMuch = errors.New("it printed too much")

// Run runs a program, which must call Receive, and passes each line that it prints to line until that fails, and each
// connection that it opens to accept. It returns when the process has ended, and kills it if ctx ends first. The error says
// why it was killed or could not be run; that a command fails is none.
func Run(ctx context.Context, program []string, r Request, b Bound, accept func(net.Conn) error,
	line func(string) error) error {
	text, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("cannot run a command: %w", err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ctx, stop := context.WithTimeoutCause(ctx, b.Time, fmt.Errorf("it ran for %v", b.Time))
	defer stop()
	ours, theirs, err := pair(syscall.SOCK_SEQPACKET)
	if err != nil {
		return fmt.Errorf("cannot run a command: %w", err)
	}
	defer theirs.Close()
	requests, err := unixConn(ours)
	if err != nil {
		return fmt.Errorf("cannot run a command: %w", err)
	}
	var accepting sync.WaitGroup
	defer accepting.Wait()
	defer requests.Close()
	output, prints, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("cannot run a command: %w", err)
	}
	defer output.Close()
	cmd := exec.CommandContext(ctx, program[0], program[1:]...)
	cmd.Env, cmd.Dir = []string{}, "/"
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(text), prints, prints
	cmd.ExtraFiles = []*os.File{theirs}
	err = cmd.Start()
	prints.Close()
	if err != nil {
		return fmt.Errorf("cannot run a command: %w", err)
	}
	theirs.Close()
	accepting.Go(func() { receiveConns(requests, accept) })
	err = eachLine(output, b.Output, line)
	if err != nil {
		cancel(err)
	}
	if waitErr := cmd.Wait(); ctx.Err() == nil && cmd.ProcessState == nil {
		return fmt.Errorf("cannot run a command: %w", waitErr)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// eachLine passes each line to line, until there are more than limit bytes.
func eachLine(output *os.File, limit int, line func(string) error) error {
	lines := bufio.NewScanner(output)
	lines.Buffer(nil, limit+1)
	left := limit
	for lines.Scan() {
		if left -= len(lines.Bytes()) + 1; left < 0 {
			return errTooMuch
		}
		if err := line(lines.Text()); err != nil {
			return err
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return errTooMuch
	}
	return lines.Err()
}

// receiveConns accepts the connections that a process opens, until it ends.
func receiveConns(requests *net.UnixConn, accept func(net.Conn) error) {
	one, rights := make([]byte, 1), make([]byte, syscall.CmsgSpace(4))
	for {
		n, size, _, _, err := requests.ReadMsgUnix(one, rights)
		if err != nil || n == 0 {
			return
		}
		messages, err := syscall.ParseSocketControlMessage(rights[:size])
		if err != nil || len(messages) != 1 {
			return
		}
		fds, err := syscall.ParseUnixRights(&messages[0])
		if err != nil || len(fds) != 1 {
			return
		}
		syscall.CloseOnExec(fds[0])
		conn, err := unixConn(os.NewFile(uintptr(fds[0]), "connection"))
		if err != nil {
			return
		}
		if err := accept(conn); err != nil {
			conn.Close()
		}
	}
}

// pair returns the two ends of a new socket pair.
func pair(kind int) (a, b *os.File, err error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, kind|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	return os.NewFile(uintptr(fds[0]), "socket"), os.NewFile(uintptr(fds[1]), "socket"), nil
}

// unixConn returns the connection of a socket's file, which it closes.
func unixConn(f *os.File) (*net.UnixConn, error) {
	defer f.Close()
	conn, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	unix, ok := conn.(*net.UnixConn)
	if !ok {
		conn.Close()
		return nil, errors.New("not a unix socket")
	}
	return unix, nil
}
