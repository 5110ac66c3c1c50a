package sshhost

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
)

// How long commands on the host may take.
const (
	probeTimeout   = time.Minute
	installTimeout = 15 * time.Minute
)

// maxOutput is how much of a host's output is kept.
const maxOutput = 64 << 10

// asRoot runs the shell script on standard input as root. It uses only single quotes, to work with any login shell.
const asRoot = `exec /bin/sh -c 'if [ "$(id -u)" = 0 ]; then exec /bin/sh -s; else exec sudo -n /bin/sh -s; fi'`

// run runs a shell script on the host, passed on standard input.
func (c *Conn) run(ctx context.Context, timeout time.Duration, script string) (stdout string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("it did not finish within %v", timeout))
	defer cancel()
	stop := context.AfterFunc(ctx, func() { c.client.Close() })
	defer stop()
	session, err := c.client.NewSession()
	if err != nil {
		return "", because(ctx, err)
	}
	defer session.Close()
	var out, said limited
	session.Stdin, session.Stdout, session.Stderr = strings.NewReader(script), &out, &said
	err = session.Run(asRoot)
	if cause := context.Cause(ctx); cause != nil {
		return "", cause
	}
	var exit *ssh.ExitError
	if errors.As(err, &exit) {
		return out.String(), &failure{exit.ExitStatus(), said.String()}
	}
	return out.String(), err
}

// failure is the error of a script.
type failure struct {
	status int
	said   string // on standard error
}

func (f *failure) Error() string {
	// The last line has the reason.
	lines := strings.Split(strings.TrimSpace(f.said), "\n")
	if last := lines[len(lines)-1]; last != "" {
		return strings.TrimPrefix(last, "juju: ")
	}
	return fmt.Sprintf("it exited with status %d", f.status)
}

// limited keeps the last maxOutput bytes that are written to it.
type limited struct{ bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	l.Buffer.Write(p)
	l.Next(max(0, l.Len()-maxOutput))
	return len(p), nil
}
