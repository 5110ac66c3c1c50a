package state

import (
	"context"
	"strings"
	"time"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"

	"juju/state/check"
	"juju/state/entity"
	"juju/state/internal/modeldb"
)

// status reads the status of a key.
func (st *State) status(key string) (entity.Status, error) {
	doc, err := st.statusDoc(key)
	return doc.Mended(), err
}

func (st *State) statusDoc(key string) (modeldb.Status, error) {
	var doc modeldb.Status
	err := st.db.Get(modeldb.StatusesC, key, &doc, "status of "+key)
	if owner := beginner(key); entity.IsNotFound(err) && owner.ID != "" {
		var its modeldb.Birth
		err = st.db.Get(owner.Collection, owner.ID, &its, "status of "+key)
		return modeldb.FirstStatus(key, its), err
	}
	return doc, err
}

// beginner returns the document of the unit, machine or storage whose initial status a key may
// have; the zero docID for other keys.
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

// setStatus replaces a status, and adds it to the history unless it says the same as the one before.
// more adds what the transaction does besides.
func (st *State) setStatus(ctx context.Context, key string, s entity.Status, more ...func(*ops) error) error {
	if s.Status == entity.StatusError && s.Message == "" {
		return entity.Errorf(entity.Invalid, "cannot set status %q without info", s.Status)
	}
	now := st.host.Now()
	doc := modeldb.NewStatus(key, s, now)
	var was modeldb.Status
	err := st.change(ctx, func(o *ops) error {
		var err error
		if was, err = st.statusDoc(key); err != nil {
			return err
		}
		o.replaceStatus(was, doc, exists)
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
		st.remember(was)
	}
	if !doc.Repeats(was) {
		// What a failed hook had hidden is shown again with its old time, but only from now on.
		doc.Since = now.UTC().Truncate(time.Millisecond)
		st.remember(doc)
	}
	return nil
}

// replaceStatus replaces a status that was read and of which the assertion holds. The
// caller adds it to the history.
func (o *ops) replaceStatus(was, doc modeldb.Status, assert any) {
	if was.Unset {
		owner := beginner(doc.ID)
		o.Assert(owner.Collection, owner.ID, exists)
		doc.Kept = true
		o.Insert(modeldb.StatusesC, doc.ID, doc)
		return
	}
	o.Update(modeldb.StatusesC, doc.ID, assert, bson.D{{"$set", bson.D{
		{"status", doc.Status}, {"message", doc.Message}, {"data", doc.Data}, {"since", doc.Since}, {"kept", true}}}})
}

// remember adds a status to the history. The history is for people: it is a capped
// collection, written outside transactions, and a failed write is only logged.
func (st *State) remember(doc modeldb.Status) {
	err := st.db.With(modeldb.HistoryC, func(c *mgo.Collection) error {
		return c.Insert(modeldb.PastStatus{bson.NewObjectId(), doc.ID, doc.Status, doc.Message, doc.Mended().Cause(), doc.Since})
	})
	if err != nil {
		logger.Warningf("cannot keep a status of %s in the history: %v", doc.ID, err)
	}
}
