package agent

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"juju/apiserver/client"
	"juju/state/entity"
)

// A link is a client.Caller that outlives connections, for the uniter, and for what runs a machine's
// commands. A hook must not fail because the controller is away for a moment, so a request that is
// cut short by a lost connection is made again on the next one. That is safe because all of the
// requests of these workers can be repeated: each succeeds if what it asks for is so already.
//
// A watch ends with its connection. The worker then starts anew, after the hook that runs.
type link struct {
	mu      sync.Mutex
	conn    *client.Conn
	changed chan struct{} // closed when conn is replaced
}

func newLink() *link { return &link{changed: make(chan struct{})} }

// linkBound is how long a request waits for a controller that is away.
const linkBound = 5 * time.Minute

// set makes conn the connection of the next requests; nil for none.
func (l *link) set(conn *client.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conn = conn
	close(l.changed)
	l.changed = make(chan struct{})
}

// get returns the connection, or waits for one.
func (l *link) get(ctx context.Context) (*client.Conn, error) {
	for {
		l.mu.Lock()
		conn, changed := l.conn, l.changed
		l.mu.Unlock()
		if conn != nil && conn.Err() == nil {
			return conn, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, entity.Errorf(entity.Unavailable, "the controller is away: %w", context.Cause(ctx))
		}
	}
}

// The pauses between two attempts of a request that the controller can't serve just now.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 3 * time.Second
)

// Do makes a request. It repeats the request on the next connection if the one that it was
// made on is lost, and on the same one if the controller says that it can't serve it just
// now, as while its store elects a primary.
func (l *link) Do(ctx context.Context, request func(*client.Conn) error) error {
	wait, cancel := context.WithTimeout(ctx, linkBound)
	defer cancel()
	logged, pause := false, firstPause
	for {
		conn, err := l.get(wait)
		if err != nil {
			return err
		}
		err = request(conn)
		if err == nil || ctx.Err() != nil {
			return err
		}
		if conn.Err() != nil {
			continue
		}
		if !passes(err) {
			return err
		}
		if !logged {
			logged = true
			logger.Warningf("repeating a request for up to %v: %v", linkBound, err)
		}
		// The jitter keeps agents from asking at the same moment.
		select {
		case <-time.After(pause/2 + rand.N(pause)):
			pause = min(2*pause, lastPause)
		case <-wait.Done():
			return err
		}
	}
}

// passes reports whether another attempt may have another result.
func passes(err error) bool {
	return errors.Is(err, entity.Unavailable) || errors.Is(err, entity.Contention)
}
