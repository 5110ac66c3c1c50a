package mgotxn

import (
	"errors"
	"fmt"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"
)

// Finished transactions are kept for an hour, with everything they wrote. A transaction that writes megabytes
// repeatedly would fill the disk in that time. Readers of a finished transaction need only its state, its documents,
// and whether it inserted, changed or removed them. So large contents are removed as soon as it has ended.

// slimFrom is the size in bytes above which the contents of an operation are removed.
const slimFrom = 16 << 10

// slim removes the contents of the large operations of a transaction that has ended. If it can't, for example for lack
// of a connection, the pruner removes them later.
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
	ended := bson.D{{Name: "_id", Value: id}, {Name: "s", Value: bson.D{{Name: "$in", Value: []int{Aborted, Applied}}}}}
	if err := db.C(TxnsC).Update(ended, bson.D{{Name: "$set", Value: set}}); err != nil && !errors.Is(err, mgo.ErrNotFound) {
		logger.Debugf("cannot remove the contents of transaction %s: %v", id.Hex(), err)
	}
}

// weight returns the approximate number of bytes of text and data in a value of the types that are written. It stops
// counting at enough.
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
