package secrets

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
	"juju/state/mongo"
	"juju/state/mongo/cursor"
)

// dueAtOnce is how many secrets one transaction changes when a rotation or expiry is due, or units are told of a revision.
const dueAtOnce = 20

// dropAtOnce is how many documents one transaction removes of a removed secret.
const dropAtOnce = 100

// Due has owners told of the rotations and expiries whose time has come. again is the time until the next one; 0 if none is
// known.
func (s Secrets) Due(ctx context.Context) (again time.Duration, err error) {
	now := s.DB.Now()
	var due, later []modeldb.Secret
	err = s.DB.Reading(ctx, modeldb.SecretsC, func(c *mgo.Collection) error {
		if err := cursor.Find(c, bson.D{{"next", bson.D{{"$lte", now}}}}).All(&due); err != nil {
			return err
		}
		return cursor.Find(c, bson.D{{"next", bson.D{{"$gt", now}}}}).Sort("next").Limit(1).All(&later)
	})
	if err != nil {
		return 0, fmt.Errorf("cannot find the secrets that are due: %w", err)
	}
	for batch := range slices.Chunk(due, dueAtOnce) {
		if err := s.tellDue(ctx, batch); err != nil {
			return 0, err
		}
	}
	for _, doc := range later {
		again = max(doc.Next.Sub(now), time.Second)
	}
	return again, nil
}

// tellDue has the owners of secrets told of what is due now.
func (s Secrets) tellDue(ctx context.Context, docs []modeldb.Secret) error {
	p := s.NewPlan()
	return s.DB.Change(ctx, func(o *modeltxn.Ops) error {
		c := s.change(p, o)
		for _, doc := range docs {
			e, err := c.secret(ctx, doc.ID)
			if entity.IsNotFound(err) {
				continue
			} else if err != nil {
				return err
			}
			if e.doc.Next.IsZero() || e.doc.Next.After(p.now) {
				continue
			}
			e.edits = true
			if e.doc.RotateDue == 0 && !e.doc.NextRotate.IsZero() && !e.doc.NextRotate.After(p.now) {
				e.doc.RotateDue = e.doc.Latest
			}
			for n, r := range e.doc.Revisions {
				at := r.Expire
				if !r.Retry.IsZero() {
					at = r.Retry
				}
				if !r.Due && !at.IsZero() && !at.After(p.now) {
					r.Due = true
					e.doc.Revisions[n] = r
				}
			}
		}
		return c.flush(ctx)
	})
}

// Tell tells the units that read a secret of its latest revision.
func (s Secrets) Tell(ctx context.Context, id string) error {
	var doc modeldb.Secret
	if there, err := s.read(ctx, id, &doc); err != nil || !there {
		return err
	}
	readers, err := all[modeldb.SecretConsumer](ctx, s, modeldb.KindConsumer, bson.DocElem{Name: "secret", Value: id},
		bson.DocElem{Name: "latest", Value: bson.D{{"$lt", doc.Latest}}})
	if err != nil {
		return err
	}
	for batch := range slices.Chunk(readers, dueAtOnce) {
		if err := s.tell(ctx, batch, func(modeldb.SecretConsumer) int { return doc.Latest }); err != nil {
			return err
		}
	}
	return nil
}

// tell has units told of the latest revisions of what they have read.
func (s Secrets) tell(ctx context.Context, readers []modeldb.SecretConsumer,
	latest func(modeldb.SecretConsumer) int) error {
	return s.DB.Change(ctx, func(o *modeltxn.Ops) error {
		for _, r := range readers {
			var now modeldb.SecretConsumer
			there, err := s.read(ctx, r.ID, &now)
			if err != nil {
				return err
			}
			if there && now.Latest < latest(now) {
				o.Update(modeldb.SecretsC, r.ID, bson.D{{"token", now.Token}, {"latest", now.Latest}},
					bson.D{{"$set", bson.D{{"latest", latest(now)}}}})
			}
		}
		return nil
	})
}

