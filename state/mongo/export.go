package mongo

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"strings"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
)

// An export has, for each collection, an entry DB/NAME/form, and entries DB/NAME/documents with its documents one after
// another.
const (
	formSuffix = "/form"
	docsSuffix = "/documents"
	// entrySize is how many bytes of documents an entry has at least, except for the last one of a collection.
	entrySize = 4 << 20
)

// Export passes the contents of the snapshot to add, entry by entry.
func (s *Snapshot) Export(add func(name string, data []byte) error) error {
	for _, form := range s.Forms {
		text, err := bson.Marshal(form)
		if err != nil {
			return err
		}
		name := form.DB + "/" + form.Name
		if err := add(name+formSuffix, text); err != nil {
			return err
		}
		var docs []byte
		if err := s.Each(form, func(doc bson.Raw) error {
			if docs = append(docs, doc.Data...); len(docs) < entrySize {
				return nil
			}
			err := add(name+docsSuffix, docs)
			docs = docs[:0]
			return err
		}); err != nil {
			return err
		}
		if len(docs) > 0 {
			if err := add(name+docsSuffix, docs); err != nil {
				return err
			}
		}
	}
	return nil
}

// Import writes an export into an empty store. next returns its entries, and io.EOF after the last one.
func (s *Store) Import(ctx context.Context, next func() (name string, data []byte, err error)) error {
	var l *loader
	for {
		name, data, err := next()
		if l != nil && (err == io.EOF || strings.HasSuffix(name, formSuffix)) {
			if err := l.finish(ctx); err != nil {
				return err
			}
		}
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case strings.HasSuffix(name, formSuffix):
			var form Form
			if err = bson.Unmarshal(data, &form); err == nil {
				l, err = s.load(form)
			}
		case strings.HasSuffix(name, docsSuffix) && l != nil:
			err = l.addAll(ctx, data)
		default:
			err = entity.Errorf(entity.Invalid, "%s is no part of a store", name)
		}
		if err != nil {
			return err
		}
	}
}

// addAll adds documents that follow one another.
func (l *loader) addAll(ctx context.Context, data []byte) error {
	if err := eachOf(bytes.Clone(data), func(doc bson.Raw) error { return l.add(ctx, doc) }); err != nil {
		return fmt.Errorf("cannot write %s: %w", l.form, err)
	}
	return nil
}

// eachOf calls f with each of the documents that follow one another in data.
func eachOf(data []byte, f func(bson.Raw) error) error {
	for len(data) > 0 {
		size := 0
		if len(data) >= 4 {
			size = int(binary.LittleEndian.Uint32(data)) // a document begins with its size
		}
		if size < 5 || size > len(data) {
			return entity.Errorf(entity.Invalid, "a document ends too early")
		}
		if err := f(bson.Raw{Kind: 3, Data: data[:size:size]}); err != nil {
			return err
		}
		data = data[size:]
	}
	return nil
}
