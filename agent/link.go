package agent

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"sync"
	"time"

	"juju/apiserver/client"
	"juju/state/entity"
)

// A link is the API as the uniter sees it: it outlives connections. A hook that
// runs while the controller is away for a moment must not fail for that, so a
// request that a lost connection has cut short is made again on the next one.
// That is safe because each of the uniter's requests can be repeated: it says how
// things shall be, and being so already is no error.
//
// A watch ends with the connection that it was begun on; the uniter then begins
// anew, when the hook that runs is over.
type link struct {
	mu      sync.Mutex
	conn    *client.Conn
	changed chan struct{} // closed when conn is another
}

func newLink() *link { return &link{changed: make(chan struct{})} }

// linkBound is how long a request waits for a controller that is away.
const linkBound = 5 * time.Minute

// set makes conn the connection of all requests to come; nil for none.
func (l *link) set(conn *client.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conn = conn
	close(l.changed)
	l.changed = make(chan struct{})
}

// get returns the connection when there is one.
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

// The pauses between two attempts at what the controller can't do just now.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 3 * time.Second
)

// call makes a request: on the next connection too if the one it was made on is lost
// meanwhile, and again if the controller says that it can't do it just now, as while its
// store elects a primary.
func call[T any](ctx context.Context, l *link, request func(*client.Conn) (T, error)) (T, error) {
	wait, cancel := context.WithTimeout(ctx, linkBound)
	defer cancel()
	told, pause := false, firstPause
	for {
		conn, err := l.get(wait)
		if err != nil {
			var none T
			return none, err
		}
		result, err := request(conn)
		if err == nil || ctx.Err() != nil {
			return result, err
		}
		if conn.Err() != nil {
			continue
		}
		if !passes(err) {
			return result, err
		}
		if !told {
			told = true
			logger.Warningf("the controller is asked again, for up to %v: %v", linkBound, err)
		}
		// Not all agents at the same moment.
		select {
		case <-time.After(pause/2 + rand.N(pause)):
			pause = min(2*pause, lastPause)
		case <-wait.Done():
			return result, err
		}
	}
}

// passes says whether an answer may be another soon.
func passes(err error) bool {
	return errors.Is(err, entity.Unavailable) || errors.Is(err, entity.Contention)
}

// do is call for requests that have no result.
func do(ctx context.Context, l *link, request func(*client.Conn) error) error {
	_, err := call(ctx, l, func(c *client.Conn) (struct{}, error) { return struct{}{}, request(c) })
	return err
}

func (l *link) Unit(ctx context.Context, unit entity.Tag) (entity.UnitInfo, error) {
	return call(ctx, l, func(c *client.Conn) (entity.UnitInfo, error) { return c.Unit(ctx, unit) })
}

func (l *link) WatchUnit(ctx context.Context, unit entity.Tag) (<-chan struct{}, error) {
	return call(ctx, l, func(c *client.Conn) (<-chan struct{}, error) { return c.WatchUnit(ctx, unit) })
}

func (l *link) Relations(ctx context.Context, unit entity.Tag) ([]entity.RelationInfo, error) {
	return call(ctx, l, func(c *client.Conn) ([]entity.RelationInfo, error) { return c.Relations(ctx, unit) })
}

func (l *link) WatchRelations(ctx context.Context, unit entity.Tag) (<-chan struct{}, error) {
	return call(ctx, l, func(c *client.Conn) (<-chan struct{}, error) { return c.WatchRelations(ctx, unit) })
}

func (l *link) WatchRelationUnits(ctx context.Context, unit entity.Tag, relation int) (<-chan entity.RelationUnitsChange, error) {
	return call(ctx, l, func(c *client.Conn) (<-chan entity.RelationUnitsChange, error) {
		return c.WatchRelationUnits(ctx, unit, relation)
	})
}

