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
	probeBound   = time.Minute
	installBound = 15 * time.Minute
)

// maxOutput is how much of what a host prints is kept.
const maxOutput = 64 << 10

// asRoot runs the shell script that it reads as root. A user's shell may be any, so that the text
// needs only single quotes.
const asRoot = `exec /bin/sh -c 'if [ "$(id -u)" = 0 ]; then exec /bin/sh -s; else exec sudo -n /bin/sh -s; fi'`

// run runs a shell script on the host, which it reads from its standard input.
func (c *Conn) run(ctx context.Context, bound time.Duration, script string) (stdout string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, bound, fmt.Errorf("it has not ended within %v", bound))
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

// failure is a script that has failed.
type failure struct {
	status int
	said   string // on standard error
}

func (f *failure) Error() string {
	// What counts was said last.
	lines := strings.Split(strings.TrimSpace(f.said), "\n")
	if last := lines[len(lines)-1]; last != "" {
		return strings.TrimPrefix(last, "juju: ")
	}
	return fmt.Sprintf("it ended with status %d", f.status)
}

// limited keeps the last maxOutput bytes that are written to it.
type limited struct{ bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	l.Buffer.Write(p)
	l.Next(max(0, l.Len()-maxOutput))
	return len(p), nil
}
