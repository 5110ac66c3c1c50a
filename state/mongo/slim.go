package mongo

import (
	"fmt"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"
)

// A finished transaction is kept for an hour, with everything it wrote. A transaction that writes
// megabytes again and again would fill the disk meanwhile. Readers of a finished transaction need
// only its state, its documents, and whether it made, changed or removed them; so large contents
// are removed as soon as it has ended.

// slimFrom is the size in bytes of an operation's contents from which they are removed.
const slimFrom = 16 << 10

// slim removes the contents of the large operations of a transaction that has ended. What it
// can't remove, for want of a connection say, the pruner removes later.
func slim(db *mgo.Database, ops []txn.Op, id bson.ObjectId) {
	set := bson.D{}
	for i, op := range ops {
		if weight(op.Insert, slimFrom) >= slimFrom {
			set = append(set, bson.DocElem{Name: fmt.Sprintf("o.%d.i", i), Value: bson.D{}})
		}
		if weight(op.Update, slimFrom) >= slimFrom {
			set = append(set, bson.DocElem{Name: fmt.Sprintf("o.%d.u", i), Value: bson.D{}})
		}
	}
	if len(set) == 0 {
		return
	}
	ended := bson.D{{Name: "_id", Value: id}, {Name: "s", Value: bson.D{{Name: "$in", Value: []int{5, 6}}}}}
	if err := db.C(TxnsC).Update(ended, bson.D{{Name: "$set", Value: set}}); err != nil && err != mgo.ErrNotFound {
		logger.Debugf("transaction %s stays as large as it is: %v", id.Hex(), err)
	}
}

// weight returns roughly how many bytes of text and data a value has, of the types that are
// written. It stops counting at enough.
func weight(v any, enough int) (n int) {
	switch v := v.(type) {
	case string:
		return len(v)
	case []byte:
		return len(v)
	case bson.Raw:
		return len(v.Data)
	case bson.Binary:
		return len(v.Data)
	case bson.D:
		for _, e := range v {
			if n += len(e.Name) + weight(e.Value, enough); n >= enough {
				return n
			}
		}
	case bson.M:
		return weight(map[string]any(v), enough)
	case map[string]any:
		for name, value := range v {
			if n += len(name) + weight(value, enough); n >= enough {
				return n
			}
		}
	case map[string]string:
		for name, value := range v {
			n += len(name) + len(value)
		}
	case []any:
		for _, value := range v {
			if n += weight(value, enough); n >= enough {
				return n
			}
		}
	case []string:
		for _, value := range v {
			n += len(value)
		}
	}
	return n
}
