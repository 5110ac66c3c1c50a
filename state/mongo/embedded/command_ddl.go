package embedded

import (
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/mongoerr"
	"juju/state/mongo/embedded/query"
	"juju/state/mongo/embedded/raw"
	"juju/state/mongo/embedded/storage"
)

func (r *request) create() error {
	name, err := r.collection()
	if err != nil {
		return err
	}
	var opts storage.CollectionOptions
	if err := r.fields(func(key string, v bsoncore.Value) (bool, error) {
		var err error
		switch key {
		case "capped":
			opts.Capped = raw.Truthy(v)
		case "size":
			opts.Size, err = wantInt(key, v)
		case "max":
			opts.Max, err = wantInt(key, v)
		case "autoIndexId":
			if !raw.Truthy(v) {
				err = mongoerr.New(mongoerr.InvalidOptions, "autoIndexId: false is not supported")
			}
		case "flags", "temp": // of old drivers, without effect
		default:
			return false, nil
		}
		return true, err
	}); err != nil {
		return err
	}
	if opts.Capped && opts.Size <= 0 {
		return mongoerr.New(mongoerr.InvalidOptions, "the 'size' field is required when 'capped' is true")
	}
	if !opts.Capped { // size and max mean nothing then, and are not listed as options
		opts = storage.CollectionOptions{}
	}
	_, err = r.s.store.Create(r.db, name, opts)
	return err
}

func (r *request) drop() error {
	name, err := r.collection()
	if err != nil {
		return err
	}
	if err := r.fields(func(string, bsoncore.Value) (bool, error) { return false, nil }); err != nil {
		return err
	}
	coll := r.s.store.Collection(r.db, name)
	if coll != nil {
		// Another request may have dropped it since; then this one has found nothing.
		dropped, err := r.s.store.Drop(r.ctx, r.db, name)
		if err != nil {
			return err
		}
		if dropped {
			r.out = bsoncore.AppendInt32Element(r.out, "nIndexesWas", int32(len(coll.Indexes())))
			r.out = bsoncore.AppendStringElement(r.out, "ns", coll.Namespace())
			return nil
		}
	}
	return mongoerr.New(mongoerr.NamespaceNotFound, "ns not found")
}

func (r *request) dropDatabase() error {
	if err := r.fields(func(string, bsoncore.Value) (bool, error) { return false, nil }); err != nil {
		return err
	}
	if len(r.s.store.Collections(r.db)) > 0 {
		r.out = bsoncore.AppendStringElement(r.out, "dropped", r.db)
	}
	return r.s.store.DropDatabase(r.ctx, r.db)
}

