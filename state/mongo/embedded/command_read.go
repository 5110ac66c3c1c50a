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

// A counting is a parsed count command.
type counting struct {
	collection  string
	query       bsoncore.Document
	ch          choice
	skip, limit int64 // a limit of 0 means none
}

func (r *request) counting() (n counting, err error) {
	if n.collection, err = r.collection(); err != nil {
		return n, err
	}
	if err := r.fields(func(key string, v bsoncore.Value) (bool, error) {
		var err error
		switch key {
		case "query":
			n.query, err = wantDocument(key, v)
		case "limit":
			if n.limit, err = wantInt(key, v); n.limit < 0 { // the sign asks for a single batch, which a count is
				n.limit = -n.limit
			}
		case "skip":
			if n.skip, err = wantInt(key, v); err == nil && n.skip < 0 {
				err = mongoerr.New(mongoerr.BadValue, "Skip value is negative in the count query")
			}
		case "hint":
			n.ch.hint = v
		case "fields": // of old drivers, without effect
		default:
			return false, nil
		}
		return true, err
	}); err != nil {
		return n, err
	}
	n.ch.filter, err = query.Compile(n.query)
	return n, err
}

func (r *request) count() error {
	c, err := r.counting()
	if err != nil {
		return err
	}
	n, err := r.counted(c)
	if err != nil {
		return err
	}
	r.out = bsoncore.AppendInt32Element(r.out, "n", int32(n))
	return nil
}

func (r *request) counted(c counting) (n int64, err error) {
	coll := r.s.store.Collection(r.db, c.collection)
	if coll == nil {
		return 0, nil
	}
	if raw.IsEmpty(c.query) { // the collection knows its number of documents
		n, err = coll.Count()
	} else {
		err = r.each(c.collection, c.ch, func([]byte) error { n++; return nil })
	}
	n = max(0, n-c.skip)
	if c.limit > 0 {
		n = min(n, c.limit)
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

// distinction parses a distinct command.
func (r *request) distinction() (collection, path string, filter bsoncore.Document, ch choice, err error) {
	if collection, err = r.collection(); err != nil {
		return "", "", nil, ch, err
	}
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
		return "", "", nil, ch, err
	}
	if path == "" {
		return "", "", nil, ch, mongoerr.New(mongoerr.FailedToParse, "distinct needs a key")
	}
	ch.filter, err = query.Compile(filter)
	return collection, path, filter, ch, err
}

func (r *request) distinct() error {
	name, path, _, ch, err := r.distinction()
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	list := bsoncore.NewArrayBuilder()
	size := 0
	var values []bsoncore.Value
	if err := r.each(name, ch, func(doc []byte) error {
		values = query.Distinct(values[:0], doc, path)
		for _, v := range values {
			// Values are the same if they compare equal, as 1 and 1.0 do. The first one found is returned.
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
