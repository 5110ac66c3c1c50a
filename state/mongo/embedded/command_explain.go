package embedded

import (
	"bytes"
	"os"
	"time"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/mongoerr"
	"juju/state/mongo/embedded/pipeline"
	"juju/state/mongo/embedded/query"
	"juju/state/mongo/embedded/raw"
	"juju/state/mongo/embedded/storage"
	"juju/state/mongo/embedded/update"
)

// An explanation describes how a command reads its documents, and what it would do with them.
type explanation struct {
	collection  string
	query       bsoncore.Document
	ch          choice
	order       bsoncore.Document // ch.order as the client sent it
	skip, limit int64             // a limit of 0 means none
	show        bsoncore.Document
	top         string             // the stage above these, such as UPDATE; or ""
	counts      bool               // only how many documents there are is wanted
	pipeline    *pipeline.Pipeline // of an aggregate
	// would says what a write would do with a document that it has found, without doing it.
	would func(doc []byte, position int) (changes bool, err error)
	// inserts is set if a write would insert a document unless it finds one.
	inserts bool
}

// An execution counts what an explained command has read, and measures its time.
type execution struct {
	tally
	returned int64
	changed  int64 // documents that a write would change
	took     time.Duration
}

func (r *request) explain() error {
	inner := firstValue(r.body)
	if inner.Type != bson.TypeEmbeddedDocument {
		return mongoerr.New(mongoerr.TypeMismatch, "explain command requires a nested object")
	}
	verbosity := "allPlansExecution"
	if err := r.fields(func(key string, v bsoncore.Value) (bool, error) {
		if key == "verbosity" {
			verbosity, _ = v.StringValueOK()
		}
		return key == "verbosity", nil
	}); err != nil {
		return err
	}
	it := raw.Elements(inner.Data)
	first, _ := it.Next()
	defer r.limit(inner.Data)()
	of := &request{conn: r.conn, s: r.s, ctx: r.ctx, db: r.db, name: string(first.Key), body: inner.Data, sequences: r.sequences}
	parse := explainable[of.name]
	if parse == nil {
		return mongoerr.New(mongoerr.CommandNotFound, "Explain failed due to unknown command: %s", of.name)
	}
	return r.explained(verbosity, func() (*explanation, error) { return parse(of) })
}

// explainable are the commands that can be explained.
var explainable = map[string]func(*request) (*explanation, error){
	"find":          (*request).explainFind,
	"count":         (*request).explainCount,
	"distinct":      (*request).explainDistinct,
	"update":        (*request).explainUpdate,
	"delete":        (*request).explainDelete,
	"findAndModify": (*request).explainFindAndModify,
	"findandmodify": (*request).explainFindAndModify,
	"aggregate": func(r *request) (*explanation, error) {
		a, err := r.aggregating()
		if err != nil {
			return nil, err
		}
		return r.explainAggregate(a)
	},
}

func (r *request) explainFind() (*explanation, error) {
	var f find
	name, err := r.finding(&f)
	if err != nil {
		return nil, err
	}
	if f.tailable {
		return nil, mongoerr.New(mongoerr.BadValue, "explain does not support tailable cursors")
	}
	e := &explanation{collection: name, query: f.filter, order: f.order, skip: f.skip, limit: f.limit, show: f.show}
	e.ch.hint = f.hint
	if e.ch.filter, err = query.Compile(f.filter); err != nil {
		return nil, err
	}
	if _, err := query.CompileProjection(f.show); err != nil {
		return nil, err
	}
	if f.limit > 0 {
		e.ch.limit = f.skip + f.limit
	}
	e.ch.order, err = query.CompileSort(f.order)
	return e, err
}

func (r *request) explainCount() (*explanation, error) {
	c, err := r.counting()
	return &explanation{collection: c.collection, query: c.query, ch: c.ch, skip: c.skip, limit: c.limit, top: "COUNT", counts: raw.IsEmpty(c.query)}, err
}

