package mgotxn

import (
	"errors"
	"slices"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/mongo/cursor"
)

// manyInserts is the number of inserts per existing document in a transaction from which clearing the queues
// is worthwhile.
const manyInserts = 4

// clearQueues removes the finished transactions from the queues of the documents that ops touch, if ops
// insert many others. A finished transaction stays in its documents' queues until another one removes it
// while being applied. That other transaction finds it on starting, and before mgo/txn knows that it need not
// wait, it loads the whole finished transaction and rereads each document of ops, inserted ones twice.
// Nothing waits for a finished transaction, so no runner misses it.
func clearQueues(db *mgo.Database, ops []txn.Op) error {
	inserts := 0
	touched := map[StashKey]bool{}
	for _, op := range ops {
		if op.Insert != nil {
			inserts++
		} else {
			touched[StashKey{op.C, op.Id}] = true
		}
	}
	if inserts < manyInserts*len(touched) {
		return nil
	}
	queues := map[StashKey][]string{}
	var ids []bson.ObjectId
	for doc := range touched {
		var b Bookkeeping
		err := db.C(doc.C).FindId(doc.ID).Select(BookkeepingFields).One(&b)
		if errors.Is(err, mgo.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		queues[doc] = b.Queue
		named, _ := b.Transactions()
		ids = append(ids, named...)
	}
	finished, err := Finished(db, ids)
	if err != nil {
		return err
	}
	for doc, queue := range queues {
		done := slices.DeleteFunc(queue, func(token string) bool {
			id, ok := TokenID(token)
			return !ok || !finished[id]
		})
		if len(done) == 0 {
			continue
		}
		err := db.C(doc.C).UpdateId(doc.ID, bson.D{{"$pullAll", bson.D{{"txn-queue", done}}}})
		if err != nil && !errors.Is(err, mgo.ErrNotFound) {
			return err
		}
	}
	return nil
}

// Finished returns which of the transactions are applied or aborted.
func Finished(db *mgo.Database, ids []bson.ObjectId) (map[bson.ObjectId]bool, error) {
	finished := map[bson.ObjectId]bool{}
	if len(ids) == 0 {
		return finished, nil
	}
	var found []struct {
		ID bson.ObjectId `bson:"_id"`
	}
	query := bson.D{{"_id", bson.D{{"$in", ids}}}, {"s", bson.D{{"$in", []int{Aborted, Applied}}}}}
	if err := cursor.Find(db.C(TxnsC), query).Select(bson.D{{"_id", 1}}).All(&found); err != nil {
		return nil, err
	}
	for _, f := range found {
		finished[f.ID] = true
	}
	return finished, nil
}
