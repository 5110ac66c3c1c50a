package state

import (
	"context"
	"time"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/entity"
)

type statusDoc struct {
	ID      string            `bson:"_id"`
	Status  entity.StatusWord `bson:"status"`
	Message string            `bson:"message"`
	Data    map[string]any    `bson:"data,omitempty"`
	Since   time.Time         `bson:"since"`
}

func (d statusDoc) status() entity.Status {
	return entity.Status{Status: d.Status, Message: d.Message, Data: unescapeKeys(d.Data), Since: d.Since}
}

func newStatusDoc(key string, s entity.Status, now time.Time) statusDoc {
	if s.Since.IsZero() {
		s.Since = now
	}
	// What MongoDB keeps of a time, so that what is read equals what was written.
	return statusDoc{key, s.Status, s.Message, escapeKeys(s.Data), s.Since.UTC().Truncate(time.Millisecond)}
}

// status reads the status that is kept under a key.
func (st *State) status(key string) (entity.Status, error) {
	var doc statusDoc
	err := st.db.Get(statusesC, key, &doc, "status of "+key)
	return doc.status(), err
}

// setStatus replaces a status, which lives as long as its entity, and notes it in
// the history.
func (st *State) setStatus(ctx context.Context, key string, s entity.Status, more ...txn.Op) error {
	if s.Status == entity.StatusError && s.Message == "" {
		return entity.Errorf(entity.Invalid, "cannot set status %q without info", s.Status)
	}
	doc := newStatusDoc(key, s, st.controller.now())
	err := st.run(ctx, func(int) ([]txn.Op, error) {
		if n, err := st.db.Count(statusesC, bson.D{{"_id", key}}); err != nil {
			return nil, err
		} else if n == 0 {
			return nil, entity.Errorf(entity.NotFound, "status of %s not found", key)
		}
		o := newOps()
		o.update(statusesC, key, exists, bson.D{{"$set", bson.D{
			{"status", doc.Status}, {"message", doc.Message}, {"data", doc.Data}, {"since", doc.Since}}}})
		for _, op := range more {
			o.add(op)
		}
		return o.build()
	})
	if err != nil {
		return err
	}
	st.remember(doc)
	return nil
}

// remember adds to the status history. It is for people: a capped collection,
// written directly, and a failure to write it fails nothing.
func (st *State) remember(doc statusDoc) {
	err := st.db.With(historyC, func(c *mgo.Collection) error {
		return c.Insert(bson.D{{"_id", bson.NewObjectId()}, {"key", doc.ID}, {"status", doc.Status},
			{"message", doc.Message}, {"since", doc.Since}})
	})
	if err != nil {
		logger.Warningf("cannot keep a status of %s in the history: %v", doc.ID, err)
	}
}
