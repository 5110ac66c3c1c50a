package mongo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/mongo/cursor"
	"juju/state/mongo/mgotxn"
)

// A Problem is something wrong with the bookkeeping of transactions.
type Problem struct {
	Collection string // of the document, or TxnsC for a transaction
	ID         any
	What       string
	Repair     string // what Mend does
	Mend       func(context.Context) error
}

// Problems lists the unfinished transactions that began before the given time, and the documents that refer to
// nonexistent transactions. Concurrent transactions are not reported.
func (d *Database) Problems(ctx context.Context, before time.Time) ([]Problem, error) {
	all, err := d.stuck(ctx, before)
	if err != nil {
		return nil, err
	}
	err = d.each(ctx, func(c *mgo.Collection) error {
		// Files can have many chunks, and no transaction touches them.
		if c.Name == TxnsC || c.Name == LogC || strings.HasPrefix(c.Name, "system.") || strings.HasSuffix(c.Name, ".chunks") {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		Moved(ctx)
		found, err := d.dangling(c)
		all = append(all, found...)
		return err
	})
	return all, err
}

// stateNames are mgo/txn's names of the states.
var stateNames = map[int]string{1: "preparing", 2: "prepared", 3: "aborting", 4: "applying"}

// stuck lists the old unfinished transactions.
func (d *Database) stuck(ctx context.Context, before time.Time) ([]Problem, error) {
	var docs []struct {
		ID    bson.ObjectId `bson:"_id"`
		State int           `bson:"s"`
		Ops   []txn.Op      `bson:"o"`
	}
	query := bson.D{{"s", bson.D{{"$in", mgotxn.Unfinished}}}, {"_id", bson.D{{"$lt", bson.NewObjectIdWithTime(before)}}}}
	if err := d.All(ctx, TxnsC, query, &docs); err != nil {
		return nil, err
	}
	var all []Problem
	for _, doc := range docs {
		var of []string
		for _, op := range doc.Ops {
			if name := fmt.Sprintf("%s %v", op.C, op.Id); !slices.Contains(of, name) {
				of = append(of, name)
			}
		}
		all = append(all, Problem{
			Collection: TxnsC, ID: doc.ID.Hex(),
			What: fmt.Sprintf("it is %s since %s and holds up %s",
				stateNames[doc.State], doc.ID.Time().UTC().Format(time.RFC3339), strings.Join(of, ", ")),
			Repair: "complete or abort it",
			Mend: func(ctx context.Context) error {
				err := d.resume(ctx, doc.ID)
				if err == nil || errors.Is(err, txn.ErrAborted) || errors.Is(err, mgotxn.ErrTakenBack) {
					return d.store.Barrier(ctx)
				}
				return err
			},
		})
	}
	return all, nil
}

// suspectsAtOnce limits the ids in one query.
const suspectsAtOnce = 1000

// dangling lists the documents of a collection that refer to lost transactions.
func (d *Database) dangling(c *mgo.Collection) ([]Problem, error) {
	var all []Problem
	suspects := map[bson.ObjectId][]bson.Raw{} // transaction → ids of the documents that refer to it
	var sure []bson.Raw
	look := func() error {
		lost, err := mgotxn.Missing(c.Database, slices.Collect(maps.Keys(suspects)))
		if err != nil {
			return err
		}
		docs := sure
		for _, id := range lost {
			docs = append(docs, suspects[id]...)
		}
		seen := map[string]bool{}
		for _, doc := range docs {
			if seen[string(doc.Data)] {
				continue
			}
			seen[string(doc.Data)] = true
			found, err := d.inspect(c, doc)
			if err != nil {
				return err
			}
			all = append(all, found...)
		}
		clear(suspects)
		sure = nil
		return nil
	}
	iter := cursor.Find(c, bson.D{{"$or", []bson.D{
		{{"txn-queue.0", bson.D{{"$exists", true}}}}, {{"txn-insert", bson.D{{"$exists", true}}}}, {{"txn-remove", bson.D{{"$exists", true}}}},
	}}}).Select(append(bson.D{{"_id", 1}}, mgotxn.BookkeepingFields...)).Iter()
	for {
		var doc struct {
			ID                 bson.Raw `bson:"_id"` // undecoded: the order of a stash key's fields matters
			mgotxn.Bookkeeping `bson:",inline"`
		}
		if !iter.Next(&doc) {
			break
		}
		ids, malformed := doc.Transactions()
		if len(malformed) > 0 || doc.Insert != "" || doc.Remove != "" {
			sure = append(sure, doc.ID)
		}
		for _, id := range ids {
			suspects[id] = append(suspects[id], doc.ID)
		}
		if len(suspects) >= suspectsAtOnce {
			if err := look(); err != nil {
				return nil, errors.Join(err, iter.Close())
			}
		}
	}
	if err := iter.Close(); err != nil {
		return nil, err
	}
	return all, look()
}

// inspect reads one document twice, before and after it looks up the transactions that the document refers
// to. A missing transaction is a problem only if both reads refer to it: a transaction is written before any
// document refers to it, and removed only when none does any more.
func (d *Database) inspect(c *mgo.Collection, id bson.Raw) ([]Problem, error) {
	var was, is mgotxn.Bookkeeping
	if err := c.FindId(id).Select(mgotxn.BookkeepingFields).One(&was); IsNotFound(err) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	ids, _ := was.Transactions()
	lost, err := mgotxn.Missing(c.Database, ids)
	if err != nil {
		return nil, err
	}
	finished, err := mgotxn.Finished(c.Database, ids)
	if err != nil {
		return nil, err
	}
	if err := c.FindId(id).Select(mgotxn.BookkeepingFields).One(&is); IsNotFound(err) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	collection, doc := c.Name, any(nil)
	if c.Name == StashC {
		var key mgotxn.StashKey
		err = id.Unmarshal(&key)
		collection, doc = key.C, key.ID
	} else {
		err = id.Unmarshal(&doc)
	}
	if err != nil {
		return nil, err
	}
	var all []Problem
	problem := func(what, repair string, query, update bson.D) {
		all = append(all, Problem{Collection: collection, ID: doc, What: what, Repair: repair, Mend: func(ctx context.Context) error {
			err := d.With(ctx, c.Name, func(c *mgo.Collection) error { return c.Update(append(bson.D{{"_id", id}}, query...), update) })
			if err != nil && !IsNotFound(err) { // if it wasn't found, the problem has resolved itself
				return err
			}
			return d.store.Barrier(ctx)
		}})
	}
	for _, token := range is.Queue {
		tid, ok := mgotxn.TokenID(token)
		what := fmt.Sprintf("its queue holds %q, which is not a transaction", token)
		if ok {
			what = "it waits for transaction " + tid.Hex() + ", which is lost"
		}
		if !ok || slices.Contains(was.Queue, token) && slices.Contains(lost, tid) {
			entry := bson.D{{"txn-queue", token}}
			problem(what, "remove it from the queue", entry, bson.D{{"$pull", entry}})
		}
	}
	for _, mark := range []struct {
		field, doing string
		was, is      bson.ObjectId
	}{{"txn-insert", "inserted", was.Insert, is.Insert}, {"txn-remove", "removed", was.Remove, is.Remove}} {
		if mark.is == "" || mark.is != mark.was {
			continue
		}
		why := "is lost"
		if !slices.Contains(lost, mark.is) {
			if !finished[mark.is] {
				continue
			}
			why = "has ended"
		}
		problem(fmt.Sprintf("it is being %s by transaction %s, which %s", mark.doing, mark.is.Hex(), why), "remove the mark",
			bson.D{{mark.field, mark.is}}, bson.D{{"$unset", bson.D{{mark.field, 1}}}})
	}
	return all, nil
}
