package embedded

import (
	"errors"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/mongoerr"
	"juju/state/mongo/embedded/query"
	"juju/state/mongo/embedded/raw"
	"juju/state/mongo/embedded/storage"
	"juju/state/mongo/embedded/update"
	"juju/state/mongo/embedded/wire"
)

// maxWrites is how many documents or statements one command may carry.
const maxWrites = 100_000

// A writing is a command of several writes, which may fail one by one.
type writing struct {
	collection string
	list       []bsoncore.Document
	ordered    bool
	errors     []writeError
}

type writeError struct {
	index int
	err   error
}

// writing reads what the write commands have in common.
func (r *request) writing(list string) (*writing, error) {
	w := &writing{ordered: true}
	var err error
	if w.collection, err = r.collection(); err != nil {
		return nil, err
	}
	if err := r.fields(func(key string, v bsoncore.Value) (bool, error) {
		switch key {
		case "ordered":
			w.ordered = raw.Truthy(v)
		case list, "bypassDocumentValidation":
		default:
			if known, err := r.general(key, v); known || err != nil {
				return known, err
			}
			return true, mongoerr.New(mongoerr.UnknownField, "BSON field '%s.%s' is an unknown field.", r.name, key)
		}
		return true, nil
	}); err != nil {
		return nil, err
	}
	if w.list, err = r.documents(list); err != nil {
		return nil, err
	}
	if n := len(w.list); n == 0 || n > maxWrites {
		return nil, mongoerr.New(mongoerr.InvalidLength, "Write batch sizes must be between 1 and %d. Got %d operations.", maxWrites, n)
	}
	return w, nil
}

// failed notes that a write failed, and says whether that ends the command.
func (w *writing) failed(index int, err error) bool {
	w.errors = append(w.errors, writeError{index, err})
	return w.ordered
}

func (r *request) appendWriteErrors(w *writing) {
	if len(w.errors) == 0 {
		return
	}
	list := bsoncore.NewArrayBuilder()
	for _, we := range w.errors {
		e := mongoerr.From(we.err)
		list.AppendDocument(bsoncore.NewDocumentBuilder().
			AppendInt32("index", int32(we.index)).
			AppendInt32("code", int32(e.Code)).
			AppendString("errmsg", e.Message).Build())
	}
	r.out = bsoncore.AppendArrayElement(r.out, "writeErrors", list.Build())
}

func (r *request) insert() error {
	w, err := r.writing("documents")
	if err != nil {
		return err
	}
	n := int32(0)
	for i, doc := range w.list {
		if err := r.insertOne(w.collection, doc); err == nil {
			n++
		} else if fatal(err) {
			return err
		} else if w.failed(i, err) {
			break
		}
	}
	if r.unacknowledged {
		return nil
	}
	r.out = bsoncore.AppendInt32Element(r.out, "n", n)
	r.appendWriteErrors(w)
	return nil
}

// fatal errors end a command as a whole.
func fatal(err error) bool { return errors.Is(err, storage.ErrClosed) }

func (r *request) insertOne(collection string, doc []byte) error {
	if err := checkInsert(doc); err != nil {
		return err
	}
	doc = withID(doc)
	var err error
	for i := 0; i < attempts; i++ {
		coll := r.s.store.Collection(r.db, collection)
		if coll == nil {
			if coll, err = r.s.store.Ensure(r.db, collection); err != nil {
				return err
			}
		}
		if err = coll.Insert(doc); !errors.Is(err, storage.ErrDropped) {
			return err
		}
	}
	return mongoerr.New(mongoerr.WriteConflict, "collection %s.%s keeps being dropped", r.db, collection)
}

func checkInsert(doc []byte) error {
	if len(doc) > int(wire.MaxDocument) {
		return mongoerr.New(mongoerr.ObjectTooLarge, "object to insert too large. size in bytes: %d, max size: %d", len(doc), wire.MaxDocument)
	}
	it := raw.Elements(doc)
	for e, ok := it.Next(); ok; e, ok = it.Next() {
		if len(e.Key) > 0 && e.Key[0] == '$' {
			return mongoerr.New(mongoerr.BadValue, "Document can't have $ prefixed field names: %s", e.Key)
		}
	}
	return nil
}

func (r *request) update() error {
	w, err := r.writing("updates")
	if err != nil {
		return err
	}
	var matched, modified int
	upserted := bsoncore.NewArrayBuilder()
	n := 0
	for i, doc := range w.list {
		o, err := r.updateOne(w.collection, doc)
		matched, modified = matched+o.matched, modified+o.modified
		if o.upserted.Type != 0 {
			matched++
			n++
			upserted.AppendDocument(bsoncore.NewDocumentBuilder().
				AppendInt32("index", int32(i)).AppendValue("_id", o.upserted).Build())
		}
		if err == nil {
			continue
		}
		if fatal(err) {
			return err
		}
		if w.failed(i, err) {
			break
		}
	}
	if r.unacknowledged {
		return nil
	}
	r.out = bsoncore.AppendInt32Element(r.out, "n", int32(matched))
	r.out = bsoncore.AppendInt32Element(r.out, "nModified", int32(modified))
	if n > 0 {
		r.out = bsoncore.AppendArrayElement(r.out, "upserted", upserted.Build())
	}
	r.appendWriteErrors(w)
	return nil
}