func (r *request) explainDistinct() (*explanation, error) {
	name, _, filter, ch, err := r.distinction()
	return &explanation{collection: name, query: filter, ch: ch}, err
}

// explainWrite explains the only statement of a write command.
func (r *request) explainWrite(list string, parse func([]byte, *modification) (bool, error)) (*explanation, error) {
	w, err := r.writing(list)
	if err != nil {
		return nil, err
	}
	if len(w.list) != 1 {
		return nil, mongoerr.New(mongoerr.InvalidLength, "explained write batches must be of size 1")
	}
	var m modification
	multi, err := parse(w.list[0], &m)
	if err != nil {
		return nil, err
	}
	q, _ := raw.Get(w.list[0], "q")
	e := m.explanation(w.collection, q.Data)
	if !multi {
		e.limit = 1
	}
	return e, nil
}

func (r *request) explainUpdate() (*explanation, error) { return r.explainWrite("updates", updating) }

func (r *request) explainDelete() (*explanation, error) { return r.explainWrite("deletes", deleting) }

func (r *request) explainFindAndModify() (*explanation, error) {
	m, err := r.findModify()
	if err != nil {
		return nil, err
	}
	q, _ := raw.Get(r.body, "query")
	e := m.explanation(m.collection, q.Data)
	order, _ := raw.Get(r.body, "sort")
	e.order, e.limit = order.Data, 1
	return e, nil
}

// explanation explains a modification of the documents that match a query.
func (m *modification) explanation(collection string, q bsoncore.Document) *explanation {
	e := &explanation{collection: collection, query: q, ch: choice{filter: m.filter, order: m.order, hint: m.hint}, top: "DELETE", inserts: m.upsert}
	e.would = func([]byte, int) (bool, error) { return true, nil }
	if m.update != nil {
		e.top = "UPDATE"
		e.would = func(doc []byte, position int) (bool, error) {
			changed, err := m.update.Apply(nil, doc, update.Context{Position: position})
			return !bytes.Equal(doc, changed), err
		}
	}
	return e
}

func (r *request) explainAggregate(a *aggregation) (*explanation, error) {
	if name, _ := a.first(); name == "$changeStream" || name == "$collStats" || a.collection == "" {
		return nil, mongoerr.New(mongoerr.BadValue, "explain does not support '%s'", name)
	}
	p, err := pipeline.Compile(a.stages, true)
	if err != nil {
		return nil, err
	}
	e := &explanation{collection: a.collection, query: p.Head.Match, order: p.Head.Order, skip: p.Head.Skip, limit: p.Head.Limit, pipeline: p}
	e.ch, err = chosenBy(&p.Head, a.hint)
	return e, err
}

// explained replies with an explanation.
func (r *request) explained(verbosity string, parse func() (*explanation, error)) error {
	runs := verbosity == "executionStats" || verbosity == "allPlansExecution"
	if !runs && verbosity != "queryPlanner" {
		return mongoerr.New(mongoerr.FailedToParse,
			"verbosity string must be one of {'queryPlanner', 'executionStats', 'allPlansExecution'}")
	}
	e, err := parse()
	if err != nil {
		return err
	}
	var at path
	coll := r.s.store.Collection(r.db, e.collection)
	if coll != nil {
		if at, err = e.ch.path(coll); err != nil {
			return err
		}
	}
	doc := bsoncore.NewDocumentBuilder().AppendDocument("queryPlanner", bsoncore.NewDocumentBuilder().
		AppendInt32("plannerVersion", 1).
		AppendString("namespace", r.db+"."+e.collection).
		AppendBoolean("indexFilterSet", false).
		AppendDocument("parsedQuery", orEmpty(e.query)).
		AppendDocument("winningPlan", e.tree(coll, at, nil)).
		AppendArray("rejectedPlans", bsoncore.BuildArray(nil)).Build())
	if runs {
		x, err := r.execute(e, coll)
		if err != nil {
			return err
		}
		doc.AppendDocument("executionStats", bsoncore.NewDocumentBuilder().
			AppendBoolean("executionSuccess", true).
			AppendValue("nReturned", count(x.returned)).
			AppendValue("executionTimeMillis", count(x.took.Milliseconds())).
			AppendValue("totalKeysExamined", count(x.keys)).
			AppendValue("totalDocsExamined", count(x.docs)).
			AppendDocument("executionStages", e.tree(coll, at, x)).Build())
	}
	r.appendExplained(e, doc.Build())
	return r.appendServer()
}

