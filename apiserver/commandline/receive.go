package commandline

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
)

// socketFD is the file descriptor of the socket that a process inherits.
const socketFD = 3

// maxRequest limits the size of a request in bytes.
const maxRequest = 1 << 20

// Receive returns the request of this process, which Run has started, and a function that connects to the controller. From
// then on the process can open no file, run no program and use no network.
func Receive(stdin io.Reader) (r Request, dial func(context.Context) (net.Conn, error), err error) {
	text, err := io.ReadAll(io.LimitReader(stdin, maxRequest))
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		return r, nil, fmt.Errorf("cannot read the request: %w", err)
	}
	requests, err := unixConn(os.NewFile(socketFD, "socket"))
	if err != nil {
		return r, nil, fmt.Errorf("cannot reach the controller, which starts this program for its users: %w", err)
	}
	if err := confine(); err != nil {
		return r, nil, err
	}
	go func() {
		// The controller writes nothing, so this returns when it has died.
		_, _ = requests.Read(make([]byte, 1))
		os.Exit(1)
	}()
	var mu sync.Mutex
	return r, func(context.Context) (net.Conn, error) {
		mu.Lock()
		defer mu.Unlock()
		ours, theirs, err := pair(syscall.SOCK_STREAM)
		if err != nil {
			return nil, err
		}
		defer theirs.Close()
		if _, _, err := requests.WriteMsgUnix([]byte{0}, syscall.UnixRights(int(theirs.Fd())), nil); err != nil {
			ours.Close()
			return nil, err
		}
		return unixConn(ours)
	}, nil
}
