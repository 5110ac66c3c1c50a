package agent

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"juju/apiserver/client"
	"juju/state/entity"
	"juju/state/entity/backoff"
)

// A link is a client.Caller that outlives connections, for the uniter and the machine actions worker. A hook must
// not fail because the controller is briefly unavailable, so a request interrupted by the loss of its
// connection is retried on the next one. This is safe because all requests of these workers are idempotent.
//
// A watch ends with its connection. The worker then restarts, once the running hook has ended.
type link struct {
	mu      sync.Mutex
	conn    *client.Conn
	changed chan struct{} // closed when conn is replaced
}

func newLink() *link { return &link{changed: make(chan struct{})} }

// linkBound limits how long a request waits for an unavailable controller.
const linkBound = 5 * time.Minute

// set sets the connection for subsequent requests; nil for none.
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
			return nil, entity.Errorf(entity.Unavailable, "the controller is unavailable: %w", context.Cause(ctx))
		}
	}
}

// The initial and maximum pause between attempts of a request that the controller can't serve at the moment.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 3 * time.Second
)

// Do makes a request. It retries the request on the next connection if its connection is lost, and on the
// same one if the controller can't serve it at the moment, for example while its store elects a primary.
func (l *link) Do(ctx context.Context, request func(*client.Conn) error) error {
	wait, cancel := context.WithTimeout(ctx, linkBound)
	defer cancel()
	logged, pauses := false, backoff.New(firstPause, lastPause)
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
			logger.Warningf("retrying a request for up to %v: %v", linkBound, err)
		}
		// The jitter keeps agents from retrying simultaneously.
		pause := pauses.Next()
		if backoff.Sleep(wait, pause/2+rand.N(pause)) != nil {
			return err
		}
	}
}

// passes reports whether an error is transient.
func passes(err error) bool {
	return errors.Is(err, entity.Unavailable) || errors.Is(err, entity.Contention)
}
