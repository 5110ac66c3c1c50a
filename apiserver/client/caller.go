package client

import (
	"context"

	"juju/state/entity"
)

// A Caller makes the requests of the agents' facades (MachinerFacade, UniterFacade, …). A *Conn sends each request
// once.
type Caller interface {
	// Do calls request with a connection. It may call it again with another connection if the first fails, so a request
	// must be repeatable.
	Do(ctx context.Context, request func(*Conn) error) error
}

// Do calls request with this connection.
func (c *Conn) Do(_ context.Context, request func(*Conn) error) error { return request(c) }

// call makes a request to an agent's facade.
func call(ctx context.Context, caller Caller, facade, method string, args, result any) error {
	return caller.Do(ctx, func(c *Conn) error { return c.call(ctx, facade, 1, method, args, result) })
}

// isOne returns an error if a request for one thing got another number of results.
func isOne(results int) error { return areAll(1, results) }

// areAll returns an error if a request for some things got another number of results: it is not known what became of those
// that have none.
func areAll(asked, results int) error {
	switch {
	case results == asked:
		return nil
	case asked == 1:
		return entity.Errorf(entity.Unavailable, "the controller gave %d results for one request", results)
	}
	return entity.Errorf(entity.Unavailable, "the controller gave %d results for %d requests", results, asked)
}
