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

func (r *request) deleteOne(collection string, statement []byte) (outcome, error) {
	var m modification // it stays on the stack
	multi, err := deleting(statement, &m)
	if err != nil {
		return outcome{}, err
	}
	return r.modify(collection, &m, multi)
}

// deleting parses one statement of a delete command into m. multi is set if it deletes all documents that match.
func deleting(statement []byte, m *modification) (multi bool, err error) {
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
			return false, err
		}
	}
	if m.filter == nil || limit != 0 && limit != 1 {
		return false, mongoerr.New(mongoerr.FailedToParse, "a delete needs q, and a limit of 0 or 1")
	}
	return limit == 0, nil
}
