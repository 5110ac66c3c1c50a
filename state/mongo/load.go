package mongo

import (
	"context"
	"fmt"

	"gopkg.in/mgo.v2/bson"
)

// A loader writes documents into a new collection of an empty store.
type loader struct {
	store *Store
	form  Form
	docs  []bson.Raw
	bytes int
}

// load creates a collection. Its documents follow through the loader, and then finish must be called.
func (s *Store) load(form Form) (*loader, error) {
	err := s.run(form.DB, append(bson.D{{"create", form.Name}}, form.Options...))
	if err != nil {
		return nil, fmt.Errorf("cannot create %s: %w", form, err)
	}
	return &loader{store: s, form: form}, nil
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

// add writes a document, sooner or later. The document must not change afterwards.
func (l *loader) add(ctx context.Context, doc bson.Raw) error {
	l.docs = append(l.docs, doc)
	l.bytes += len(doc.Data)
	if len(l.docs) < maxStatements && l.bytes < maxStatementBytes {
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

// finish writes the remaining documents and creates the indexes.
func (l *loader) finish(ctx context.Context) error {
	if err := l.flush(ctx); err != nil {
		return fmt.Errorf("cannot write %s: %w", l.form, err)
	}
	if len(l.form.Indexes) == 0 {
		return nil
	}
	if err := l.store.run(l.form.DB, bson.D{{"createIndexes", l.form.Name}, {"indexes", l.form.Indexes}}); err != nil {
		return fmt.Errorf("cannot create the indexes of %s: %w", l.form, err)
	}
	return nil
}
