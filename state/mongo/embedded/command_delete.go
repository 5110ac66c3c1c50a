package embedded

import (
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/mongoerr"
	"juju/state/mongo/embedded/raw"
)

func (r *request) delete() error {
	w, err := r.writing("deletes")
	if err != nil {
		return err
	}
	n := 0
	err = r.writeEach(w, func(_ int, doc bsoncore.Document) error {
		o, err := r.deleteOne(w.collection, doc)
		n += o.matched
		return err
	})
	if err != nil || r.unacknowledged {
		return err
	}
	r.out = bsoncore.AppendInt32Element(r.out, "n", int32(n))
	r.appendWriteErrors(w)
	return nil
}

func (r *request) deleteOne(collection string, statement []byte) (o outcome, err error) {
	m := &modification{}
	limit := int64(-1)
	it := raw.Elements(statement)
	for e, ok := it.Next(); ok; e, ok = it.Next() {
		switch string(e.Key) {
		case "q":
			m.filter, err = compileFilter("q", e.Value)
		case "limit":
			limit, err = wantInt("limit", e.Value)
		case "hint":
			m.hint = e.Value
		default:
			err = unknownField("delete", e)
		}
		if err != nil {
			return o, err
		}
	}
	if m.filter == nil || limit != 0 && limit != 1 {
		return o, mongoerr.New(mongoerr.FailedToParse, "a delete needs q, and a limit of 0 or 1")
	}
	return r.modify(collection, m, limit == 0)
}