// appendExplained appends the explanation of a query; if stages of a pipeline follow the query, it is that of the first
// stage.
func (r *request) appendExplained(e *explanation, doc bsoncore.Document) {
	if e.pipeline != nil && len(e.pipeline.Rest) > 0 {
		list := bsoncore.NewArrayBuilder().AppendDocument(bsoncore.NewDocumentBuilder().AppendDocument("$cursor",
			doc).Build())
		for _, stage := range e.pipeline.Rest {
			list.AppendDocument(stage)
		}
		r.out = bsoncore.AppendArrayElement(r.out, "stages", list.Build())
		return
	}
	it := raw.Elements(doc)
	for e, ok := it.Next(); ok; e, ok = it.Next() {
		r.out = raw.AppendElem(r.out, e.Key, e.Value)
	}
}

func (r *request) appendServer() error {
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	r.out = bsoncore.AppendDocumentElement(r.out, "serverInfo", bsoncore.NewDocumentBuilder().
		AppendString("host", host).
		AppendString("version", r.s.release().String()).Build())
	return nil
}

func orEmpty(doc bsoncore.Document) bsoncore.Document {
	if doc == nil {
		return bsoncore.BuildDocument(nil)
	}
	return doc
}

// execute reads what the command reads, and changes nothing.
func (r *request) execute(e *explanation, coll *storage.Collection) (*execution, error) {
	began := time.Now()
	x := &execution{}
	if coll == nil {
		return x, nil
	}
	if e.counts {
		n, err := r.counted(counting{collection: e.collection, query: e.query, skip: e.skip, limit: e.limit})
		x.returned, x.took = n, time.Since(began)
		return x, err
	}
	cur := &cursor{skip: e.skip, left: -1}
	if e.limit > 0 {
		cur.left = e.limit
	}
	cur.mem = r.s.ledger(nil)
	defer cur.mem.close()
	ch := e.ch
	ch.tally, ch.ledger = &x.tally, cur.mem
	var err error
	if cur.sel, err = newSelection(coll, ch, r.late); err != nil {
		return nil, err
	}
	next := func() ([]byte, error) {
		doc, err := cur.pick()
		if doc == nil || err != nil {
			return nil, err
		}
		x.returned++
		if e.would != nil {
			var changes bool
			if changes, err = e.would(doc, cur.sel.position()); changes {
				x.changed++
			}
		}
		return doc, err
	}
	if e.pipeline != nil {
		next = e.pipeline.Run(next, pipeline.Control{Check: r.late, Keep: cur.mem.keep})
	}
	for {
		doc, err := next()
		if err != nil || doc == nil {
			if perr := cur.sel.pause(); err == nil {
				err = perr
			}
			x.took = time.Since(began)
			return x, err
		}
	}
}

