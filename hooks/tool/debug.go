package tool

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// While a user debugs hooks of a unit, the program juju listens on a socket in the directory of
// the unit's agent. Before each hook, the agent asks there whether the user wants it. If so, it
// runs as the hook
//
//	hook-tool debug DIR HOOK
//
// which hands the hook's environment and directory to juju. juju opens a shell in them, and
// hook-tool exits with the shell's exit code. If either of the two processes ends, so does the
// other's part.
const DebugName = "debug"

// debugStdin stands for DIR if the connection is the standard input: it is then juju-run that runs
// the shell (see RunCommand).
const debugStdin = "-"

// debugSocket is the name of the socket.
const debugSocket = "debug.socket"

// askTimeout is how long an agent waits for the answer whether a user wants a hook.
const askTimeout = 2 * time.Second

// A DebugRequest is what an agent asks, or its hook.
type DebugRequest struct {
	Hook string   `json:"hook"`
	Run  bool     `json:"run,omitempty"` // false to ask whether the user wants the hook
	Env  []string `json:"env,omitempty"`
	Dir  string   `json:"dir,omitempty"`
}

type debugReply struct {
	Wanted bool `json:"wanted,omitempty"`
	Code   int  `json:"code,omitempty"`
}

// DebugWanted reports whether a user who debugs the unit whose agent uses dir wants the hook.
func DebugWanted(dir, hook string) (bool, error) {
	conn, err := dial(filepath.Join(dir, debugSocket), askTimeout)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return false, nil // no one debugs, or no one does any more
	}
	var reply debugReply
	if err == nil {
		defer conn.Close()
		err = conn.SetDeadline(time.Now().Add(askTimeout))
	}
	if err == nil {
		err = debugCall(conn, DebugRequest{Hook: hook}, &reply)
	}
	if err != nil {
		return false, fmt.Errorf("cannot ask juju debug-hooks: %w", err)
	}
	return reply.Wanted, nil
}

// Debug is what hook-tool debug runs. It returns the exit code of the user's shell. The user has
// all the time there is.
func Debug(args []string) (code int, err error) {
	if len(args) != 2 {
		return 2, fmt.Errorf("expected %s %s DIR HOOK, got %q", BinaryName, DebugName, args)
	}
	wd, err := os.Getwd()
	if err != nil {
		return 2, err
	}
	by, conn, err := "juju debug-hooks", net.Conn(nil), error(nil)
	if args[0] == debugStdin {
		by = JujuRunName
		conn, err = net.FileConn(os.Stdin)
	} else {
		conn, err = dial(filepath.Join(args[0], debugSocket), dialTimeout)
	}
	if err != nil {
		return 1, fmt.Errorf("cannot reach %s: %w", by, err)
	}
	defer conn.Close()
	var reply debugReply
	if err := debugCall(conn, DebugRequest{Hook: args[1], Run: true, Env: os.Environ(), Dir: wd}, &reply); err != nil {
		return 1, fmt.Errorf("%s has ended before the shell was left", by)
	}
	return reply.Code, nil
}

func debugCall(conn net.Conn, req DebugRequest, reply *debugReply) error {
	if err := writeMessage(conn, req); err != nil {
		return err
	}
	return readMessage(conn, reply)
}

// ErrAgentRemoved is the error of a session whose agent's directory is removed.
var ErrAgentRemoved = errors.New("the agent is removed")

// ErrDebugged is the error of a second session for one unit.
var ErrDebugged = errors.New("its hooks are being debugged already")

// ServeDebug gets hooks of the unit whose agent uses dir, until ctx is done: those for which wants
// returns true. It returns ErrAgentRemoved if the agent is removed meanwhile. run is called for one
// after another, and returns the hook's exit code; its context ends with the hook's process. ready is
// called when the agent can ask.
func ServeDebug(ctx context.Context, dir string, ready func(), wants func(hook string) bool,
	run func(context.Context, DebugRequest) int) error {
	path := filepath.Join(dir, debugSocket)
	if conn, err := dial(path, askTimeout); err == nil {
		conn.Close()
		return ErrDebugged
	}
	l, done, err := listen(path)
	if err != nil {
		return err
	}
	defer done()
	var conns sync.WaitGroup
	defer conns.Wait()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() { l.Close() })()
	stop, err := onRemoval(path, func() { cancel(ErrAgentRemoved) })
	if err != nil {
		return err
	}
	defer stop()
	ready()
	var one sync.Mutex // only one hook has the terminal
	for {
		conn, err := l.Accept()
		if errors.Is(context.Cause(ctx), ErrAgentRemoved) {
			return ErrAgentRemoved
		} else if ctx.Err() != nil {
			return nil
		} else if err != nil {
			return err
		}
		conns.Go(func() {
			defer conn.Close()
			var req DebugRequest
			_ = conn.SetDeadline(time.Now().Add(askTimeout)) // of the request
			if readMessage(conn, &req) != nil {
				return
			}
			if !req.Run {
				_ = writeMessage(conn, debugReply{Wanted: wants(req.Hook)})
				return
			}
			_ = conn.SetDeadline(time.Time{})
			during, over := untilClosed(ctx, conn)
			defer over()
			one.Lock()
			code := run(during, req)
			one.Unlock()
			if during.Err() == nil {
				_ = writeMessage(conn, debugReply{Code: code})
			}
		})
	}
}

// untilClosed returns a context that also ends when the other end closes the connection, on which it
// sends nothing more. over closes it on this end.
func untilClosed(ctx context.Context, conn net.Conn) (_ context.Context, over func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = conn.Read(make([]byte, 1))
		cancel()
	}()
	return ctx, func() {
		conn.Close()
		<-done
	}
}
