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

// A leaseDoc is the promise to a unit that no other unit will lead its service for a
// time. It is in the controller's database and written outside transactions, each time by
// comparing it with what was read.
type leaseDoc struct {
	ID       string        `bson:"_id"`    // leaseID
	Holder   string        `bson:"holder"` // a unit, or "" once given back
	Epoch    int64         `bson:"epoch"`  // grows each time a unit takes it
	Beat     int64         `bson:"beat"`   // grows each time it is renewed or given back
	Duration time.Duration `bson:"duration"`
}

func leaseID(model, service string) string { return model + "#" + service }

// A lease is a lease as it was read.
type lease struct {
	leaseDoc
	there bool
	left  time.Duration // until it lapses; 0 or less if it has
}

// leaseTimes holds when this controller first saw the present value of each lease, by its
// own monotonic clock. The clocks of different machines are never compared: a value is
// written before it is seen, so for its writer it lapses no later than for a controller
// that counts from when it saw it.
type leaseTimes struct {
	mu  sync.Mutex
	all map[string]leaseTime
}

// maxLeaseTimes bounds the map, which also holds leases of services that are gone.
const maxLeaseTimes = 100_000

type leaseTime struct {
	doc leaseDoc
	at  time.Time
}

// see returns when a value that was just read or written was first seen.
func (s *leaseTimes) see(doc leaseDoc, now time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil || len(s.all) >= maxLeaseTimes {
		s.all = map[string]leaseTime{} // every value counts as just seen again
	}
	if known, ok := s.all[doc.ID]; ok && known.doc == doc {
		return known.at
	}
	s.all[doc.ID] = leaseTime{doc, now}
	return now
}

func (s *leaseTimes) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, id)
}

// readLease reads a lease. One that does not exist has no holder and has lapsed.
func (c *Controller) readLease(id string) (lease, error) {
	var doc leaseDoc
	err := c.db.Get(leasesC, id, &doc, "lease "+id)
	if isNotFound(err) {
		c.leases.forget(id)
		return lease{leaseDoc: leaseDoc{ID: id}}, nil
	} else if err != nil {
		return lease{}, err
	}
	now := c.now()
	return lease{doc, true, doc.Duration - now.Sub(c.leases.see(doc, now))}, nil
}

// swapLease replaces a lease if it is still as it was read, and reports whether it did.
// It returns once the new value is on disk.
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
	c.leases.see(now, c.now())
	return true, c.Barrier(ctx)
}

// dropLease removes a lease if it is still as it was read, and reports whether it did.
func (c *Controller) dropLease(ctx context.Context, was lease) (dropped bool, err error) {
	err = c.db.With(leasesC, func(col *mgo.Collection) error { return col.Remove(was.same()) })
	if mongo.IsNotFound(err) {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("cannot remove lease %s: %w", was.ID, err)
	}
	c.leases.forget(was.ID)
	return true, c.Barrier(ctx)
}

// same matches the lease while it is as it was read.
func (l lease) same() bson.D {
	return bson.D{{"_id", l.ID}, {"holder", l.Holder}, {"epoch", l.Epoch}, {"beat", l.Beat}}
}

// ofModel matches the leases of a model; "$" comes right after "#".
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
