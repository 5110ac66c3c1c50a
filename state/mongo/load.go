package mongo

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path"

	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"
	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/mongo/servertxn"
)

// Import writes an export into an empty store. next returns its entries, and io.EOF after the last one.
func (s *Store) Import(ctx context.Context, next func() (name string, data []byte, err error)) error {
	var all []*loader
	byName := map[string]*loader{}
	var last *loader
	for {
		name, data, err := next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		collection, kind := path.Split(name)
		l := byName[collection]
		if last != nil && l != last {
			if err := last.flush(ctx); err != nil {
				return fmt.Errorf("cannot import %s: %w", last.form, err)
			}
		}
		switch kind = "/" + kind; {
		case kind == formSuffix && l == nil:
			if l, err = s.load(data); err == nil {
				all, byName[collection] = append(all, l), l
			}
		case kind == docsSuffix && l != nil:
			err = l.addAll(ctx, data)
		case kind == removedSuffix && l != nil:
			err = l.remove(data)
		default:
			err = entity.Errorf(entity.Invalid, "%s is no part of a store", name)
		}
		if err != nil {
			return fmt.Errorf("cannot import %s: %w", name, err)
		}
		last = l
	}
	for _, l := range all {
		if err := l.finish(ctx); err != nil {
			return fmt.Errorf("cannot import %s: %w", l.form, err)
		}
	}
	return nil
}

// A loader writes documents into a new collection of an empty store.
type loader struct {
	store *Store
	form  Form
	docs  []bson.Raw
	bytes int

	removed []bson.Raw // the ids of files whose chunks must not stay
}

// load creates the collection of a form. Its documents follow through the loader, and then finish must be called.
func (s *Store) load(text []byte) (*loader, error) {
	var form Form
	if err := bson.Unmarshal(text, &form); err != nil {
		return nil, err
	}
	err := s.run(form.DB, append(bson.D{{"create", form.Name}}, form.Options...))
	return &loader{store: s, form: form}, err
}

// run runs a command on a database.
func (s *Store) run(db string, command bson.D) error {
	session := s.session.Copy()
	defer session.Close()
	var result struct {
		Errors []struct{ ErrMsg string } `bson:"writeErrors"`
	}
	if err := session.DB(db).Run(command, &result); err != nil {
		return s.Told(err)
	}
	if len(result.Errors) > 0 {
		return fmt.Errorf("%s", result.Errors[0].ErrMsg)
	}
	return nil
}

// add queues a document to be written. The caller must not change the document afterwards.
func (l *loader) add(ctx context.Context, doc bson.Raw) error {
	l.docs = append(l.docs, doc)
	l.bytes += len(doc.Data)
	if len(l.docs) < servertxn.MaxStatements && l.bytes < servertxn.MaxStatementBytes {
		return nil
	}
	return l.flush(ctx)
}

func (l *loader) flush(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if len(l.docs) == 0 {
		return nil
	}
	if err := l.store.run(l.form.DB, bson.D{{"insert", l.form.Name}, {"documents", l.docs}}); err != nil {
		return err
	}
	l.docs, l.bytes = nil, 0
	return nil
}

// finish writes the remaining documents, creates the indexes, and deletes the chunks of removed files.
func (l *loader) finish(ctx context.Context) error {
	err := l.flush(ctx)
	if err == nil && len(l.form.Indexes) > 0 {
		err = l.store.run(l.form.DB, bson.D{{"createIndexes", l.form.Name}, {"indexes", l.form.Indexes}})
	}
	if err == nil && len(l.removed) > 0 {
		of := bson.D{{"q", bson.D{{"files_id", bson.D{{"$in", l.removed}}}}}, {"limit", 0}}
		err = l.store.run(l.form.DB, bson.D{{"delete", l.form.Name}, {"deletes", []bson.D{of}}})
	}
	return err
}

// addAll adds the documents that lie back to back in data.
func (l *loader) addAll(ctx context.Context, data []byte) error {
	return eachOf(bytes.Clone(data), func(doc bson.Raw) error { return l.add(ctx, doc) })
}

// remove makes finish delete the chunks of the files that are listed in data.
func (l *loader) remove(data []byte) error {
	return eachOf(bytes.Clone(data), func(doc bson.Raw) error {
		var f file
		err := doc.Unmarshal(&f)
		l.removed = append(l.removed, f.ID)
		return err
	})
}

// eachOf calls f with each of the documents that lie back to back in data.
func eachOf(data []byte, f func(bson.Raw) error) error {
	for len(data) > 0 {
		doc, rest, ok := bsoncore.ReadDocument(data)
		if !ok {
			return entity.Errorf(entity.Invalid, "a document ends too early")
		}
		if err := f(bson.Raw{Kind: 3, Data: doc}); err != nil {
			return err
		}
		data = rest
	}
	return nil
}