func (l *link) RetryHooks(ctx context.Context, unit entity.Tag) (bool, error) {
	return call(ctx, l, func(c *client.Conn) (bool, error) { return c.RetryHooks(ctx, unit) })
}

func (l *link) WatchRetryHooks(ctx context.Context, unit entity.Tag) (<-chan struct{}, error) {
	return call(ctx, l, func(c *client.Conn) (<-chan struct{}, error) { return c.WatchRetryHooks(ctx, unit) })
}

func (l *link) EnterScope(ctx context.Context, unit entity.Tag, relation int) error {
	return do(ctx, l, func(c *client.Conn) error { return c.EnterScope(ctx, unit, relation) })
}

func (l *link) LeaveScope(ctx context.Context, unit entity.Tag, relation int) error {
	return do(ctx, l, func(c *client.Conn) error { return c.LeaveScope(ctx, unit, relation) })
}

func (l *link) Config(ctx context.Context, unit entity.Tag) (map[string]any, error) {
	return call(ctx, l, func(c *client.Conn) (map[string]any, error) { return c.Config(ctx, unit) })
}

func (l *link) RelationSettings(ctx context.Context, unit entity.Tag, relation int, remote string) (map[string]string, error) {
	return call(ctx, l, func(c *client.Conn) (map[string]string, error) {
		return c.RelationSettings(ctx, unit, relation, remote)
	})
}

func (l *link) OpenedPorts(ctx context.Context, unit entity.Tag) (map[string][]entity.PortRange, error) {
	return call(ctx, l, func(c *client.Conn) (map[string][]entity.PortRange, error) { return c.OpenedPorts(ctx, unit) })
}

func (l *link) CommitHook(ctx context.Context, unit entity.Tag, changes entity.HookChanges) error {
	return do(ctx, l, func(c *client.Conn) error { return c.CommitHook(ctx, unit, changes) })
}

func (l *link) SetUnitStatus(ctx context.Context, unit entity.Tag, status entity.Status) error {
	return do(ctx, l, func(c *client.Conn) error { return c.SetUnitStatus(ctx, unit, status) })
}

func (l *link) UnitStatus(ctx context.Context, unit entity.Tag) (entity.Status, error) {
	return call(ctx, l, func(c *client.Conn) (entity.Status, error) { return c.UnitStatus(ctx, unit) })
}

func (l *link) SetAgentStatus(ctx context.Context, unit entity.Tag, status entity.Status) error {
	return do(ctx, l, func(c *client.Conn) error { return c.SetAgentStatus(ctx, unit, status) })
}

func (l *link) ClearResolved(ctx context.Context, unit entity.Tag) error {
	return do(ctx, l, func(c *client.Conn) error { return c.ClearResolved(ctx, unit) })
}

func (l *link) SetCharm(ctx context.Context, unit entity.Tag, url string) error {
	return do(ctx, l, func(c *client.Conn) error { return c.SetCharm(ctx, unit, url) })
}

func (l *link) CharmArchive(ctx context.Context, url string) (io.ReadCloser, string, error) {
	type opened struct {
		archive io.ReadCloser
		sha256  string
	}
	o, err := call(ctx, l, func(c *client.Conn) (opened, error) {
		archive, sha256, err := c.CharmArchive(ctx, url)
		return opened{archive, sha256}, err
	})
	return o.archive, o.sha256, err
}

func (l *link) DestroyUnit(ctx context.Context, unit entity.Tag) error {
	return do(ctx, l, func(c *client.Conn) error { return c.DestroyUnit(ctx, unit) })
}

func (l *link) DestroySubordinates(ctx context.Context, unit entity.Tag) error {
	return do(ctx, l, func(c *client.Conn) error { return c.DestroySubordinates(ctx, unit) })
}

func (l *link) EnsureDead(ctx context.Context, tag entity.Tag) error {
	return do(ctx, l, func(c *client.Conn) error { return c.EnsureDead(ctx, tag) })
}
