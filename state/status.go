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
	// Kept is set once it is in the history; what an entity begins with is not
	// until it is replaced.
	Kept bool `bson:"kept,omitempty"`
}

func (d statusDoc) status() entity.Status {
	return entity.Status{Status: d.Status, Message: d.Message, Data: unescapeKeys(d.Data), Since: d.Since}
}

func newStatusDoc(key string, s entity.Status, now time.Time) statusDoc {
	if s.Since.IsZero() {
		s.Since = now
	}
	// What MongoDB keeps of a time, so that what is read equals what was written.
	return statusDoc{ID: key, Status: s.Status, Message: s.Message, Data: escapeKeys(s.Data),
		Since: s.Since.UTC().Truncate(time.Millisecond)}
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
	var was statusDoc
	err := st.run(ctx, func(int) ([]txn.Op, error) {
		was = statusDoc{}
		if err := st.db.Get(statusesC, key, &was, "status of "+key); err != nil {
			return nil, err
		}
		o := newOps()
		o.replaceStatus(doc, exists)
		for _, op := range more {
			o.add(op)
		}
		return o.build()
	})
	if err != nil {
		return err
	}
	if !was.Kept {
		st.remember(was)
	}
	st.remember(doc)
	return nil
}

// replaceStatus replaces a status of which the assert holds; whoever does it tells
// the history.
func (o *ops) replaceStatus(doc statusDoc, assert any) {
	o.update(statusesC, doc.ID, assert, bson.D{{"$set", bson.D{
		{"status", doc.Status}, {"message", doc.Message}, {"data", doc.Data}, {"since", doc.Since}, {"kept", true}}}})
}

// remember adds to the status history. It is for people: a capped collection,
// written directly, and a failure to write it fails nothing.
func (st *State) remember(doc statusDoc) {
	err := st.db.With(historyC, func(c *mgo.Collection) error {
		return c.Insert(pastStatusDoc{bson.NewObjectId(), doc.ID, doc.Status, doc.Message, doc.Since})
	})
	if err != nil {
		logger.Warningf("cannot keep a status of %s in the history: %v", doc.ID, err)
	}
}
