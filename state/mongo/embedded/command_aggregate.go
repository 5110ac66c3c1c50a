package embedded

import (
	"time"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/mongoerr"
	"juju/state/mongo/embedded/pipeline"
	"juju/state/mongo/embedded/query"
	"juju/state/mongo/embedded/raw"
)

// An aggregation is a parsed aggregate command.
type aggregation struct {
	collection string // "" for one of the whole database
	namespace  string // of its cursor
	stages     []bsoncore.Document
	batch      int64
	hint       bsoncore.Value
	explain    bool
}

// aggregating parses an aggregate command.
func (r *request) aggregating() (a *aggregation, err error) {
	a = &aggregation{batch: firstBatch, namespace: r.db + ".$cmd.aggregate"}
	if v := firstValue(r.body); v.Type == bson.TypeString {
		if a.collection, err = r.collection(); err != nil {
			return nil, err
		}
		a.namespace = r.db + "." + a.collection
	}
	return a, r.fields(func(key string, v bsoncore.Value) (bool, error) {
		switch key {
		case "pipeline":
			if v.Type != bson.TypeArray {
				return true, mongoerr.New(mongoerr.TypeMismatch, "'pipeline' option must be specified as an array")
			}
			it := raw.Elements(v.Data)
			for e, ok := it.Next(); ok; e, ok = it.Next() {
				if e.Value.Type != bson.TypeEmbeddedDocument {
					return true, mongoerr.New(mongoerr.TypeMismatch, "Each element of the 'pipeline' array must be an object")
				}
				a.stages = append(a.stages, e.Value.Data)
			}
		case "cursor":
			doc, err := wantDocument(key, v)
			if err != nil {
				return true, err
			}
			if size, ok := raw.Get(doc, "batchSize"); ok {
				if a.batch, err = wantInt("batchSize", size); err == nil && a.batch < 0 {
					err = mongoerr.New(mongoerr.BadValue, "cursor.batchSize must not be negative")
				}
			}
			return true, err
		case "hint":
			a.hint = v
		case "explain":
			a.explain = raw.Truthy(v)
		case "allowDiskUse", "bypassDocumentValidation":
		default:
			return false, nil
		}
		return true, nil
	})
}

func (r *request) aggregate() error {
	a, err := r.aggregating()
	if err != nil {
		return err
	}
	if a.explain {
		return r.explained("queryPlanner", func() (*explanation, error) { return r.explainAggregate(a) })
	}
	cur, err := r.flowing(a)
	if err != nil {
		return err
	}
	b := r.conn.emptyBatch()
	cur.durable = r.durable
	id, err := r.conn.begin(cur, b, a.batch, false)
	if err != nil {
		return err
	}
	r.appendCursor(id, a.namespace, "firstBatch", b)
	return nil
}

// first returns the name of the first stage and its options.
func (a *aggregation) first() (name string, options bsoncore.Value) {
	if len(a.stages) == 0 {
		return "", options
	}
	it := raw.Elements(a.stages[0])
	e, _ := it.Next()
	return string(e.Key), e.Value
}

// flowing opens an aggregation.
func (r *request) flowing(a *aggregation) (*cursor, error) {
	cur := &cursor{namespace: a.namespace, session: r.lsid, tx: r.tx, left: -1}
	var source pipeline.Source
	stages := a.stages
	switch name, options := a.first(); name {
	case "$changeStream":
		return r.watch(a)
	case "$collStats":
		stats, err := r.collStatsStage(a.collection, options)
		if err != nil {
			return nil, err
		}
		source = func() (doc []byte, err error) {
			doc, stats = stats, nil
			return doc, nil
		}
		stages = stages[1:]
	}
	p, err := pipeline.Compile(stages, source == nil)
	if err != nil {
		return nil, err
	}
	if a.collection == "" {
		name, _ := a.first()
		return nil, mongoerr.New(mongoerr.InvalidNamespace,
			"{aggregate: 1} is not valid for '%s'; a collection is required.", name)
	}
	cur.flow, cur.mem = &flow{late: r.late}, r.s.ledger(cur)
	late := func() error { return cur.flow.late() }
	if source == nil {
		if source, err = r.selecting(cur, a, p, late); err != nil {
			cur.mem.close()
			return nil, err
		}
	}
	cur.flow.next = p.Run(source, pipeline.Control{Check: late, Keep: cur.mem.keep})
	return cur, nil
}

// selecting makes the beginning of a pipeline the selection of cur.
func (r *request) selecting(cur *cursor, a *aggregation, p *pipeline.Pipeline,
	late func() error) (pipeline.Source, error) {
	ch, err := chosenBy(&p.Head, a.hint)
	if err != nil {
		return nil, err
	}
	coll := r.s.store.Collection(r.db, a.collection)
	if coll == nil {
		return func() ([]byte, error) { return nil, nil }, nil
	}
	ch.tx = r.tx
	ch.conn, ch.ledger = r.conn, cur.mem
	if cur.sel, err = newSelection(coll, ch, late); err != nil {
		return nil, err
	}
	cur.skip = p.Head.Skip
	if p.Head.Limit > 0 {
		cur.left = p.Head.Limit
	}
	return cur.pick, nil
}

// chosenBy returns the query that is the beginning of a pipeline.
func chosenBy(h *pipeline.Head, hint bsoncore.Value) (ch choice, err error) {
	ch.hint = hint
	if ch.filter, err = query.Compile(h.Match); err != nil {
		return ch, err
	}
	if h.Limit > 0 && h.Skip+h.Limit > 0 {
		ch.limit = h.Skip + h.Limit
	}
	ch.order, err = query.CompileSort(h.Order)
	return ch, err
}

// collStatsStage returns the document that $collStats produces.
func (r *request) collStatsStage(collection string, options bsoncore.Value) (bsoncore.Document, error) {
	if r.inTxn {
		return nil, mongoerr.New(mongoerr.OperationNotSupportedInTransaction,
			"Operation not permitted in transaction :: caused by :: $collStats is not allowed")
	}
	if options.Type != bson.TypeEmbeddedDocument {
		return nil, mongoerr.New(40166, "$collStats must take a nested object but found: %s", options)
	}
	if r.s.store.Collection(r.db, collection) == nil {
		return nil, mongoerr.New(mongoerr.NamespaceNotFound, "Collection [%s.%s] not found.", r.db, collection)
	}
	doc := bsoncore.NewDocumentBuilder().
		AppendString("ns", r.db+"."+collection).
		AppendString("host", r.conn.address()).
		AppendDateTime("localTime", time.Now().UnixMilli())
	it := raw.Elements(options.Data)
	for e, ok := it.Next(); ok; e, ok = it.Next() {
		switch name := string(e.Key); name {
		case "storageStats", "count":
			scale := int64(1)
			option, err := wantDocument(name, e.Value)
			if err != nil {
				return nil, err
			}
			if v, ok := raw.Get(option, "scale"); ok {
				if scale, err = wantScale(v); err != nil {
					return nil, err
				}
			}
			stats, err := r.collectionStats(collection, scale)
			if err != nil {
				return nil, err
			}
			if name == "storageStats" {
				doc.AppendDocument(name, stats)
			} else if n, ok := raw.Get(stats, "count"); ok {
				doc.AppendValue(name, n)
			}
		default:
			return nil, mongoerr.New(mongoerr.BadValue, "$collStats does not support '%s'", name)
		}
	}
	return doc.Build(), nil
}
