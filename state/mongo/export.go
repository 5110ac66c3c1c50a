package mongo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"

	"juju/state/mongo/cursor"
)

// An export consists of entries. Each collection has an entry DB/NAME/form, and entries DB/NAME/documents that contain its
// documents back to back. An entry DB/NAME/removed lists files that are not part of the export although their chunks are
// among the documents: the import removes these chunks.
const (
	formSuffix    = "/form"
	docsSuffix    = "/documents"
	removedSuffix = "/removed"
	// entrySize is the minimum size of an entry of documents in bytes. Only the last ones of a collection are smaller.
	entrySize = 4 << 20
)

// entry returns the prefix of the names of the collection's entries.
func (f Form) entry() string { return f.DB + "/" + f.Name }

// Export passes the content of the store, as of a single moment, to add, entry by entry. The data is valid only during the
// call. wants reports whether a collection is exported, and whether with its documents; nil exports everything.
//
// A MongoDB ends a snapshot that is older than a minute. Most of a large store is files, which are added and removed but
// never change. So Export reads their chunks before it takes the snapshot, however long that takes, and the snapshot tells
// which of the files belong to the export.
func (s *Store) Export(ctx context.Context, wants func(Form) (there, full bool),
	add func(name string, data []byte) error) error {
	if err := s.canSnapshot(); err != nil {
		return err
	}
	if wants == nil {
		wants = func(Form) (there, full bool) { return true, true }
	}
	e := &exporter{ctx: ctx, store: s, wants: wants, add: add, early: map[string]map[string]file{}}
	if err := e.files(); err != nil {
		return err
	}
	return s.Snapshot(ctx, e.rest)
}

// An exporter holds the state of one call of Export.
type exporter struct {
	ctx   context.Context
	store *Store
	wants func(Form) (there, full bool)
	add   func(name string, data []byte) error

	early map[string]map[string]file // the files whose chunks were read before the snapshot, by collection and key
}

// The collections of GridFS. A file's document is written after all of its chunks, which never change afterwards.
const (
	filesSuffix  = ".files"
	chunksSuffix = ".chunks"
)

// filesOf returns the collection that holds the files of a collection of chunks.
func filesOf(form Form) (files Form, ok bool) {
	base, ok := strings.CutSuffix(form.Name, chunksSuffix)
	return Form{DB: form.DB, Name: base + filesSuffix}, ok
}

// A file holds the fields of a GridFS file's document that an export needs.
type file struct {
	ID bson.Raw `bson:"_id"`
}

func (f file) key() string { return string(f.ID.Data) }

// chunks returns the query for the file's chunks from number n on.
func (f file) chunks(n int) bson.D { return bson.D{{"files_id", f.ID}, {"n", bson.D{{"$gte", n}}}} }

// files exports the chunks of all files.
func (e *exporter) files() error {
	session := e.store.session.Copy()
	defer session.Close()
	forms, err := e.store.forms(e.ctx, session)
	if err != nil {
		return err
	}
	for _, form := range forms {
		files, ok := filesOf(form)
		if _, full := e.wants(form); !ok || !full {
			continue
		}
		if err := e.filesIn(files, form); err != nil {
			return fmt.Errorf("cannot read %s: %w", form, e.store.Told(err))
		}
	}
	return nil
}

// maxRounds limits how often the export looks for files that were added in the meantime.
const maxRounds = 5

func (e *exporter) filesIn(files, chunks Form) error {
	to, err := e.begin(chunks)
	if err != nil {
		return err
	}
	had := map[string]file{}
	e.early[chunks.String()] = had
	for range maxRounds {
		var there []file
		if err := e.reading(files, func(c *mgo.Collection) error {
			return cursor.Find(c, nil).Select(bson.D{{"_id", 1}}).All(&there)
		}); err != nil {
			return err
		}
		before := len(had)
		for _, f := range there {
			if _, ok := had[f.key()]; ok {
				continue
			}
			if err := e.chunks(chunks, f, to); err != nil {
				return err
			}
			had[f.key()] = f
		}
		if len(had) == before {
			break
		}
	}
	return to.flush()
}

