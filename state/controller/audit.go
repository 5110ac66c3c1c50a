package controller

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/mongo/cursor"
)

// auditSize limits the audit log, in bytes. An entry has a few hundred.
const auditSize = 64 << 20

// An auditDoc is an entity.AuditEntry.
type auditDoc struct {
	ID      bson.ObjectId `bson:"_id"`
	Time    time.Time     `bson:"time"`
	User    string        `bson:"user"`
	From    string        `bson:"from"`
	Models  []auditModel  `bson:"models,omitempty"`
	Call    string        `bson:"call"`
	Version int           `bson:"version,omitempty"`
	Args    string        `bson:"args,omitempty"` // JSON
	Error   string        `bson:"error,omitempty"`
	Code    string        `bson:"code,omitempty"`
	Of      bson.ObjectId `bson:"of,omitempty"` // the entry that it replaces; a capped collection's documents can't change
}

type auditModel struct {
	UUID  string `bson:"uuid,omitempty"`
	Name  string `bson:"name"`
	Owner string `bson:"owner"`
}

// Audit adds an entry to the audit log, in which the oldest entries make room for it. replaced is the id of an entry that
// it replaces, or "". It is one write outside transactions, which the next barrier covers.
func (c *Controller) Audit(ctx context.Context, e entity.AuditEntry, replaced string) (id string, err error) {
	doc := auditDoc{ID: bson.NewObjectId(), Time: e.Time, User: e.User, From: e.From, Call: e.Call, Version: e.Version,
		Args: string(e.Args), Error: e.Error, Code: e.Code, Of: bson.ObjectId(replaced)}
	for _, m := range e.Models {
		doc.Models = append(doc.Models, auditModel(m))
	}
	err = c.db.Reading(ctx, auditC, func(col *mgo.Collection) error {
		if err := col.Insert(doc); !mgo.IsDup(err) { // it may have been written although the reply was lost
			return err
		}
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("cannot write the audit log: %w", err)
	}
	return string(doc.ID), nil
}

// AuditLog returns the newest entries of the audit log that match a filter, oldest first.
func (c *Controller) AuditLog(ctx context.Context, f entity.AuditFilter) ([]entity.AuditEntry, error) {
	var entries []entity.AuditEntry
	err := c.db.Reading(ctx, auditC, func(col *mgo.Collection) error {
		entries = nil
		replaced := map[bson.ObjectId]bool{}
		// The entry that replaces another one comes first, and matches whatever the other one does.
		all := cursor.Find(col, auditQuery(f)).Sort("-$natural").Limit(2 * f.Limit).Iter()
		for doc := (auditDoc{}); len(entries) < f.Limit && all.Next(&doc); doc = (auditDoc{}) {
			if doc.Of != "" {
				replaced[doc.Of] = true
			}
			if !replaced[doc.ID] {
				entries = append(entries, doc.entry())
			}
		}
		return all.Close()
	})
	if err != nil {
		return nil, fmt.Errorf("cannot read the audit log: %w", err)
	}
	slices.Reverse(entries)
	return entries, nil
}

func (d *auditDoc) entry() entity.AuditEntry {
	e := entity.AuditEntry{Time: d.Time.UTC(), User: d.User, From: d.From, Call: d.Call, Version: d.Version,
		Args: []byte(d.Args), Error: d.Error, Code: d.Code}
	for _, m := range d.Models {
		e.Models = append(e.Models, entity.AuditModel(m))
	}
	return e
}

func auditQuery(f entity.AuditFilter) bson.D {
	query, when := bson.D{}, bson.D{}
	if f.User != "" {
		query = append(query, bson.DocElem{Name: "user", Value: anyCase(f.User)})
	}
	if owner, name, qualified := strings.Cut(f.Model, "/"); qualified {
		query = append(query, bson.DocElem{Name: "models", Value: bson.D{{"$elemMatch",
			bson.D{{"owner", anyCase(owner)}, {"name", name}}}}})
	} else if f.Model != "" {
		query = append(query, bson.DocElem{Name: "$or", Value: []bson.D{{{"models.uuid", f.Model}}, {{"models.name", f.Model}}}})
	}
	if !f.Since.IsZero() {
		when = append(when, bson.DocElem{Name: "$gte", Value: f.Since})
	}
	if !f.Until.IsZero() {
		when = append(when, bson.DocElem{Name: "$lt", Value: f.Until})
	}
	if len(when) > 0 {
		query = append(query, bson.DocElem{Name: "time", Value: when})
	}
	return query
}

// anyCase matches a user's name, whatever its case.
func anyCase(user string) bson.RegEx {
	return bson.RegEx{Pattern: "^" + regexp.QuoteMeta(user) + "$", Options: "i"}
}

// AuditModel returns how the audit log names the model with this UUID; only its UUID if it does not exist.
func (c *Controller) AuditModel(ctx context.Context, uuid string) (entity.AuditModel, error) {
	row, err := c.ModelRow(ctx, uuid)
	if entity.IsNotFound(err) {
		err = nil
	}
	return entity.AuditModel{UUID: uuid, Name: row.Name, Owner: row.Owner}, err
}
