package state

import (
	"context"
	"fmt"
	"sync"
	"time"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"

	"juju/state/mongo"
)

// A leaseDoc is a promise to a unit that nobody else will lead its service before
// some time has passed. It is kept in the controller's database and written
// directly, each time by comparing it with what was read.
type leaseDoc struct {
	ID       string        `bson:"_id"`    // leaseID
	Holder   string        `bson:"holder"` // a unit, or "" when it was given back
	Epoch    int64         `bson:"epoch"`  // grows whenever it is taken
	Beat     int64         `bson:"beat"`   // grows whenever it is renewed or given back
	Duration time.Duration `bson:"duration"`
}

func leaseID(model, service string) string { return model + "#" + service }

// A lease is a lease as it was read.
type lease struct {
	leaseDoc
	there bool
	left  time.Duration // until it has lapsed; not above 0 when it has
}

// sightings are when this controller first saw the present values of leases, by
// its own monotonic clock. Clocks of different machines are never compared: a
// value that was written before it was seen has lapsed, for whoever wrote it, no
// later than for those who count from when they saw it.
type sightings struct {
	mu  sync.Mutex
	all map[string]sighting
}

// sightingsMost bounds what is remembered, of services that are gone among others.
const sightingsMost = 100_000

type sighting struct {
	doc leaseDoc
	at  time.Time
}

// see notes a value that was just read or written, and returns since when it has
// been known.
func (s *sightings) see(doc leaseDoc, now time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil || len(s.all) >= sightingsMost {
		s.all = map[string]sighting{} // whatever is seen again has just been seen
	}
	if known, ok := s.all[doc.ID]; ok && known.doc == doc {
		return known.at
	}
	s.all[doc.ID] = sighting{doc, now}
	return now
}

func (s *sightings) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, id)
}

// readLease reads a lease; one that there is not has no holder and has lapsed.
func (c *Controller) readLease(id string) (lease, error) {
	var doc leaseDoc
	err := c.db.Get(leasesC, id, &doc, "lease "+id)
	if isNotFound(err) {
		c.seen.forget(id)
		return lease{leaseDoc: leaseDoc{ID: id}}, nil
	} else if err != nil {
		return lease{}, err
	}
	now := c.now()
	return lease{doc, true, doc.Duration - now.Sub(c.seen.see(doc, now))}, nil
}

// swapLease replaces a lease that is still as it was read, and reports whether it
// was. It returns once the new value is on disk.
func (c *Controller) swapLease(ctx context.Context, was lease, now leaseDoc) (swapped bool, err error) {
	err = c.db.With(leasesC, func(col *mgo.Collection) error {
		if !was.there {
			return col.Insert(now)
		}
		return col.Update(was.same(), now)
	})
	if mongo.IsNotFound(err) || mgo.IsDup(err) {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("cannot write lease %s: %w", was.ID, err)
	}
	c.seen.see(now, c.now())
	return true, c.Barrier(ctx)
}

// dropLease removes a lease that is still as it was read, and reports whether it
// was.
func (c *Controller) dropLease(ctx context.Context, was lease) (dropped bool, err error) {
	err = c.db.With(leasesC, func(col *mgo.Collection) error { return col.Remove(was.same()) })
	if mongo.IsNotFound(err) {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("cannot remove lease %s: %w", was.ID, err)
	}
	c.seen.forget(was.ID)
	return true, c.Barrier(ctx)
}

// same finds the lease as long as nobody has written it since it was read.
func (l lease) same() bson.D {
	return bson.D{{"_id", l.ID}, {"holder", l.Holder}, {"epoch", l.Epoch}, {"beat", l.Beat}}
}

// ofModel finds the leases of a model; "$" comes right after "#".
func ofModel(model string) bson.D {
	return bson.D{{"_id", bson.D{{"$gte", leaseID(model, "")}, {"$lt", model + "$"}}}}
}

// leaseIDs returns the ids of a model's leases.
func (c *Controller) leaseIDs(model string) ([]string, error) {
	var docs []leaseDoc
	err := c.db.All(leasesC, ofModel(model), &docs)
	ids := make([]string, len(docs))
	for i, d := range docs {
		ids[i] = d.ID
	}
	return ids, err
}

// dropLeases removes all leases of a model that is gone.
func (c *Controller) dropLeases(ctx context.Context, model string) error {
	err := c.db.Reading(leasesC, func(col *mgo.Collection) error {
		_, err := col.RemoveAll(ofModel(model))
		return err
	})
	if err != nil {
		return fmt.Errorf("cannot remove the leases of model %s: %w", model, err)
	}
	return c.Barrier(ctx)
}
