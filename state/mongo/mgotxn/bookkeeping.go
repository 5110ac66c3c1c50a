package mgotxn

import (
	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"

	"juju/state/mongo/cursor"
)

// RevnoField counts the changes of a document.
const RevnoField = "txn-revno"

// Bookkeeping is the fields that mgo/txn adds to a document.
type Bookkeeping struct {
	Queue  []string      `bson:"txn-queue"`
	Revno  int64         `bson:"txn-revno"`
	Insert bson.ObjectId `bson:"txn-insert,omitempty"`
	Remove bson.ObjectId `bson:"txn-remove,omitempty"`
}

// BookkeepingFields selects them.
var BookkeepingFields = bson.D{{"txn-queue", 1}, {"txn-revno", 1}, {"txn-insert", 1}, {"txn-remove", 1}}

// Transactions returns the ids in the bookkeeping, and the malformed entries of the queue.
func (b Bookkeeping) Transactions() (ids []bson.ObjectId, malformed []string) {
	for _, token := range b.Queue {
		if id, ok := TokenID(token); ok {
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

// TokenID parses an entry of a queue: a transaction's id in hex, "_" and a nonce of eight characters.
func TokenID(token string) (bson.ObjectId, bool) {
	const hex, nonce = 24, 8
	if len(token) != hex+1+nonce || token[hex] != '_' || !bson.IsObjectIdHex(token[:hex]) {
		return "", false
	}
	return bson.ObjectIdHex(token[:hex]), true
}

// A StashKey is mgo/txn's id of a document in its stash.
type StashKey struct {
	C  string `bson:"c"`
	ID any    `bson:"id"`
}

// Missing returns the transactions that don't exist.
func Missing(db *mgo.Database, ids []bson.ObjectId) (lost []bson.ObjectId, err error) {
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
