package modeltxn

import (
	"context"
	"strings"
	"time"

	"github.com/juju/loggo"
	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"

	"juju/state/check"
	"juju/state/entity"
	"juju/state/internal/modeldb"
)

var logger = loggo.GetLogger("juju.state")

// Status reads the status of a key.
func (db *DB) Status(ctx context.Context, key string) (entity.Status, error) {
	doc, err := db.StatusDoc(ctx, key)
	return doc.Mended(), err
}

// StatusDoc reads the document of a key's status, or returns the initial status of its entity.
func (db *DB) StatusDoc(ctx context.Context, key string) (modeldb.Status, error) {
	return db.statusDoc(ctx, key, db)
}

// statusDoc reads the document of a key's status; births is where it looks for the entity whose initial status it is.
func (db *DB) statusDoc(ctx context.Context, key string, births *DB) (modeldb.Status, error) {
	var doc modeldb.Status
	err := db.Get(ctx, modeldb.StatusesC, key, &doc, "status of "+key)
	if owner := beginner(key); entity.IsNotFound(err) && owner.ID != "" {
		var its modeldb.Birth
		err = births.Get(ctx, owner.Collection, owner.ID, &its, "status of "+key)
		return modeldb.FirstStatus(key, its), err
	}
	return doc, err
}

// beginner returns the document of the unit, machine or storage whose initial status may be under key; the
// zero DocID for other keys.
func beginner(key string) check.DocID {
	kind, id, _ := strings.Cut(key, "#")
	id, part, _ := strings.Cut(id, "#")
	switch {
	case kind == "m" && part == "":
		return check.DocID{modeldb.MachinesC, id}
	case kind == "u" && (part == "" || part == "workload"):
		return check.DocID{modeldb.UnitsC, id}
	case kind == "st" && part == "":
		return check.DocID{modeldb.StorageC, id}
	}
	return check.DocID{}
}

// SetStatus replaces a status, and adds it to the history unless it repeats the previous one. more adds
// operations to the transaction.
func (db *DB) SetStatus(ctx context.Context, key string, s entity.Status, more ...func(*Ops) error) error {
	if s.Status == entity.StatusError && s.Message == "" {
		return entity.Errorf(entity.Invalid, "cannot set status %q without info", s.Status)
	}
	now := db.Clock()
	doc := modeldb.NewStatus(key, s, now)
	var was modeldb.Status
	births := db.AsWatched() // a birth never changes; that its entity exists is asserted
	err := db.Change(ctx, func(o *Ops) error {
		var err error
		was, err = db.statusDoc(ctx, key, births)
		if entity.IsNotFound(err) {
			was, err = db.StatusDoc(ctx, key)
		}
		births = db // for another attempt
		if err != nil {
			return err
		}
		o.ReplaceStatus(was, doc, Exists)
		for _, f := range more {
			if err := f(o); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if !was.Kept {
		db.Remember(ctx, was)
	}
	if !doc.Repeats(was) {
		// A status that a failed hook had hidden is shown again with its old time, but only from now on.
		doc.Since = now.UTC().Truncate(time.Millisecond)
		db.Remember(ctx, doc)
	}
	return nil
}

// ReplaceStatus replaces a status that was read and to which the assertion applies. One that is repeated keeps its time,
// which says when it became what it is. The caller adds it to the history.
func (o *Ops) ReplaceStatus(was, doc modeldb.Status, assert any) {
	if doc.Repeats(was) {
		doc.Since = was.Since
	}
	if was.Unset {
		owner := beginner(doc.ID)
		o.Assert(owner.Collection, owner.ID, Exists)
		doc.Kept = true
		o.Insert(modeldb.StatusesC, doc.ID, doc)
		return
	}
	o.Update(modeldb.StatusesC, doc.ID, assert, bson.D{{"$set", bson.D{
		{"status", doc.Status}, {"message", doc.Message}, {"data", doc.Data}, {"since", doc.Since}, {"kept", true}}}})
}

// DropStatus removes a status that no longer applies.
func (o *Ops) DropStatus(key string) { o.Remove(modeldb.StatusesC, key, nil) }

// Remember adds a status to the history. The history is for people: it is a capped collection, written
// outside transactions, and a failed write is only logged.
func (db *DB) Remember(ctx context.Context, doc modeldb.Status) {
	err := db.With(ctx, modeldb.HistoryC, func(c *mgo.Collection) error {
		return c.Insert(modeldb.PastStatus{bson.NewObjectId(), doc.ID, doc.Status, doc.Message, doc.Mended().Cause(), doc.Since})
	})
	if err != nil {
		logger.Warningf("cannot keep a status of %s in the history: %v", doc.ID, err)
	}
}
