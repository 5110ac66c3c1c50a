package apiserver

import (
	"context"
	"errors"
	"time"

	"juju/apiserver/facades"
	"juju/apiserver/params"
	"juju/state/controller"
)

// clock returns the context of a request. It ends with the connection, or when the request has stood still for
// RequestTime: each transaction of its own, and whatever else mongo.Moved is called for, gives it more time. So the check
// of a large model, or a change of thousands of units, takes as long as it takes. A request that only reads what it
// replies needs no more than that: a client accepts a reply of 256 MiB, which is read in seconds.
func (c *conn) clock() (ctx context.Context, stop func()) {
	ctx, end := context.WithCancelCause(controller.Began(c.ctx))
	limit := c.server.limits.RequestTime
	timer := time.AfterFunc(limit, func() { end(context.DeadlineExceeded) })
	return controller.Moving(ctx, func() {
			timer.Reset(limit)
			c.moved.Store(true)
		}), func() {
			timer.Stop()
			end(nil)
		}
}

// turn waits until a request can be worked on: an agent's for its turn. The turn ends with release, and when a transaction
// has been applied: then the request waits for the disk, which many can share.
func (c *conn) turn(ctx context.Context, who *facades.Caller,
	r *facades.Route) (_ context.Context, release func(), err error) {
	if who.Roles&(facades.MachineAgent|facades.UnitAgent) == 0 || r.Handler.Waits {
		return ctx, func() {}, nil
	}
	release, err = c.server.agentTurns.Take(ctx, c.uuid)
	if err != nil {
		return nil, nil, err
	}
	return controller.Moving(ctx, release), release, nil
}

// outOfTime returns the error of a request, which is context.DeadlineExceeded if it ended for that reason.
func outOfTime(ctx context.Context, err error) error {
	if context.Cause(ctx) == context.DeadlineExceeded && errors.Is(err, context.Canceled) {
		return context.DeadlineExceeded
	}
	return err
}

// ping notes a ping, and returns its text. It tells the client whether a request has moved since the last one, so that the
// client's clocks go on as well.
func (c *conn) ping(now time.Time) []byte {
	c.line.Ping(now)
	if c.moved.Swap(false) {
		return []byte(params.Moving)
	}
	return nil
}

// noText is the ping of connections without requests.
func noText(time.Time) []byte { return nil }
