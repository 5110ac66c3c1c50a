package state

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"time"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"

	"juju/state/check"
	"juju/state/entity"
)

// A statusDoc is a status that was set. The initial status of a unit or machine is not
// stored: it follows from the entity.
type statusDoc struct {
	ID      string            `bson:"_id"`
	Status  entity.StatusWord `bson:"status"`
	Message string            `bson:"message"`
	Data    map[string]any    `bson:"data,omitempty"`
	Since   time.Time         `bson:"since"`
	// Kept is set once the status is in the history. An initial status is added there
	// when it is replaced.
	Kept bool `bson:"kept,omitempty"`
	// Version is that of a service's workload; it changes apart from the status.
	Version string `bson:"version,omitempty"`

	unset bool // an initial status, which is not stored
}

// status returns the status with any damage repaired for display; the zero Status of a
// missing document.
func (d statusDoc) status() entity.Status {
	if d.ID == "" {
		return entity.Status{}
	}
	return entity.Status{Status: d.Status, Message: d.Message, Data: unescapeKeys(d.Data), Since: d.Since}.Mended()
}

func newStatusDoc(key string, s entity.Status, now time.Time) statusDoc {
	if s.Since.IsZero() {
		s.Since = now
	}
	// Truncate to MongoDB's precision, so that what is read equals what was written.
	return statusDoc{ID: key, Status: s.Status, Message: s.Message, Data: escapeKeys(s.Data),
		Since: s.Since.UTC().Truncate(time.Millisecond)}
}

// status reads the status of a key.
func (st *State) status(key string) (entity.Status, error) {
	doc, err := st.statusDoc(key)
	return doc.status(), err
}

func (st *State) statusDoc(key string) (statusDoc, error) {
	var doc statusDoc
	err := st.db.Get(statusesC, key, &doc, "status of "+key)
	if owner := beginner(key); entity.IsNotFound(err) && owner.ID != "" {
		var its birth
		err = st.db.Get(owner.Collection, owner.ID, &its, "status of "+key)
		return firstStatus(key, its), err
	}
	return doc, err
}

// A birth is what determines the initial status of a unit or machine.
type birth struct {
	Born time.Time `bson:"born,omitempty"`
}

// beginner returns the document of the unit, machine or storage whose initial status a key may
// have; the zero docID for other keys.
func beginner(key string) check.DocID {
	kind, id, _ := strings.Cut(key, "#")
	id, part, _ := strings.Cut(id, "#")
	switch {
	case kind == "m" && part == "":
		return check.DocID{machinesC, id}
	case kind == "u" && (part == "" || part == "workload"):
		return check.DocID{unitsC, id}
	case kind == "st" && part == "":
		return check.DocID{storageC, id}
	}
	return check.DocID{}
}

// waitsForMachine is what the status of a new unit says.
const waitsForMachine = "waiting for machine"

// firstStatus returns the initial status of a unit or machine under a key.
func firstStatus(key string, its birth) statusDoc {
	first := entity.Status{Status: entity.StatusPending, Since: its.Born}
	switch {
	case strings.HasSuffix(key, "#workload"):
		first.Status, first.Message = entity.StatusWaiting, waitsForMachine
	case strings.HasPrefix(key, "u#"):
		first.Status = entity.StatusAllocating
	}
	doc := newStatusDoc(key, first, its.Born)
	doc.unset = true
	return doc
}

// setStatus replaces a status, and adds it to the history unless it says the same as the one before.
// more adds what the transaction does besides.
func (st *State) setStatus(ctx context.Context, key string, s entity.Status, more ...func(*ops) error) error {
	if s.Status == entity.StatusError && s.Message == "" {
		return entity.Errorf(entity.Invalid, "cannot set status %q without info", s.Status)
	}
	now := st.host.Now()
	doc := newStatusDoc(key, s, now)
	var was statusDoc
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
	if !doc.repeats(was) {
		// What a failed hook had hidden is shown again with its old time, but only from now on.
		doc.Since = now.UTC().Truncate(time.Millisecond)
		st.remember(doc)
	}
	return nil
}

// repeats reports whether a status says the same as the one before.
func (d statusDoc) repeats(was statusDoc) bool {
	if d.Status != was.Status || d.Message != was.Message || len(d.Data) != len(was.Data) {
		return false
	}
	// What was read has other types of numbers than what is to be written.
	now, err1 := json.Marshal(d.Data)
	then, err2 := json.Marshal(was.Data)
	return len(d.Data) == 0 || err1 == nil && err2 == nil && bytes.Equal(now, then)
}

// replaceStatus replaces a status that was read and of which the assertion holds. The
// caller adds it to the history.
func (o *ops) replaceStatus(was, doc statusDoc, assert any) {
	if was.unset {
		owner := beginner(doc.ID)
		o.Assert(owner.Collection, owner.ID, exists)
		doc.Kept = true
		o.Insert(statusesC, doc.ID, doc)
		return
	}
	o.Update(statusesC, doc.ID, assert, bson.D{{"$set", bson.D{
		{"status", doc.Status}, {"message", doc.Message}, {"data", doc.Data}, {"since", doc.Since}, {"kept", true}}}})
}

// remember adds a status to the history. The history is for people: it is a capped
// collection, written outside transactions, and a failed write is only logged.
func (st *State) remember(doc statusDoc) {
	err := st.db.With(historyC, func(c *mgo.Collection) error {
		return c.Insert(pastStatusDoc{bson.NewObjectId(), doc.ID, doc.Status, doc.Message, doc.status().Cause(), doc.Since})
	})
	if err != nil {
		logger.Warningf("cannot keep a status of %s in the history: %v", doc.ID, err)
	}
}
