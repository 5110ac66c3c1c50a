package embedded

import (
	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/mongoerr"
	"juju/state/mongo/embedded/raw"
	"juju/state/mongo/embedded/update"
)

func (r *request) update() error {
	w, err := r.writing("updates")
	if err != nil {
		return err
	}
	var matched, modified int
	upserted := bsoncore.NewArrayBuilder()
	n := 0
	err = r.writeEach(w, func(i int, doc bsoncore.Document) error {
		o, err := r.updateOne(w.collection, doc)
		matched, modified = matched+o.matched, modified+o.modified
		if o.upserted.Type != 0 {
			matched++
			n++
			upserted.AppendDocument(bsoncore.NewDocumentBuilder().
				AppendInt32("index", int32(i)).AppendValue("_id", o.upserted).Build())
		}
		return err
	})
	if err != nil || r.unacknowledged {
		return err
	}
	r.out = bsoncore.AppendInt32Element(r.out, "n", int32(matched))
	r.out = bsoncore.AppendInt32Element(r.out, "nModified", int32(modified))
	if n > 0 {
		r.out = bsoncore.AppendArrayElement(r.out, "upserted", upserted.Build())
	}
	r.appendWriteErrors(w)
	return nil
}

// updateOne executes one statement of an update command.
func (r *request) updateOne(collection string, statement []byte) (outcome, error) {
	var m modification // it stays on the stack
	multi, err := updating(statement, &m)
	if err != nil {
		return outcome{}, err
	}
	return r.modify(collection, &m, multi)
}

// updating parses one statement of an update command into m. multi is set if it changes all documents that match.
func updating(statement []byte, m *modification) (multi bool, err error) {
	var hasQuery bool
	var u, filters bsoncore.Value
	it := raw.Elements(statement)
	for e, ok := it.Next(); ok; e, ok = it.Next() {
		switch string(e.Key) {
		case "q":
			hasQuery = true
			m.filter, err = compileFilter("q", e.Value)
		case "u":
			u = e.Value
		case "arrayFilters":
			filters = e.Value
		case "multi":
			multi = raw.Truthy(e.Value)
		case "upsert":
			m.upsert = raw.Truthy(e.Value)
		case "hint":
			m.hint = e.Value
		default:
			err = unknownField("update", e)
		}
		if err != nil {
			return false, err
		}
	}
	if !hasQuery || u.Type == 0 {
		return false, mongoerr.New(mongoerr.FailedToParse, "an update needs q and u")
	}
	if m.update, err = compileUpdate("u", u, filters); err != nil {
		return false, err
	}
	if multi && m.update.Replaces() {
		return false, mongoerr.New(mongoerr.FailedToParse, "multi update only works with $ operators")
	}
	return multi, nil
}

// compileUpdate compiles an update with its array filters.
func compileUpdate(key string, v, filters bsoncore.Value) (*update.Update, error) {
	if v.Type == bson.TypeArray {
		return nil, mongoerr.New(mongoerr.FailedToParse, "%s is an aggregation pipeline, which updates do not support", key)
	}
	if v.Type != bson.TypeEmbeddedDocument {
		return nil, mongoerr.New(mongoerr.FailedToParse, "%s must be an object, not %s", key, v.Type)
	}
	if filters.Type == 0 {
		return update.Compile(v.Data)
	}
	if filters.Type != bson.TypeArray {
		return nil, mongoerr.New(mongoerr.TypeMismatch, "arrayFilters must be an array, not %s", filters.Type)
	}
	var list []bsoncore.Document
	it := raw.Elements(filters.Data)
	for e, ok := it.Next(); ok; e, ok = it.Next() {
		if e.Value.Type != bson.TypeEmbeddedDocument {
			return nil, mongoerr.New(mongoerr.TypeMismatch, "arrayFilters must hold objects, not %s", e.Value.Type)
		}
		list = append(list, e.Value.Data)
	}
	return update.Compile(v.Data, list...)
}
