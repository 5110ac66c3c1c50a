// Package lease stores the leadership leases of services, for all models, in the controller's database. It
// writes them by compare-and-swap, outside transactions.
package lease

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/mongo"
)

// Collection is the collection of services' leases; ID returns their ids.
const Collection = "leases"

// A Doc is the promise to a unit that no other unit will lead its service for some time.
type Doc struct {
	ID       string        `bson:"_id"`
	Holder   string        `bson:"holder"` // a unit, or "" once released
	Epoch    int64         `bson:"epoch"`  // grows each time a unit claims it
	Beat     int64         `bson:"beat"`   // grows each time it is renewed or released
	Duration time.Duration `bson:"duration"`
}

// ID returns the id of a service's lease, in the model with this UUID.
func ID(model, service string) string { return model + "#" + service }

// A Lease is a lease as it was read.
type Lease struct {
	Doc
	There bool
	Left  time.Duration // until it expires; 0 or less if it has
}

// Leases are the leases of a controller. They are safe for concurrent use.
type Leases struct {
	db      *mongo.Database
	in      string // the collection
	barrier func(context.Context) error
	now     func() time.Time
	times   times
}

// New returns the leases in a collection of the controller's database. barrier waits until all earlier writes are on
// disk.
func New(db *mongo.Database, collection string, barrier func(context.Context) error, now func() time.Time) *Leases {
	return &Leases{db: db, in: collection, barrier: barrier, now: now}
}

// times records when this controller first saw the current value of each lease, by its own monotonic clock.
// The clocks of different machines are never compared: a value is written before it is seen, so a lease
// expires for its writer no later than for a controller that counts from when it saw the value.
type times struct {
	mu  sync.Mutex
	all map[string]seen
}

// maxTimes limits the size of the map, which also holds leases of removed services.
const maxTimes = 100_000

type seen struct {
	doc Doc
	at  time.Time
}

// see returns when the value just read or written was first seen.
func (t *times) see(doc Doc, now time.Time) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all == nil || len(t.all) >= maxTimes {
		t.all = map[string]seen{} // every value is treated as just seen
	}
	if known, ok := t.all[doc.ID]; ok && known.doc == doc {
		return known.at
	}
	t.all[doc.ID] = seen{doc, now}
	return now
}

func (t *times) forget(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.all, id)
}

// Tries limits and paces the attempts of a caller that keeps losing to others.
func (l *Leases) Tries() mongo.Tries { return l.db.Tries() }

// Read reads a lease. A lease that does not exist has no holder and has expired.
func (l *Leases) Read(ctx context.Context, id string) (Lease, error) {
	var doc Doc
	err := l.db.Get(ctx, l.in, id, &doc, "lease "+id)
	if errors.Is(err, entity.NotFound) {
		l.times.forget(id)
		return Lease{Doc: Doc{ID: id}}, nil
	} else if err != nil {
		return Lease{}, err
	}
	now := l.now()
	return Lease{doc, true, doc.Duration - now.Sub(l.times.see(doc, now))}, nil
}

// Renewed returns the lease for at least d from now. It never shortens it, even if a later request overtook this one.
func (l Lease) Renewed(d time.Duration) Doc {
	next := l.Doc
	next.Beat++
	next.Duration = max(WholeMillis(d), WholeMillis(l.Left))
	return next
}

// Taken returns the lease for a holder, for at least d from now. If it is the holder's already, in another epoch, it is never
// shortened: an earlier process of the holder may still rely on it.
func (l Lease) Taken(holder string, epoch int64, d time.Duration) Doc {
	next := Doc{ID: l.ID, Holder: holder, Epoch: epoch, Duration: WholeMillis(d)}
	if l.Holder == holder {
		next.Duration = max(next.Duration, WholeMillis(l.Left))
	}
	return next
}

// Released returns the lease without a holder.
func (l Lease) Released() Doc { return Doc{ID: l.ID, Epoch: l.Epoch, Beat: l.Beat + 1} }

// WholeMillis rounds d up to the store's precision.
func WholeMillis(d time.Duration) time.Duration {
	return (d + time.Millisecond - 1).Truncate(time.Millisecond)
}

// Swap replaces a lease if it is unchanged since it was read, and reports whether it did. It returns once the new value
// is on disk.
func (l *Leases) Swap(ctx context.Context, was Lease, now Doc) (swapped bool, err error) {
	err = l.db.With(ctx, l.in, func(col *mgo.Collection) error {
		if !was.There {
			return col.Insert(now)
		}
		return col.Update(was.same(), now)
	})
	if mongo.IsNotFound(err) || mgo.IsDup(err) {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("cannot write lease %s: %w", was.ID, err)
	}
	l.times.see(now, l.now())
	return true, l.barrier(ctx)
}

// Drop removes a lease if it is unchanged since it was read, and reports whether it did.
func (l *Leases) Drop(ctx context.Context, was Lease) (dropped bool, err error) {
	err = l.db.With(ctx, l.in, func(col *mgo.Collection) error { return col.Remove(was.same()) })
	if mongo.IsNotFound(err) {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("cannot remove lease %s: %w", was.ID, err)
	}
	l.times.forget(was.ID)
	return true, l.barrier(ctx)
}

// same matches the lease if it is unchanged since it was read.
func (l Lease) same() bson.D {
	return bson.D{{"_id", l.ID}, {"holder", l.Holder}, {"epoch", l.Epoch}, {"beat", l.Beat}}
}

// ofModel matches the leases of a model; "$" comes right after "#".
func ofModel(model string) bson.D {
	return bson.D{{"_id", bson.D{{"$gte", ID(model, "")}, {"$lt", model + "$"}}}}
}

// IDs returns the ids of a model's leases.
func (l *Leases) IDs(ctx context.Context, model string) ([]string, error) {
	var docs []Doc
	err := l.db.All(ctx, l.in, ofModel(model), &docs)
	ids := make([]string, len(docs))
	for i, d := range docs {
		ids[i] = d.ID
	}
	return ids, err
}

// DropModel removes all leases of a removed model.
func (l *Leases) DropModel(ctx context.Context, model string) error {
	err := l.db.Reading(ctx, l.in, func(col *mgo.Collection) error {
		_, err := col.RemoveAll(ofModel(model))
		return err
	})
	if err != nil {
		return fmt.Errorf("cannot remove the leases of model %s: %w", model, err)
	}
	return l.barrier(ctx)
}