// reading calls f with a collection, and again after an election.
func (e *exporter) reading(form Form, f func(*mgo.Collection) error) error {
	return e.store.again(e.ctx, func() error {
		session := e.store.session.Copy()
		defer session.Close()
		return f(session.DB(form.DB).C(form.Name))
	})
}

// chunks exports the chunks of a file.
func (e *exporter) chunks(form Form, f file, to *entryWriter) error {
	next := 0
	return e.reading(form, func(c *mgo.Collection) error {
		chunks := cursor.Find(c, f.chunks(next)).Sort("n").Iter()
		var chunk bson.Raw
		for chunks.Next(&chunk) {
			var numbered struct{ N int }
			err := context.Cause(e.ctx)
			if err == nil {
				err = chunk.Unmarshal(&numbered)
			}
			if err == nil {
				err = to.write(chunk)
			}
			if err != nil {
				return errors.Join(err, chunks.Close())
			}
			next = numbered.N + 1
		}
		return chunks.Close()
	})
}

// rest exports the snapshot, apart from what was exported before it.
func (e *exporter) rest(s *Snapshot) error {
	left := len(e.early)
	for _, form := range s.Forms {
		there, full := e.wants(form)
		if !there {
			continue
		}
		if had, ok := e.early[form.String()]; ok {
			left--
			if err := e.late(s, form, had); err != nil {
				return err
			}
			continue
		}
		to, err := e.begin(form)
		if err == nil && full {
			err = s.Each(form, nil, to.write)
		}
		if err == nil {
			err = to.flush()
		}
		if err != nil {
			return err
		}
	}
	if left > 0 {
		return errors.New("cannot read the store at one moment: a collection of files was removed")
	}
	return nil
}

// late exports the chunks of the snapshot's files that are not in had, and the ids of the files in had that are not in the
// snapshot.
func (e *exporter) late(s *Snapshot, form Form, had map[string]file) error {
	files, _ := filesOf(form)
	there := map[string]bool{}
	var added []file
	if err := s.Each(files, nil, func(doc bson.Raw) error {
		var f file
		if err := doc.Unmarshal(&f); err != nil {
			return err
		}
		there[f.key()] = true
		if _, ok := had[f.key()]; !ok {
			added = append(added, file{bson.Raw{Kind: f.ID.Kind, Data: bytes.Clone(f.ID.Data)}})
		}
		return nil
	}); err != nil {
		return err
	}
	to := &entryWriter{name: form.entry() + docsSuffix, add: e.add}
	for _, f := range added {
		if err := s.Each(form, f.chunks(0), to.write); err != nil {
			return err
		}
	}
	if err := to.flush(); err != nil {
		return err
	}
	to = &entryWriter{name: form.entry() + removedSuffix, add: e.add}
	for key, f := range had {
		if there[key] {
			continue
		}
		doc, err := bson.Marshal(f)
		if err == nil {
			err = to.write(bson.Raw{Data: doc})
		}
		if err != nil {
			return err
		}
	}
	return to.flush()
}

// begin exports a collection's form, and returns the writer of its documents.
func (e *exporter) begin(form Form) (*entryWriter, error) {
	text, err := bson.Marshal(form)
	if err != nil {
		return nil, err
	}
	return &entryWriter{name: form.entry() + docsSuffix, add: e.add}, e.add(form.entry()+formSuffix, text)
}

// An entryWriter exports documents in entries of about entrySize.
type entryWriter struct {
	name string
	add  func(name string, data []byte) error
	docs []byte
}

func (w *entryWriter) write(doc bson.Raw) error {
	if w.docs = append(w.docs, doc.Data...); len(w.docs) < entrySize {
		return nil
	}
	return w.flush()
}

func (w *entryWriter) flush() error {
	if len(w.docs) == 0 {
		return nil
	}
	err := w.add(w.name, w.docs)
	w.docs = w.docs[:0]
	return err
}