// DropParty deletes the secrets of a removed service or unit, what was granted to it, and what it has read, of which
// revisions can become obsolete.
func (s Secrets) DropParty(ctx context.Context, token string) (done bool, err error) {
	of := bson.DocElem{Name: "token", Value: token}
	read, err := all[modeldb.SecretConsumer](ctx, s, modeldb.KindConsumer, of)
	if err != nil {
		return false, err
	}
	for batch := range slices.Chunk(read, dueAtOnce) {
		if err := s.forget(ctx, batch); err != nil {
			return false, err
		}
	}
	owned, err := all[modeldb.Secret](ctx, s, modeldb.KindSecret, of)
	if err != nil {
		return false, err
	}
	for _, doc := range owned { // the secrets themselves go last: they say what is left
		if err := s.DropSecret(ctx, doc.ID); err != nil {
			return false, err
		}
	}
	rest, err := s.DB.DeleteUntouched(ctx, modeldb.SecretsC, bson.D{of})
	return rest == 0, err
}

// forget removes what a removed unit has read.
func (s Secrets) forget(ctx context.Context, read []modeldb.SecretConsumer) error {
	p := s.NewPlan()
	return s.DB.Change(ctx, func(o *modeltxn.Ops) error {
		c := s.change(p, o)
		for _, r := range read {
			reader, err := c.consumer(ctx, r.Unit, r.Secret, r.Token)
			if err != nil {
				return err
			}
			if !reader.there {
				continue
			}
			reader.removed = true
			e, err := c.secret(ctx, r.Secret)
			if err == nil {
				rev := strconv.Itoa(reader.was.Tracked)
				if tracked, ok := e.doc.Revisions[rev]; ok {
					tracked.Readers--
					e.doc.Revisions[rev] = tracked
				}
			} else if !entity.IsNotFound(err) {
				return err
			}
		}
		return c.flush(ctx)
	})
}

// DropSecret removes what is left of a removed secret: its revisions, its grants, and what units have read of it. If another
// secret has that ID now, nothing is left: it was made once everything was gone.
func (s Secrets) DropSecret(ctx context.Context, id string) error {
	for more := true; more; {
		err := s.DB.Change(ctx, func(o *modeltxn.Ops) error {
			more = false
			var doc modeldb.Secret
			var owner modeldb.Party
			there, err := s.read(ctx, id, &doc)
			switch {
			case err != nil:
				return err
			case !there:
				o.Assert(modeldb.SecretsC, id, txn.DocMissing)
			default:
				ended, err := s.read(ctx, doc.Owner, &owner)
				if err != nil || owner.Token == doc.Token {
					return cmp.Or(err, mongo.ErrNothing)
				}
				o.Assert(modeldb.SecretsC, id, bson.D{{"token", doc.Token}})
				if ended { // with another of its name
					o.Assert(modeldb.SecretsC, doc.Owner, bson.D{{"token", owner.Token}})
				} else {
					o.Assert(modeldb.SecretsC, doc.Owner, txn.DocMissing)
				}
			}
			left, err := s.leftOf(ctx, id)
			if err != nil || len(left) == 0 {
				return cmp.Or(err, mongo.ErrNothing)
			}
			more = len(left) > dropAtOnce
			for _, one := range left[:min(len(left), dropAtOnce)] {
				o.Remove(modeldb.SecretsC, one.ID, nil)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// leftOf returns the ids of what there is of a secret besides itself: one more than can be removed at once.
func (s Secrets) leftOf(ctx context.Context, id string) (left []struct {
	ID string `bson:"_id"`
}, err error) {
	err = s.DB.Reading(ctx, modeldb.SecretsC, func(c *mgo.Collection) error {
		return cursor.Find(c, bson.D{{"secret", id}}).Select(bson.D{{"_id", 1}}).Limit(dropAtOnce + 1).All(&left)
	})
	return left, err
}

// DropGrants deletes what was granted while a removed relation lasted, by the relation's key. Revisions that units of
// another model have read there can become obsolete.
func (s Secrets) DropGrants(ctx context.Context, scope string) (done bool, err error) {
	of := bson.DocElem{Name: "scope", Value: scope}
	grants, err := all[modeldb.SecretGrant](ctx, s, modeldb.KindGrant, of, bson.DocElem{Name: "tracked.0", Value: bson.D{{"$exists", true}}})
	if err != nil {
		return false, err
	}
	for batch := range slices.Chunk(grants, dueAtOnce) {
		if err := s.untrack(ctx, batch); err != nil {
			return false, err
		}
	}
	rest, err := s.DB.DeleteUntouched(ctx, modeldb.SecretsC, bson.D{of, {"kind", modeldb.KindGrant}})
	return rest == 0, err
}
