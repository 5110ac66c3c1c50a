package tool

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"
)

// maxSocketPath is the longest path that is put into a socket's address as it is; the kernel
// takes 107 bytes.
const maxSocketPath = 100

// shortPath returns a name of the socket at path that fits into an address,
// and what to call when the name is no longer needed. A long path is named
// through a descriptor of its directory, so that an agent's directory may lie
// anywhere and the socket still be in it, behind the directory's permissions.
func shortPath(path string) (short string, done func(), err error) {
	if len(path) <= maxSocketPath {
		return path, func() {}, nil
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return "", nil, err
	}
	short = fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path))
	return short, func() { dir.Close() }, nil
}

// dial connects to the agent's socket.
func dial(path string, timeout time.Duration) (net.Conn, error) {
	short, done, err := shortPath(path)
	if err != nil {
		return nil, err
	}
	defer done()
	return net.DialTimeout("unix", short, timeout)
}

// listen makes the socket, in place of one that a dead agent has left.
func listen(path string) (l *net.UnixListener, done func(), err error) {
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return nil, nil, err
	}
	short, done, err := shortPath(path)
	if err != nil {
		return nil, nil, err
	}
	l, err = net.ListenUnix("unix", &net.UnixAddr{Name: short, Net: "unix"})
	if err != nil {
		done()
		return nil, nil, err
	}
	return l, done, nil
}