// updateOne does one statement of an update command.
func (r *request) updateOne(collection string, statement []byte) (o outcome, err error) {
	m := &modification{}
	var multi, hasQuery bool
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
			return o, err
		}
	}
	if !hasQuery || u.Type == 0 {
		return o, mongoerr.New(mongoerr.FailedToParse, "an update needs q and u")
	}
	if m.update, err = compileUpdate("u", u, filters); err != nil {
		return o, err
	}
	if multi && m.update.Replaces() {
		return o, mongoerr.New(mongoerr.FailedToParse, "multi update only works with $ operators")
	}
	return r.modify(collection, m, multi)
}

// unknownField refuses a field of a statement, unless it is a collation that
// asks for nothing.
func unknownField(command string, e raw.Elem) error {
	if string(e.Key) == "collation" {
		return checkCollation(e.Value)
	}
	return mongoerr.New(mongoerr.UnknownField, "BSON field '%s.%ss.%s' is an unknown field.", command, command, e.Key)
}

// checkCollation refuses every order of strings but that of their bytes.
func checkCollation(v bsoncore.Value) error {
	if v.Type == bson.TypeNull {
		return nil
	}
	if v.Type != bson.TypeEmbeddedDocument {
		return mongoerr.New(mongoerr.TypeMismatch, "collation must be an object, not %s", v.Type)
	}
	if raw.IsEmpty(v.Data) {
		return nil
	}
	locale, ok := raw.Get(v.Data, "locale")
	if !ok {
		return mongoerr.New(mongoerr.FailedToParse, "Missing expected field \"locale\"")
	}
	if locale.Type != bson.TypeString || string(raw.Text(locale)) != "simple" {
		return mongoerr.New(mongoerr.BadValue, "Field 'locale' is invalid in: %s: the only collation here is { locale: \"simple\" }", v)
	}
	return nil
}

func compileFilter(key string, v bsoncore.Value) (*query.Filter, error) {
	doc, err := wantDocument(key, v)
	if err != nil {
		return nil, err
	}
	return query.Compile(doc)
}

// compileUpdate reads an update and its array filters, if it has any.
func compileUpdate(key string, v, filters bsoncore.Value) (*update.Update, error) {
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

func (r *request) delete() error {
	w, err := r.writing("deletes")
	if err != nil {
		return err
	}
	n := 0
	for i, doc := range w.list {
		o, err := r.deleteOne(w.collection, doc)
		n += o.matched
		if err == nil {
			continue
		}
		if fatal(err) {
			return err
		}
		if w.failed(i, err) {
			break
		}
	}
	if r.unacknowledged {
		return nil
	}
	r.out = bsoncore.AppendInt32Element(r.out, "n", int32(n))
	r.appendWriteErrors(w)
	return nil
}

func (r *request) deleteOne(collection string, statement []byte) (o outcome, err error) {
	m := &modification{}
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
			return o, err
		}
	}
	if m.filter == nil || limit != 0 && limit != 1 {
		return o, mongoerr.New(mongoerr.FailedToParse, "a delete needs q, and limit as 0 or 1")
	}
	return r.modify(collection, m, limit == 0)
}

func (r *request) findAndModify() error {
	collection, err := r.collection()
	if err != nil {
		return err
	}
	m := &modification{}
	var remove, wantNew bool
	var show *query.Projection
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
				show, err = query.CompileProjection(doc)
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
			wantNew = raw.Truthy(v)
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
		return err
	}
	if m.filter == nil {
		if m.filter, err = query.Compile(nil); err != nil {
			return err
		}
	}
	if u.Type != 0 {
		if m.update, err = compileUpdate("update", u, filters); err != nil {
			return err
		}
	} else if filters.Type != 0 {
		return mongoerr.New(mongoerr.FailedToParse, "arrayFilters may not be specified without an update")
	}
	switch {
	case remove && (m.update != nil || wantNew || m.upsert):
		return mongoerr.New(mongoerr.FailedToParse, "remove cannot be combined with update, new or upsert")
	case !remove && m.update == nil:
		return mongoerr.New(mongoerr.FailedToParse, "Either an update or remove=true must be specified")
	}
	start := len(r.out)
	m.result = func(old, new []byte, position int) (err error) {
		r.out = r.out[:start] // of an attempt that failed
		doc := old
		if wantNew {
			doc = new
		}
		if doc == nil {
			return nil
		}
		r.out = bsoncore.AppendHeader(r.out, bson.TypeEmbeddedDocument, "value")
		r.out, err = show.Append(r.out, doc, position)
		return err
	}
	o, err := r.modify(collection, m, false)
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
	if !remove {
		r.out = bsoncore.AppendBooleanElement(r.out, "updatedExisting", o.matched > 0)
	}
	if o.upserted.Type != 0 {
		r.out = bsoncore.AppendValueElement(r.out, "upserted", o.upserted)
	}
	r.out, err = bsoncore.AppendDocumentEnd(r.out, at)
	return err
}
