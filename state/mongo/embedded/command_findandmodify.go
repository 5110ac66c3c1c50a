package embedded

import (
	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/mongoerr"
	"juju/state/mongo/embedded/query"
	"juju/state/mongo/embedded/raw"
)

// A findModify is a parsed findAndModify command.
type findModify struct {
	collection string
	modification
	wantNew bool
	show    *query.Projection
}

func (r *request) findModify() (*findModify, error) {
	collection, err := r.collection()
	if err != nil {
		return nil, err
	}
	m := &findModify{collection: collection}
	var remove bool
	var u, filters bsoncore.Value
	if err := r.fields(func(key string, v bsoncore.Value) (bool, error) {
		var err error
		var doc bsoncore.Document
		switch key {
		case "query":
			m.filter, err = compileFilter(key, v)
		case "sort":
			if doc, err = wantDocument(key, v); err == nil {
				m.order, err = query.CompileSort(doc)
			}
		case "fields":
			if doc, err = wantDocument(key, v); err == nil {
				m.show, err = query.CompileProjection(doc)
			}
		case "update":
			if v.Type != bson.TypeNull {
				u = v
			}
		case "arrayFilters":
			filters = v
		case "remove":
			remove = raw.Truthy(v)
		case "new":
			m.wantNew = raw.Truthy(v)
		case "upsert":
			m.upsert = raw.Truthy(v)
		case "hint":
			m.hint = v
		case "bypassDocumentValidation":
		default:
			return false, nil
		}
		return true, err
	}); err != nil {
		return nil, err
	}
	if m.filter == nil {
		if m.filter, err = query.Compile(nil); err != nil {
			return nil, err
		}
	}
	if u.Type != 0 {
		if m.update, err = compileUpdate("update", u, filters); err != nil {
			return nil, err
		}
	} else if filters.Type != 0 {
		return nil, mongoerr.New(mongoerr.FailedToParse, "arrayFilters may not be specified without an update")
	}
	switch {
	case remove && (m.update != nil || m.wantNew || m.upsert):
		return nil, mongoerr.New(mongoerr.FailedToParse, "remove cannot be combined with update, new or upsert")
	case !remove && m.update == nil:
		return nil, mongoerr.New(mongoerr.FailedToParse, "Either an update or remove=true must be specified")
	}
	return m, nil
}

func (r *request) findAndModify() error {
	m, err := r.findModify()
	if err != nil {
		return err
	}
	start := len(r.out)
	m.result = func(old, new []byte, position int) (err error) {
		r.out = r.out[:start] // discards a failed attempt
		doc := old
		if m.wantNew {
			doc = new
		}
		if doc == nil {
			return nil
		}
		r.out = bsoncore.AppendHeader(r.out, bson.TypeEmbeddedDocument, "value")
		r.out, err = m.show.Append(r.out, doc, position)
		return err
	}
	o, err := r.modify(m.collection, &m.modification, false)
	if err != nil {
		return err
	}
	if len(r.out) == start {
		r.out = bsoncore.AppendNullElement(r.out, "value")
	}
	var at int32
	at, r.out = bsoncore.AppendDocumentElementStart(r.out, "lastErrorObject")
	n := o.matched
	if o.upserted.Type != 0 {
		n = 1
	}
	r.out = bsoncore.AppendInt32Element(r.out, "n", int32(n))
	if m.update != nil {
		r.out = bsoncore.AppendBooleanElement(r.out, "updatedExisting", o.matched > 0)
	}
	if o.upserted.Type != 0 {
		r.out = bsoncore.AppendValueElement(r.out, "upserted", o.upserted)
	}
	r.out, err = bsoncore.AppendDocumentEnd(r.out, at)
	return err
}