// tree returns the plan as the nested stages of MongoDB, with what each has returned if the command was executed.
func (e *explanation) tree(coll *storage.Collection, at path, x *execution) bsoncore.Document {
	var plan bsoncore.Document
	stage := func(name string, returned int64) *bsoncore.DocumentBuilder {
		doc := bsoncore.NewDocumentBuilder().AppendString("stage", name)
		if x != nil {
			doc.AppendValue("nReturned", count(returned))
		}
		if plan != nil {
			doc.AppendDocument("inputStage", plan)
		}
		return doc
	}
	var returned, matched, docs, keys int64
	if x != nil {
		returned, matched, docs, keys = x.returned, x.matched, x.docs, x.keys
	}
	examined := func(doc *bsoncore.DocumentBuilder) bsoncore.Document {
		if x != nil {
			doc.AppendValue("docsExamined", count(docs)).AppendValue("keysExamined", count(keys))
		}
		if len(e.query) > 0 && !raw.IsEmpty(e.query) {
			doc.AppendDocument("filter", e.query)
		}
		return doc.Build()
	}
	switch {
	case coll == nil:
		plan = stage("EOF", 0).Build()
	case e.counts:
		return stage("RECORD_STORE_FAST_COUNT", returned).Build()
	case at.byID != nil:
		plan = examined(stage("IDHACK", matched))
	default:
		plan = e.scans(coll, at)
		if plan == nil {
			plan = examined(stage("COLLSCAN", matched).AppendString("direction", direction(at.plan.Reverse)))
		} else {
			plan = examined(stage("FETCH", matched))
		}
		if !at.plan.Sorted {
			sorted := matched
			if e.ch.limit > 0 {
				sorted = min(sorted, e.ch.limit)
			}
			doc := stage("SORT", sorted).AppendDocument("sortPattern", e.order).AppendInt32("memLimit", query.MaxMemory)
			if e.ch.limit > 0 {
				doc.AppendValue("limitAmount", count(e.ch.limit))
			}
			plan = doc.Build()
		}
	}
	if e.skip > 0 {
		plan = stage("SKIP", returned).AppendValue("skipAmount", count(e.skip)).Build()
	}
	if e.limit > 0 && e.would == nil {
		plan = stage("LIMIT", returned).AppendValue("limitAmount", count(e.limit)).Build()
	}
	if e.show != nil && !raw.IsEmpty(e.show) {
		plan = stage("PROJECTION_DEFAULT", returned).AppendDocument("transformBy", e.show).Build()
	}
	if e.top != "" {
		doc := stage(e.top, 0)
		if x != nil {
			e.outcome(doc, x)
		}
		plan = doc.Build()
	}
	return plan
}

// outcome adds what a write would do, or what a count has counted.
func (e *explanation) outcome(doc *bsoncore.DocumentBuilder, x *execution) {
	switch e.top {
	case "COUNT":
		doc.AppendValue("nCounted", count(x.returned))
	case "DELETE":
		doc.AppendValue("nWouldDelete", count(x.returned))
	case "UPDATE":
		upserted := int32(0)
		if e.inserts && x.returned == 0 {
			upserted = 1
		}
		doc.AppendValue("nMatched", count(x.returned)).AppendValue("nWouldModify",
			count(x.changed)).AppendInt32("nWouldUpsert", upserted)
	}
}

func direction(reverse bool) string {
	if reverse {
		return "backward"
	}
	return "forward"
}

// scans returns the scans of indexes from which documents are fetched, or nil if the documents themselves are scanned.
func (e *explanation) scans(coll *storage.Collection, at path) bsoncore.Document {
	indexes := coll.PlanIndexes(nil, at.indexes)
	list := bsoncore.NewArrayBuilder()
	var last bsoncore.Document
	for _, scan := range at.plan.Scans {
		if scan.Index == 0 && len(scan.Ranges) == 1 && scan.Ranges[0].Start == nil {
			return nil
		}
		ix := indexes[scan.Index]
		last = bsoncore.NewDocumentBuilder().
			AppendString("stage", "IXSCAN").
			AppendDocument("keyPattern", storage.EncodeFields(ix.Fields)).
			AppendString("indexName", ix.Name).
			AppendBoolean("isMultiKey", ix.Multi).
			AppendBoolean("isUnique", ix.Unique).
			AppendBoolean("isSparse", ix.Sparse).
			AppendString("direction", direction(at.plan.Reverse)).
			AppendInt32("ranges", int32(len(scan.Ranges))).Build()
		list.AppendDocument(last)
	}
	if len(at.plan.Scans) == 1 {
		return last
	}
	return bsoncore.NewDocumentBuilder().AppendString("stage", "OR").AppendArray("inputStages", list.Build()).Build()
}
