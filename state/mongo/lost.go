package mongo

import (
	"context"
	"errors"
	"fmt"
	"strings"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/entity"
	"juju/state/mongo/cursor"
)

// A document's queue, and its marks for an insert or removal in progress, refer to transactions. If such a
// transaction is lost, mgo/txn can't tell what it would have done to the document, and rejects every other
// transaction on it. Worse, it leaves the rejected ones prepared: unfinished, and in the queues of all their
// other documents, where they cause further transactions to be rejected as well. So a rejected transaction is
// rolled back immediately, to keep the damage from spreading.

// errLost is the error of an attempt that was rolled back.
var errLost = errors.New("a document refers to a lost transaction")

// runOnce runs ops as the transaction id. On a malformed queue entry or a lost transaction mgo/txn panics; runOnce then
// rolls its transaction back and returns errLost.
func runOnce(db *mgo.Database, ops []txn.Op, id bson.ObjectId) error {
	runner := runnerOf(db)
	err := guarded(func() error { return runner.Run(ops, id, nil) })
	if err == nil || err == txn.ErrAborted {
		slim(db, ops, id)
		return err
	}
	if !isLost(err) {
		return err
	}
	taken, terr := takeBack(db, id)
	switch {
	case terr != nil:
		return fmt.Errorf("cannot roll back a transaction: %w", terr)
	case !taken: // another runner has continued it
		return guarded(func() error { return runner.Resume(id) })
	}
	return fmt.Errorf("%w: %v", errLost, err)
}

func runnerOf(db *mgo.Database) *txn.Runner {
	runner := txn.NewRunner(db.C(TxnsC))
	runner.ChangeLog(db.C(LogC))
	runner.SetOptions(runnerOptions)
	return runner
}

// runnerOptions keep the tokens of finished transactions out of documents that are only asserted; later
// transactions would have to load every one of them.
var runnerOptions = func() txn.RunnerOptions {
	o := txn.DefaultRunnerOptions()
	o.AssertionCleanupLength = 1
	return o
}()

// panicked is the error of a recovered panic.
type panicked struct{ why any }

func (p panicked) Error() string { return fmt.Sprint("the transaction runner panicked: ", p.why) }

func guarded(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicked{p}
		}
	}()
	return f()
}

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
	if IsNotFound(err) {
		if err = txns.FindId(id).One(&doc); IsNotFound(err) {
			return true, nil
		}
		return doc.State == 5, err
	}
	if err != nil {
		return false, err
	}
	for _, op := range doc.Ops {
		if err := pullTokens(db.C(op.C), op.Id, id); err != nil {
			return false, err
		}
		if err := pullTokens(db.C(StashC), stashKey{op.C, op.Id}, id); err != nil {
			return false, err
		}
	}
	return true, txns.Update(bson.D{{"_id", id}, {"s", 3}}, bson.D{{"$set", bson.D{{"s", 5}}}})
}

// stashKey is mgo/txn's id of a document in its stash.
type stashKey struct {
	C  string `bson:"c"`
	ID any    `bson:"id"`
}

// pullTokens removes a transaction from a document's queue.
func pullTokens(c *mgo.Collection, doc any, id bson.ObjectId) error {
	var found struct {
		Queue []string `bson:"txn-queue"`
	}
	if err := c.FindId(doc).Select(bson.D{{"txn-queue", 1}}).One(&found); IsNotFound(err) {
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
	if IsNotFound(err) {
		return nil
	}
	return err
}

// bookkeeping is the fields that mgo/txn adds to a document.
type bookkeeping struct {
	Queue  []string      `bson:"txn-queue"`
	Revno  int64         `bson:"txn-revno"`
	Insert bson.ObjectId `bson:"txn-insert,omitempty"`
	Remove bson.ObjectId `bson:"txn-remove,omitempty"`
}

// TxnFields are the fields that transactions add to documents.
var TxnFields = []string{"txn-queue", revnoF, "txn-insert", "txn-remove", assertedF}

var bookkept = bson.D{{"txn-queue", 1}, {"txn-revno", 1}, {"txn-insert", 1}, {"txn-remove", 1}}

// transactions returns the ids in the bookkeeping, and the malformed entries of the queue.
func (b bookkeeping) transactions() (ids []bson.ObjectId, malformed []string) {
	for _, token := range b.Queue {
		if id, ok := tokenID(token); ok {
			ids = append(ids, id)
		} else {
			malformed = append(malformed, token)
		}
	}
	for _, id := range []bson.ObjectId{b.Insert, b.Remove} {
		if id != "" {
			ids = append(ids, id)
		}
	}
	return ids, malformed
}

// tokenID parses an entry of a queue: a transaction's id in hex, "_" and a nonce of eight characters.
func tokenID(token string) (bson.ObjectId, bool) {
	const hex, nonce = 24, 8
	if len(token) != hex+1+nonce || token[hex] != '_' || !bson.IsObjectIdHex(token[:hex]) {
		return "", false
	}
	return bson.ObjectIdHex(token[:hex]), true
}

// damaged returns a user-facing error about the first document of ops that refers to a lost transaction, or
// nil.
func (r *Runner) damaged(ctx context.Context, ops []txn.Op) error {
	return r.with(ctx, func(db *mgo.Database) error { return damagedIn(db, ops) })
}

func damagedIn(db *mgo.Database, ops []txn.Op) error {
	for _, op := range ops {
		for _, at := range []struct {
			c  string
			id any
		}{{op.C, op.Id}, {StashC, stashKey{op.C, op.Id}}} {
			var b bookkeeping
			if err := db.C(at.c).FindId(at.id).Select(bookkept).One(&b); IsNotFound(err) {
				continue
			} else if err != nil {
				return err
			}
			ids, malformed := b.transactions()
			lost, err := missing(db, ids)
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

// missing returns the transactions that don't exist.
func missing(db *mgo.Database, ids []bson.ObjectId) (lost []bson.ObjectId, err error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var found []struct {
		ID bson.ObjectId `bson:"_id"`
	}
	query := bson.D{{"_id", bson.D{{"$in", ids}}}}
	if err := cursor.Find(db.C(TxnsC), query).Select(bson.D{{"_id", 1}}).All(&found); err != nil {
		return nil, err
	}
	there := map[bson.ObjectId]bool{}
	for _, f := range found {
		there[f.ID] = true
	}
	for _, id := range ids {
		if !there[id] {
			lost = append(lost, id)
		}
	}
	return lost, nil
}
