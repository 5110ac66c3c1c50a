package embedded

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/mongoerr"
	"juju/state/mongo/embedded/query"
	"juju/state/mongo/embedded/raw"
	"juju/state/mongo/embedded/storage"
)

// maxWrites limits the documents or statements of one command.
const maxWrites = 100_000

// A writing is a parsed insert, update or delete command: a list of writes, each of which may fail, and their errors.
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

// writing parses the common fields of the write commands.
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
		return nil, mongoerr.New(mongoerr.InvalidLength,
			"Write batch sizes must be between 1 and %d. Got %d operations.", maxWrites, n)
	}
	return w, nil
}

// writeEach calls write for each write of a command. A failed write is recorded, and ends the command if it is ordered; a
// fatal error is returned immediately.
func (r *request) writeEach(w *writing, write func(index int, doc bsoncore.Document) error) error {
	for i, doc := range w.list {
		err := write(i, doc)
		if err == nil {
			continue
		}
		if fatal(err) || r.tx != nil && endsTxn(err) {
			return err
		}
		r.failed = r.inTxn
		w.errors = append(w.errors, writeError{i, err})
		if w.ordered {
			break
		}
	}
	return nil
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

// endsTxn reports whether an error ends a transaction, rather than being that of one write in it.
func endsTxn(err error) bool {
	return mongoerr.IsTransient(err) || mongoerr.Is(err, mongoerr.TransactionTooLarge) ||
		mongoerr.Is(err, mongoerr.ExceededMemoryLimit) ||
		mongoerr.Is(err, mongoerr.OperationNotSupportedInTransaction)
}

// fatal reports whether an error ends the whole command.
func fatal(err error) bool {
	return errors.Is(err, storage.ErrClosed) || errors.Is(err, context.Canceled) ||
		mongoerr.Is(err, mongoerr.MaxTimeMSExpired)
}

// unknownField returns the error for an unknown field of a statement; a collation without effect is accepted.
func unknownField(command string, e raw.Elem) error {
	if string(e.Key) == "collation" {
		return checkCollation(e.Value)
	}
	return mongoerr.New(mongoerr.UnknownField, "BSON field '%s.%ss.%s' is an unknown field.", command, command, e.Key)
}

// checkCollation rejects every collation except byte order.
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
		return mongoerr.New(mongoerr.BadValue, "Field 'locale' is invalid in: %s: only { locale: \"simple\" } is supported",
			v)
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
