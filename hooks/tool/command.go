package tool

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// A unit's agent listens on a socket in its own directory, which only its user and root can enter.
// There juju-run asks it to run a command as a hook of the unit is run, and passes the descriptors
// of its own standard streams along. So the command reads and writes what its user does, and what
// it prints is not logged. Its exit code comes back. If juju-run ends, the command is ended.
//
// A shell for the user is the same with the command
//
//	hook-tool debug - juju-run
//
// whose standard input is a socket that leads to juju-run, which runs the shell.

// commandSocket is the name of the socket.
const commandSocket = "run.socket"

// A CommandRequest is what juju-run asks.
type CommandRequest struct {
	Command string `json:"command,omitempty"`
	Shell   bool   `json:"shell,omitempty"` // in place of a command
	// Relation is the relation that the command is about: "3" or "db:3"; "" for none.
	Relation          string `json:"relation,omitempty"`
	RemoteUnit        string `json:"remote-unit,omitempty"`
	RemoteApplication string `json:"remote-application,omitempty"`
	// ForceRemoteUnit says that RemoteUnit need not be in the relation.
	ForceRemoteUnit bool `json:"force-remote-unit,omitempty"`
}

// ShellProgram returns the arguments with which the launcher runs a user's shell.
func ShellProgram() []string { return []string{DebugName, debugStdin, JujuRunName} }

type commandReply struct {
	Code  int    `json:"code"`
	Error string `json:"error,omitempty"`
	Hint  string `json:"hint,omitempty"`
}

// ServeCommands takes requests of juju-run for the unit whose agent uses dir, until ctx is done. For
// each of them it calls run, in a goroutine of its own, with juju-run's standard input, output and
// error. The context of run ends with juju-run. A code other than 0 is the command's exit code; an
// error says why there is none, and hint returns advice about it.
func ServeCommands(ctx context.Context, dir string, hint func(error) string,
	run func(context.Context, CommandRequest, [3]*os.File) (code int, err error)) error {
	l, done, err := listen(filepath.Join(dir, commandSocket))
	if err != nil {
		return fmt.Errorf("cannot listen for %s: %w", JujuRunName, err)
	}
	defer done()
	var conns sync.WaitGroup
	defer conns.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() { l.Close() })()
	slots := make(chan struct{}, maxTools)
	for {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		conn, err := l.AcceptUnix()
		if ctx.Err() != nil {
			return nil
		} else if err != nil {
			return fmt.Errorf("cannot listen for %s: %w", JujuRunName, err)
		}
		conns.Go(func() {
			defer func() { <-slots }()
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(requestTimeout))
			var req CommandRequest
			streams, err := readRequest(conn, &req)
			if err != nil {
				_ = writeMessage(conn, commandReply{Error: err.Error()})
				return
			}
			defer closeAll(streams[:])
			_ = conn.SetDeadline(time.Time{})
			during, over := untilClosed(ctx, conn)
			defer over()
			code, err := run(during, req, streams)
			reply := commandReply{Code: code}
			if err != nil {
				reply = commandReply{Error: err.Error(), Hint: hint(err)}
			}
			_ = conn.SetWriteDeadline(time.Now().Add(requestTimeout))
			_ = writeMessage(conn, reply)
		})
	}
}

// A descriptorReader reads a stream in which descriptors come with the first byte.
type descriptorReader struct {
	*net.UnixConn
	files []*os.File
}

func (r *descriptorReader) Read(p []byte) (int, error) {
	if r.files != nil {
		return r.UnixConn.Read(p)
	}
	oob := make([]byte, 256)
	n, oobn, _, _, err := r.ReadMsgUnix(p, oob)
	r.files = []*os.File{}
	if err != nil {
		return n, err
	}
	messages, err := syscall.ParseSocketControlMessage(oob[:oobn])
	for _, m := range messages {
		if fds, err := syscall.ParseUnixRights(&m); err == nil {
			for _, fd := range fds {
				r.files = append(r.files, os.NewFile(uintptr(fd), JujuRunName))
			}
		}
	}
	return n, err
}

// readRequest reads a request and the descriptors of three streams.
func readRequest(conn *net.UnixConn, req *CommandRequest) (streams [3]*os.File, err error) {
	r := &descriptorReader{UnixConn: conn}
	err = readMessage(r, req)
	if err == nil && len(r.files) != len(streams) {
		err = errors.New("a command needs three streams")
	}
	if err != nil {
		closeAll(r.files)
		return streams, err
	}
	return [3]*os.File(r.files), nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// askCommand asks the agent that uses dir to run a command, and waits for its end.
func askCommand(dir string, req CommandRequest, streams [3]*os.File) (code int, err error) {
	conn, err := dial(filepath.Join(dir, commandSocket), dialTimeout)
	if err != nil {
		return 1, hinted{fmt.Errorf("cannot reach the agent: %w", err), "is it running? juju status shows that"}
	}
	defer conn.Close()
	unix, _ := conn.(*net.UnixConn)
	_ = conn.SetWriteDeadline(time.Now().Add(requestTimeout))
	var fds []int
	for _, f := range streams {
		fds = append(fds, int(f.Fd()))
	}
	w := &descriptorWriter{UnixConn: unix, oob: syscall.UnixRights(fds...)}
	if err := writeMessage(w, req); err != nil {
		return 1, fmt.Errorf("cannot ask the agent: %w", err)
	}
	var reply commandReply
	if err := readMessage(conn, &reply); err != nil {
		return 1, errors.New("the agent has ended before the command was over")
	}
	if reply.Error != "" {
		return 1, hinted{errors.New(reply.Error), reply.Hint}
	}
	return reply.Code, nil
}

// A descriptorWriter sends descriptors with what it writes.
type descriptorWriter struct {
	*net.UnixConn
	oob []byte
}

func (w *descriptorWriter) Write(p []byte) (int, error) {
	n, _, err := w.WriteMsgUnix(p, w.oob, nil)
	w.oob = nil
	if err == nil && n < len(p) {
		var more int
		more, err = w.UnixConn.Write(p[n:])
		n += more
	}
	return n, err
}