func (r *request) createIndexes() error {
	name, err := r.collection()
	if err != nil {
		return err
	}
	var specs []*storage.Index
	if err := r.fields(func(key string, v bsoncore.Value) (bool, error) { return key == "indexes", nil }); err != nil {
		return err
	}
	docs, err := r.documents("indexes")
	if err != nil {
		return err
	}
	if len(docs) == 0 {
		return mongoerr.New(mongoerr.BadValue, "Must specify at least one index to create")
	}
	for _, doc := range docs {
		ix, err := r.indexSpec(doc)
		if err != nil {
			return err
		}
		specs = append(specs, ix)
	}
	// The collection is created if necessary. If another request drops it in between, unlessDropped starts again, so the
	// function sets all results anew.
	var created bool
	var before, made int
	err = r.unlessDropped(name, func() error {
		created = r.s.store.Collection(r.db, name) == nil
		coll, err := r.s.store.Ensure(r.db, name)
		if err != nil {
			return err
		}
		before, made = len(coll.Indexes()), 0
		for _, ix := range specs {
			is, err := coll.CreateIndex(r.ctx, ix)
			if err != nil {
				return err
			}
			if is {
				made++
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	r.out = bsoncore.AppendBooleanElement(r.out, "createdCollectionAutomatically", created)
	r.out = bsoncore.AppendInt32Element(r.out, "numIndexesBefore", int32(before))
	r.out = bsoncore.AppendInt32Element(r.out, "numIndexesAfter", int32(before+made))
	if made == 0 {
		r.out = bsoncore.AppendStringElement(r.out, "note", "all indexes already exist")
	}
	return nil
}

// indexSpec parses {key: {…}, name: …, unique: …, sparse: …}.
func (r *request) indexSpec(doc []byte) (*storage.Index, error) {
	ix := &storage.Index{}
	it := raw.Elements(doc)
	for e, ok := it.Next(); ok; e, ok = it.Next() {
		var err error
		switch key := string(e.Key); key {
		case "key":
			ix.Fields, err = indexFields(e.Value)
		case "name":
			if e.Value.Type != bson.TypeString {
				return nil, mongoerr.New(mongoerr.TypeMismatch, "The field 'name' must be a string")
			}
			ix.Name = string(raw.Text(e.Value))
		case "unique":
			ix.Unique = raw.Truthy(e.Value)
		case "sparse":
			ix.Sparse = raw.Truthy(e.Value)
		case "collation":
			if err := checkCollation(e.Value); err != nil {
				return nil, err
			}
		case "background", "dropDups", "v", "ns":
			// Indexes are always built in the foreground, and have one version.
		default:
			// A false or empty option is the default, which drivers send too. Others would change what the index means.
			if raw.Truthy(e.Value) && !(e.Value.Type == bson.TypeEmbeddedDocument && raw.IsEmpty(e.Value.Data)) {
				err = mongoerr.New(mongoerr.CannotCreateIndex, "index option '%s' is not supported", key)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	if ix.Fields == nil || ix.Name == "" || ix.Name == "*" || strings.IndexByte(ix.Name, 0) >= 0 {
		return nil, mongoerr.New(mongoerr.FailedToParse, "an index needs a key and a name")
	}
	return ix, nil
}

func indexFields(v bsoncore.Value) ([]query.Field, error) {
	if v.Type != bson.TypeEmbeddedDocument || raw.IsEmpty(v.Data) {
		return nil, mongoerr.New(mongoerr.CannotCreateIndex, "Index keys cannot be empty")
	}
	var fields []query.Field
	it := raw.Elements(v.Data)
	for e, ok := it.Next(); ok; e, ok = it.Next() {
		path := string(e.Key)
		n, ok := raw.Number(e.Value)
		if !ok || n == 0 {
			return nil, mongoerr.New(mongoerr.CannotCreateIndex, "Values in the index key pattern must be 1 or -1: %s", v)
		}
		if path == "" || path[0] == '$' || path[0] == '.' || path[len(path)-1] == '.' {
			return nil, mongoerr.New(mongoerr.CannotCreateIndex,
				"Index keys cannot have an empty or $-prefixed field name: %q", path)
		}
		f := query.Field{Path: path, Desc: n < 0}
		if slices.ContainsFunc(fields, func(o query.Field) bool { return o.Path == path }) {
			return nil, mongoerr.New(mongoerr.CannotCreateIndex, "Index keys name %q twice", path)
		}
		fields = append(fields, f)
	}
	return fields, nil
}

func (r *request) dropIndexes() error {
	name, err := r.collection()
	if err != nil {
		return err
	}
	var which bsoncore.Value
	if err := r.fields(func(key string, v bsoncore.Value) (bool, error) {
		which = v
		return key == "index", nil
	}); err != nil {
		return err
	}
	if which, _ = raw.Get(r.body, "index"); which.Type == 0 {
		return mongoerr.New(mongoerr.FailedToParse, "dropIndexes needs 'index'")
	}
	return r.unlessDropped(name, func() error {
		coll := r.s.store.Collection(r.db, name)
		if coll == nil {
			return mongoerr.New(mongoerr.NamespaceNotFound, "ns not found")
		}
		was := len(coll.Indexes())
		if err := r.dropIndex(coll, which); err != nil {
			return err
		}
		r.out = bsoncore.AppendInt32Element(r.out, "nIndexesWas", int32(was))
		return nil
	})
}

func (r *request) dropIndex(coll *storage.Collection, which bsoncore.Value) error {
	var drop func(*storage.Index) bool
	all := false
	switch which.Type {
	case bson.TypeString:
		name := string(raw.Text(which))
		if name == "_id_" {
			return mongoerr.New(mongoerr.InvalidOptions, "cannot drop _id index")
		}
		all = name == "*"
		drop = func(ix *storage.Index) bool { return all || ix.Name == name }
	case bson.TypeEmbeddedDocument:
		fields, err := indexFields(which)
		if err != nil {
			return err
		}
		drop = func(ix *storage.Index) bool { return slices.Equal(ix.Fields, fields) }
	default:
		return mongoerr.New(mongoerr.TypeMismatch, "index must be a string or an object")
	}
	n, err := coll.DropIndexes(r.ctx, drop) // never _id's
	if err == nil && n == 0 && !all {
		return mongoerr.New(mongoerr.IndexNotFound, "index not found with name [%s]", which)
	}
	return err
}
