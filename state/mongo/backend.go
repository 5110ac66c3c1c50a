package mongo

import (
	"context"
	"time"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"

	"juju/state/mongo/adapter"
	"juju/state/mongo/embedded"
	"juju/state/mongo/outage"
)

// A backend is the server that a Store is a client of.
type backend interface {
	outage.Availability
	// barrier returns once everything that was read and written is on disk and can't be rolled back.
	barrier(context.Context) error
	// sync returns once everything that was written before is on disk.
	sync(context.Context) error
	// concern is the write concern of what must be confirmed by the majority, as a field of a command; none where each
	// confirmed write is already final.
	concern() []bson.DocElem
	// slots is how many transactions of a database run at once.
	slots() int
	close() error
}

// An embeddedBackend is the server embedded in this process.
type embeddedBackend struct {
	outage.Never
	server *embedded.Server
}

func (b embeddedBackend) barrier(ctx context.Context) error { return b.server.Barrier(ctx) }

func (b embeddedBackend) sync(ctx context.Context) error { return b.server.Barrier(ctx) }

func (embeddedBackend) concern() []bson.DocElem { return nil }

func (embeddedBackend) slots() int { return embeddedSlots }

func (b embeddedBackend) close() error { return b.server.Close() }

// A mongoBackend is a MongoDB.
type mongoBackend struct {
	*outage.Outage
	adapter *adapter.Adapter
	commits *groupCommit
	wait    time.Duration // how long a write may wait for the majority
	// majorityReads is set if reads tell only of what the majority has: then no reply needs a write of its own.
	majorityReads bool
}

func newMongoBackend(session *mgo.Session, a *adapter.Adapter, wait, bound time.Duration) *mongoBackend {
	g := newGroupCommit(session, wait, bound, a.Cut)
	return &mongoBackend{Outage: g.outage, adapter: a, commits: g, wait: wait}
}

func (b *mongoBackend) barrier(ctx context.Context) error {
	if b.majorityReads {
		return b.Err()
	}
	return b.commits.barrier(ctx)
}

func (b *mongoBackend) sync(ctx context.Context) error { return b.commits.barrier(ctx) }

func (b *mongoBackend) concern() []bson.DocElem { return []bson.DocElem{majorityConcern(b.wait)} }

func (b *mongoBackend) slots() int { return remoteSlots }

func (b *mongoBackend) close() error {
	b.commits.close()
	b.adapter.Close()
	return nil
}

// majorityConcern is the field of a command that waits for the majority, at most for a time.
func majorityConcern(wait time.Duration) bson.DocElem {
	return bson.DocElem{"writeConcern", bson.D{{"w", "majority"}, {"j", true}, {"wtimeout", int(wait / time.Millisecond)}}}
}
