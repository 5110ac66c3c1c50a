package sshhost

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"golang.org/x/crypto/ssh"

	"juju/state/entity"
)

// dialTimeout is how long connecting may take.
const dialTimeout = 30 * time.Second

// A Conn is a connection to a host.
type Conn struct {
	host   Host
	client *ssh.Client
	// Address is the host's IP address.
	Address string
}

// Dial connects to a host, whose User must be set.
func Dial(ctx context.Context, h Host, keys Keys) (*Conn, error) {
	c, err := dial(ctx, h, keys)
	if err != nil {
		return nil, fmt.Errorf("cannot connect to %s@%s: %w", h.User, h, err)
	}
	return c, nil
}

func dial(ctx context.Context, h Host, keys Keys) (*Conn, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, dialTimeout, fmt.Errorf("no answer within %v", dialTimeout))
	defer cancel()
	known, err := readKnownHosts(keys.KnownHosts, h)
	if err != nil {
		return nil, err
	}
	signers, err := keys.open(ctx)
	if err != nil {
		return nil, err
	}
	defer signers.close()
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", h.address())
	if err != nil {
		return nil, because(ctx, err)
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	sshConn, channels, requests, err := ssh.NewClientConn(conn, h.address(), &ssh.ClientConfig{
		User: h.User, Auth: []ssh.AuthMethod{ssh.PublicKeysCallback(signers.list)},
		HostKeyCallback: known.check, HostKeyAlgorithms: known.algorithms(),
	})
	switch {
	case known.rejected != nil:
		err = known.rejected
	case err != nil && ctx.Err() == nil && known.accepted:
		err = entity.WithHint(errors.Join(entity.Errorf(entity.Unauthorized, "the host accepts none of your keys (%s)",
			signers.names()), signers.skipped), "To try it manually: ssh %s-o BatchMode=yes %s@%s true",
			portFlag(h), h.User, h.Name)
	}
	if err != nil {
		conn.Close()
		return nil, because(ctx, err)
	}
	ip, _, err := net.SplitHostPort(conn.RemoteAddr().String())
	if err != nil {
		conn.Close()
		return nil, err
	}
	return &Conn{h, ssh.NewClient(sshConn, channels, requests), ip}, nil
}

// Close ends the connection.
func (c *Conn) Close() error { return c.client.Close() }

// because returns the cause of a context that has ended, or else the error.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// portFlag is ssh's flag for a host's port.
func portFlag(h Host) string {
	if h.Port == DefaultPort {
		return ""
	}
	return fmt.Sprintf("-p %d ", h.Port)
}
