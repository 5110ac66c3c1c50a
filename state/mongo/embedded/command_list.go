package embedded

import (
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/mongoerr"
	"juju/state/mongo/embedded/query"
	"juju/state/mongo/embedded/raw"
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
	cur := &cursor{namespace: namespace, session: r.lsid, fixed: list, left: int64(len(list))}
	cur.mem = r.s.ledger(cur)
	for _, doc := range list {
		if err := cur.mem.keep(len(doc)); err != nil {
			cur.close()
			return err
		}
	}
	b := r.conn.emptyBatch()
	more, err := cur.fill(r.conn, b, n)
	if err != nil || !more {
		cur.close()
	}
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
