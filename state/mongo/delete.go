package mongo

import (
	"context"
	"errors"
	"fmt"
	"slices"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"

	"juju/state/mongo/cursor"
	"juju/state/mongo/mgotxn"
	"juju/state/mongo/servertxn"
)

// DeleteUntouched deletes documents outside transactions. It is for documents that transactions wrote and
// that nothing refers to any more. Each deletion asserts the counts of transactions, and the queue in which no
// unfinished one was found, so a document that a transaction has modified in the meantime is kept. It returns
// the number of documents kept.
func (d *Database) DeleteUntouched(ctx context.Context, collection string, query bson.D) (left int, err error) {
	var docs []struct {
		ID       any      `bson:"_id"`
		Queue    []string `bson:"txn-queue"`
		Revno    *int64   `bson:"txn-revno"`
		Asserted *int64   `bson:"txn-asserted"`
	}
	err = d.Reading(ctx, collection, func(c *mgo.Collection) error {
		return cursor.Find(c, query).Select(bson.D{{"txn-queue", 1}, {mgotxn.RevnoField, 1}, {servertxn.AssertedField, 1}}).All(&docs)
	})
	if err != nil {
		return 0, fmt.Errorf("cannot list what to delete from %s: %w", collection, err)
	}
	var untouched []any
	for _, doc := range docs {
		busy, err := d.anyUnfinished(ctx, doc.Queue)
		if err != nil {
			return len(docs), err
		}
		if busy {
			continue
		}
		same := bson.D{{"_id", doc.ID}, {"txn-queue", doc.Queue}, {mgotxn.RevnoField, doc.Revno}, {servertxn.AssertedField, doc.Asserted}}
		for i, there := range []bool{doc.Queue != nil, doc.Revno != nil, doc.Asserted != nil} {
			if !there {
				same[i+1].Value = bson.D{{"$exists", false}}
			}
		}
		untouched = append(untouched, same)
	}
	left = len(docs)
	for some := range slices.Chunk(untouched, servertxn.MaxStatements) {
		err = d.With(ctx, collection, func(c *mgo.Collection) error {
			bulk := c.Bulk()
			bulk.Remove(some...)
			result, err := bulk.Run()
			var refused *mgo.BulkError
			switch {
			case err == nil:
				left -= result.Matched
			case errors.As(err, &refused) && len(refused.Cases()) > 0:
				err = refused.Cases()[0].Err // it tells whether the store is away
			}
			return err
		})
		if err != nil {
			return left, fmt.Errorf("cannot delete from %s: %w", collection, err)
		}
	}
	return left, nil
}

// anyUnfinished reports whether a queue names an unfinished transaction.
func (d *Database) anyUnfinished(ctx context.Context, queue []string) (bool, error) {
	var ids []bson.ObjectId
	for _, token := range queue {
		id, ok := mgotxn.TokenID(token)
		if !ok {
			return true, nil // malformed: leave the document alone
		}
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		return false, nil
	}
	n, err := d.Count(ctx, TxnsC, bson.D{{"_id", bson.D{{"$in", ids}}}, {"s", bson.D{{"$in", mgotxn.Unfinished}}}})
	return n > 0, err
}
