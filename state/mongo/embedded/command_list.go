package embedded

import (
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/mongoerr"
	"juju/state/mongo/embedded/query"
	"juju/state/mongo/embedded/raw"
	"juju/state/mongo/embedded/storage"
)

func (r *request) listIndexes() error {
	name, err := r.collection()
	if err != nil {
		return err
	}
	n, err := r.batchSize(nil)
	if err != nil {
		return err
	}
	coll := r.s.store.Collection(r.db, name)
	if coll == nil {
		return mongoerr.New(mongoerr.NamespaceNotFound, "ns does not exist: %s.%s", r.db, name)
	}
	var list [][]byte
	for _, ix := range coll.Indexes() {
		doc := bsoncore.NewDocumentBuilder().AppendInt32("v", 2)
		if ix.Unique && ix.Name != "_id_" {
			doc.AppendBoolean("unique", true)
		}
		doc.AppendDocument("key", ix.Keys()).AppendString("name", ix.Name).AppendString("ns", coll.Namespace())
		if ix.Sparse {
			doc.AppendBoolean("sparse", true)
		}
		list = append(list, doc.Build())
	}
	return r.answerList(list, r.db+".$cmd.listIndexes."+name, n)
}

// batchSize parses the fields of the list commands and returns the batch size. filter, if not nil, receives
// their filter.
func (r *request) batchSize(filter func(bsoncore.Document) error) (n int64, err error) {
	n = firstBatch
	err = r.fields(func(key string, v bsoncore.Value) (bool, error) {
		switch {
		case key == "cursor":
			doc, err := wantDocument(key, v)
			if err != nil {
				return true, err
			}
			size, ok := raw.Get(doc, "batchSize")
			if !ok {
				return true, nil
			}
			size64, err := wantInt("batchSize", size)
			if size64 > 0 {
				n = size64
			}
			return true, err
		case key == "filter" && filter != nil:
			doc, err := wantDocument(key, v)
			if err != nil {
				return true, err
			}
			return true, filter(doc)
		case key == "nameOnly" || key == "authorizedCollections":
			return true, nil
		}
		return false, nil
	})
	return n, err
}

// answerList replies with a cursor over the given documents.
func (r *request) answerList(list [][]byte, namespace string, n int64) error {
	cur := &cursor{namespace: namespace, fixed: list, left: int64(len(list))}
	b := r.conn.emptyBatch()
	more, err := cur.fill(b, n)
	if err != nil {
		return err
	}
	id := int64(0)
	if more {
		id = r.s.cursors.add(cur)
	}
	r.appendCursor(id, namespace, "firstBatch", b)
	return nil
}

func (r *request) listCollections() error {
	filter, err := query.Compile(nil)
	if err != nil {
		return err
	}
	n, err := r.batchSize(func(doc bsoncore.Document) (err error) {
		filter, err = query.Compile(doc)
		return err
	})
	if err != nil {
		return err
	}
	var list [][]byte
	for _, coll := range r.s.store.Collections(r.db) {
		opts := bsoncore.NewDocumentBuilder()
		if o := coll.Options(); o.Capped {
			opts.AppendBoolean("capped", true).AppendInt64("size", o.Size)
			if o.Max > 0 {
				opts.AppendInt64("max", o.Max)
			}
		}
		id := coll.Indexes()[0]
		doc := bsoncore.NewDocumentBuilder().
			AppendString("name", coll.Name()).
			AppendString("type", "collection").
			AppendDocument("options", opts.Build()).
			AppendDocument("info", bsoncore.NewDocumentBuilder().AppendBoolean("readOnly", false).Build()).
			AppendDocument("idIndex", bsoncore.NewDocumentBuilder().
				AppendInt32("v", 2).AppendDocument("key", id.Keys()).AppendString("name", id.Name).
				AppendString("ns", coll.Namespace()).Build()).
			Build()
		if filter.Match(doc) {
			list = append(list, doc)
		}
	}
	return r.answerList(list, r.db+".$cmd.listCollections", n)
}

func (r *request) collStats() error {
	name, err := r.collection()
	if err != nil {
		return err
	}
	scale := int64(1)
	if err := r.fields(func(key string, v bsoncore.Value) (bool, error) {
		if key != "scale" {
			return key == "verbose", nil
		}
		n, err := wantInt(key, v)
		if err == nil && n < 1 {
			err = mongoerr.New(mongoerr.BadValue, "scale has to be at least 1")
		}
		scale = n
		return true, err
	}); err != nil {
		return err
	}
	r.out = bsoncore.AppendStringElement(r.out, "ns", r.db+"."+name)
	var stats storage.Stats
	coll := r.s.store.Collection(r.db, name)
	indexes := int32(0)
	if coll != nil {
		if stats, err = coll.Stats(); err != nil {
			return err
		}
		indexes = int32(len(coll.Indexes()))
	}
	r.out = bsoncore.AppendInt64Element(r.out, "size", stats.Bytes/scale)
	r.out = bsoncore.AppendInt64Element(r.out, "count", stats.Documents)
	if stats.Documents > 0 {
		r.out = bsoncore.AppendInt64Element(r.out, "avgObjSize", stats.Bytes/stats.Documents)
	}
	r.out = bsoncore.AppendInt64Element(r.out, "storageSize", stats.Bytes/scale)
	capped := coll != nil && coll.Options().Capped
	r.out = bsoncore.AppendBooleanElement(r.out, "capped", capped)
	if capped {
		r.out = bsoncore.AppendInt64Element(r.out, "max", coll.Options().Max)
		r.out = bsoncore.AppendInt64Element(r.out, "maxSize", coll.Options().Size/scale)
	}
	total := int64(0)
	sizes := bsoncore.NewDocumentBuilder()
	if coll != nil {
		for _, ix := range coll.Indexes() {
			total += stats.IndexBytes[ix.Name]
			sizes.AppendInt64(ix.Name, stats.IndexBytes[ix.Name]/scale)
		}
	}
	r.out = bsoncore.AppendInt32Element(r.out, "nindexes", indexes)
	r.out = bsoncore.AppendInt64Element(r.out, "totalIndexSize", total/scale)
	r.out = bsoncore.AppendDocumentElement(r.out, "indexSizes", sizes.Build())
	return nil
}
