package client

import (
	"context"
	"time"

	"juju/apiserver/params"
	"juju/state/entity"
	"juju/state/tracing"
)

// stopTime limits the request to stop a watch. If it fails, the server stops the watch when the connection ends.
const stopTime = 10 * time.Second

// watch starts a watch and delivers its events until it ends; then it closes the channel. The server merges events
// while no one reads the channel, so at most one is pending here.
func watch[T any](
	ctx context.Context, caller Caller, facade, method string, args any, value func(params.Event) T,
) (events <-chan T, err error) {
	err = caller.Do(ctx, func(c *Conn) error {
		events, err = watchOn(ctx, c, facade, method, args, value)
		return err
	})
	return events, err
}

// watchOn is watch on one connection.
func watchOn[T any](
	ctx context.Context, c *Conn, facade, method string, args any, value func(params.Event) T,
) (<-chan T, error) {
	var w params.WatcherID
	if err := c.call(ctx, facade, 1, method, args, &w); err != nil {
		return nil, err
	}
	causes, own := tracing.CausesOf(ctx), (*tracing.Causes)(nil)
	next := ctx
	if causes != nil {
		own = &tracing.Causes{}
		next = tracing.WithCauses(ctx, own)
	}
	events := make(chan T)
	begun := c.task(func() {
		defer close(events)
		for {
			var event params.Event
			req := params.Request{Type: "Watcher", Version: 1, ID: w.ID, Request: "Next"}
			if err := c.request(next, req, nil, &event, nil); err != nil {
				if ctx.Err() != nil {
					c.stop(w.ID)
				}
				return
			}
			select {
			case events <- value(event):
				causes.Add(own.Take()...) // not before, because it would be taken for that of earlier events
			case <-ctx.Done():
				c.stop(w.ID)
				return
			case <-c.ctx.Done():
				return
			}
		}
	})
	if !begun {
		return nil, lost(c.Err())
	}
	return events, nil
}

// stop tells the server to stop a watch.
func (c *Conn) stop(id string) {
	ctx, cancel := context.WithTimeout(c.ctx, stopTime)
	defer cancel()
	_ = c.request(ctx, params.Request{Type: "Watcher", Version: 1, ID: id, Request: "Stop"}, nil, nil, nil)
}

func notify(ctx context.Context, caller Caller, facade, method string, args any) (<-chan struct{}, error) {
	return watch(ctx, caller, facade, method, args, func(params.Event) struct{} { return struct{}{} })
}

func names(ctx context.Context, caller Caller, facade, method string, args any) (<-chan []string, error) {
	return watch(ctx, caller, facade, method, args, func(e params.Event) []string { return e.Names })
}

func relationUnits(
	ctx context.Context, caller Caller, facade, method string, args any,
) (<-chan entity.RelationUnitsChange, error) {
	return watch(ctx, caller, facade, method, args, func(e params.Event) entity.RelationUnitsChange {
		if e.RelationUnits == nil {
			return entity.RelationUnitsChange{}
		}
		return *e.RelationUnits
	})
}
