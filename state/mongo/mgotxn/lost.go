package mgotxn

import (
	"errors"
	"strings"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/entity"
)

// A document's queue, and its marks for an insert or removal in progress, refer to transactions. If such a
// transaction is lost, mgo/txn can't tell what it would have done to the document, and rejects every other
// transaction on it. Worse, it leaves the rejected ones prepared: unfinished, and in the queues of all their
// other documents, where they cause further transactions to be rejected as well. So a rejected transaction is
// rolled back immediately, to keep the damage from spreading.

// ErrLost is the error of an attempt that was rolled back.
var ErrLost = errors.New("a document refers to a lost transaction")

// isLost reports whether an error is mgo/txn's way to say that it can't find a transaction. The pruner may
// have caused it; then the next attempt succeeds.
func isLost(err error) bool {
	var p panicked
	return errors.As(err, &p) || strings.Contains(err.Error(), "cannot find transaction")
}

// takeBack aborts a transaction that hasn't been applied yet, using mgo/txn's own steps: after the first of
// them no runner can apply it. It reports whether the transaction is now aborted; a missing one is treated as
// aborted.
func takeBack(db *mgo.Database, id bson.ObjectId) (taken bool, err error) {
	txns := db.C(TxnsC)
	pending := bson.D{{"_id", id}, {"s", bson.D{{"$in", []int{1, 2, 3}}}}} // preparing, prepared, aborting
	var doc struct {
		State int      `bson:"s"`
		Ops   []txn.Op `bson:"o"`
	}
	_, err = txns.Find(pending).Apply(mgo.Change{Update: bson.D{{"$set", bson.D{{"s", 3}}}}, ReturnNew: true}, &doc)
	if errors.Is(err, mgo.ErrNotFound) {
		if err = txns.FindId(id).One(&doc); errors.Is(err, mgo.ErrNotFound) {
			return true, nil
		}
		return doc.State == Aborted, err
	}
	if err != nil {
		return false, err
	}
	for _, op := range doc.Ops {
		if err := pullTokens(db.C(op.C), op.Id, id); err != nil {
			return false, err
		}
		if err := pullTokens(db.C(StashC), StashKey{op.C, op.Id}, id); err != nil {
			return false, err
		}
	}
	return true, txns.Update(bson.D{{"_id", id}, {"s", 3}}, bson.D{{"$set", bson.D{{"s", Aborted}}}})
}

// pullTokens removes a transaction from a document's queue.
func pullTokens(c *mgo.Collection, doc any, id bson.ObjectId) error {
	var found struct {
		Queue []string `bson:"txn-queue"`
	}
	if err := c.FindId(doc).Select(bson.D{{"txn-queue", 1}}).One(&found); errors.Is(err, mgo.ErrNotFound) {
		return nil
	} else if err != nil {
		return err
	}
	var tokens []string
	for _, token := range found.Queue {
		if strings.HasPrefix(token, id.Hex()+"_") {
			tokens = append(tokens, token)
		}
	}
	if len(tokens) == 0 {
		return nil
	}
	err := c.UpdateId(doc, bson.D{{"$pullAll", bson.D{{"txn-queue", tokens}}}})
	if errors.Is(err, mgo.ErrNotFound) {
		return nil
	}
	return err
}

// Damaged returns a user-facing error about the first document of ops that refers to a lost transaction, or nil.
func Damaged(db *mgo.Database, ops []txn.Op) error {
	for _, op := range ops {
		for _, at := range []struct {
			c  string
			id any
		}{{op.C, op.Id}, {StashC, StashKey{op.C, op.Id}}} {
			var b Bookkeeping
			if err := db.C(at.c).FindId(at.id).Select(BookkeepingFields).One(&b); errors.Is(err, mgo.ErrNotFound) {
				continue
			} else if err != nil {
				return err
			}
			ids, malformed := b.Transactions()
			lost, err := Missing(db, ids)
			if err != nil {
				return err
			}
			if len(lost)+len(malformed) > 0 {
				return entity.WithHint(entity.Errorf(entity.Unavailable,
					"cannot change %s %v: it waits for a lost transaction", op.C, op.Id), "To repair it: juju check --repair")
			}
		}
	}
	return nil
}
