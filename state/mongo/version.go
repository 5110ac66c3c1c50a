package mongo

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"juju/state/mongo/mgotxn"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"
)

// A Version identifies which transactions were applied to a document and which are pending. If a document had equal
// versions at two times, and the first was settled at some time in between, the document didn't change from the first
// time to the second.
type Version struct {
	There bool   // false if the document doesn't exist; then the rest describes its stash
	Revno int64  // 0 before the first transaction
	Queue string // of unfinished and of finished transactions
}

// Assert returns a transaction assert that the document still has this version. It ignores the queue.
func (v Version) Assert() any {
	switch {
	case !v.There:
		return txn.DocMissing
	case v.Revno == 0:
		return bson.D{{"txn-revno", bson.D{{"$exists", false}}}}
	}
	return bson.D{{"txn-revno", v.Revno}}
}

// Read reads a document, either the named fields or all of them, and its version. If the document doesn't exist, doc is
// unchanged.
func (d *Database) Read(ctx context.Context, collection string, id any, fields []string,
	doc any) (v Version, err error) {
	var raw bson.Raw
	err = d.Reading(ctx, collection, func(c *mgo.Collection) error {
		q := c.FindId(id)
		if len(fields) > 0 {
			q = q.Select(projection(fields))
		}
		err := q.One(&raw)
		if v.There = err == nil; !IsNotFound(err) {
			return err
		}
		err = c.Database.C(StashC).FindId(mgotxn.StashKey{collection, id}).One(&raw)
		if IsNotFound(err) {
			raw, err = bson.Raw{}, nil
		}
		return err
	})
	if err != nil {
		return v, fmt.Errorf("cannot read %s %v: %w", collection, id, err)
	}
	if raw.Data == nil {
		return v, nil
	}
	var b mgotxn.Bookkeeping
	if err := raw.Unmarshal(&b); err != nil {
		return v, fmt.Errorf("cannot read %s %v: %w", collection, id, err)
	}
	v.Revno = b.Revno
	v.Queue = strings.Join(append(b.Queue, string(b.Insert), string(b.Remove)), " ")
	if !v.There {
		return v, nil
	}
	if err := raw.Unmarshal(doc); err != nil {
		return v, fmt.Errorf("cannot read %s %v: %w", collection, id, err)
	}
	return v, nil
}

func projection(fields []string) bson.D {
	d := slices.Clone(mgotxn.BookkeepingFields)
	for _, f := range fields {
		d = append(d, bson.DocElem{Name: f, Value: 1})
	}
	return d
}

// Settled reports whether all transactions in these versions have ended or are lost.
func (d *Database) Settled(ctx context.Context, versions []Version) (bool, error) {
	var ids []bson.ObjectId
	for _, v := range versions {
		for _, token := range strings.Fields(v.Queue) {
			if id, ok := mgotxn.TokenID(token); ok {
				ids = append(ids, id)
			}
		}
	}
	if len(ids) == 0 {
		return true, nil
	}
	n, err := d.Count(ctx, TxnsC, bson.D{{"_id", bson.D{{"$in", ids}}}, {"s", bson.D{{"$in", mgotxn.Unfinished}}}})
	return n == 0, err
}
