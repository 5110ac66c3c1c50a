package controller

import (
	"context"
	"errors"
	"net"
	"syscall"
	"time"

	"juju/state/entity/backoff"
)

// portBound is how long a controller waits for its port while an outgoing connection of this host has it. The kernel may
// give the port to one while no controller listens there, and keeps it for a minute after the connection has ended.
const portBound = 90 * time.Second

// listen listens at an address.
func listen(ctx context.Context, address string) (net.Listener, error) {
	for end := time.Now().Add(portBound); ; {
		l, err := net.Listen("tcp", address)
		if err == nil || !errors.Is(err, syscall.EADDRINUSE) || time.Now().After(end) || isServed(address) {
			return l, err
		}
		if backoff.Sleep(ctx, 200*time.Millisecond) != nil {
			return nil, err
		}
	}
}

// isServed reports whether something accepts connections at an address.
func isServed(address string) bool {
	conn, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}
