package embedded

import (
	"bytes"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/keys"
	"juju/state/mongo/embedded/mongoerr"
	"juju/state/mongo/embedded/query"
	"juju/state/mongo/embedded/raw"
	"juju/state/mongo/embedded/wire"
)

func (r *request) count() error {
	name, err := r.collection()
	if err != nil {
		return err
	}
	var filter bsoncore.Document
	var ch choice
	var skip, limit int64
	if err := r.fields(func(key string, v bsoncore.Value) (bool, error) {
		var err error
		switch key {
		case "query":
			filter, err = wantDocument(key, v)
		case "limit":
			if limit, err = wantInt(key, v); limit < 0 {
				limit = -limit
			}
		case "skip":
			if skip, err = wantInt(key, v); err == nil && skip < 0 {
				err = mongoerr.New(mongoerr.BadValue, "Skip value is negative in the count query")
			}
		case "hint":
			ch.hint = v
		case "fields":
		default:
			return false, nil
		}
		return true, err
	}); err != nil {
		return err
	}
	if ch.filter, err = query.Compile(filter); err != nil {
		return err
	}
	n, err := r.counted(name, ch, raw.IsEmpty(filter), skip, limit)
	if err != nil {
		return err
	}
	r.out = bsoncore.AppendInt32Element(r.out, "n", int32(n))
	return nil
}

func (r *request) counted(name string, ch choice, all bool, skip, limit int64) (n int64, err error) {
	coll := r.s.store.Collection(r.db, name)
	if coll == nil {
		return 0, nil
	}
	if all {
		n, err = coll.Count()
	} else {
		err = r.each(name, ch, func([]byte) error { n++; return nil })
	}
	n = max(0, n-skip)
	if limit > 0 {
		n = min(n, limit)
	}
	return n, err
}

// each calls do with each matching document.
func (r *request) each(name string, ch choice, do func(doc []byte) error) error {
	coll := r.s.store.Collection(r.db, name)
	if coll == nil {
		return nil
	}
	ch.tx = r.tx
	sel, err := newSelection(coll, ch, r.late)
	if err != nil {
		return err
	}
	defer sel.pause()
	for {
		_, doc, err := sel.next()
		if err != nil || doc == nil {
			return err
		}
		if err := do(doc); err != nil {
			return err
		}
	}
}

func (r *request) distinct() error {
	name, err := r.collection()
	if err != nil {
		return err
	}
	var path string
	var filter bsoncore.Document
	if err := r.fields(func(key string, v bsoncore.Value) (bool, error) {
		var err error
		switch key {
		case "key":
			if v.Type != bson.TypeString || len(raw.Text(v)) == 0 {
				return true, mongoerr.New(mongoerr.TypeMismatch, "key must be a non-empty string")
			}
			path = string(raw.Text(v))
		case "query":
			filter, err = wantDocument(key, v)
		default:
			return false, nil
		}
		return true, err
	}); err != nil {
		return err
	}
	if path == "" {
		return mongoerr.New(mongoerr.FailedToParse, "distinct needs a key")
	}
	var ch choice
	if ch.filter, err = query.Compile(filter); err != nil {
		return err
	}
	seen := map[string]bool{}
	list := bsoncore.NewArrayBuilder()
	size := 0
	var values []bsoncore.Value
	if err := r.each(name, ch, func(doc []byte) error {
		values = query.Distinct(values[:0], doc, path)
		for _, v := range values {
			key := string(keys.Append(nil, v))
			if seen[key] {
				continue
			}
			seen[key] = true
			list.AppendValue(bsoncore.Value{Type: v.Type, Data: bytes.Clone(v.Data)})
			if size += len(v.Data) + 12; size > int(wire.MaxDocument) {
				return mongoerr.New(17217, "distinct too big, 16mb cap")
			}
		}
		return nil
	}); err != nil {
		return err
	}
	r.out = bsoncore.AppendArrayElement(r.out, "values", list.Build())
	return nil
}
