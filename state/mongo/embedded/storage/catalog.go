package storage

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/bson/bsontype"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/mongoerr"
	"juju/state/mongo/embedded/raw"
)

// CollectionOptions are the options of a new collection.
type CollectionOptions struct {
	// Capped collections keep only the newest documents: at most Size bytes and, unless Max is 0, at most Max
	// documents.
	Capped    bool
	Size, Max int64
}

// load reads the catalog, and removes the remains of unfinished index builds.
func (s *Store) load() error {
	if err := s.get(nil, []byte{keyLastSpace}, func(v []byte) error {
		if v != nil {
			s.lastSpace = binary.BigEndian.Uint32(v)
		}
		return nil
	}); err != nil {
		return err
	}
	if err := s.each(keyCollection, func(ns, record []byte) error {
		c, err := s.decodeCollection(record)
		if err == nil {
			s.put(c)
		}
		return err
	}); err != nil {
		return err
	}
	return s.each(keyBuilding, func(space, _ []byte) error {
		b := s.db.NewBatch()
		s.clearSpace(b, binary.BigEndian.Uint32(space))
		return s.commit(b)
	})
}

// each calls do with every key that begins with prefix, less the prefix, and its value.
func (s *Store) each(prefix byte, do func(rest, value []byte) error) error {
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: []byte{prefix}, UpperBound: []byte{prefix + 1}})
	if err != nil {
		return err
	}
	defer it.Close()
	for ok := it.First(); ok; ok = it.Next() {
		if err := do(it.Key()[1:], it.Value()); err != nil {
			return err
		}
	}
	return damaged(it.Error())
}

// newSpace allocates a space. Its number is never reused, even if b is the last batch to reach the disk.
func (s *Store) newSpace(b *pebble.Batch) uint32 {
	s.lastSpace++
	_ = b.Set([]byte{keyLastSpace}, binary.BigEndian.AppendUint32(nil, s.lastSpace), nil)
	return s.lastSpace
}

func (s *Store) clearSpace(b *pebble.Batch, space uint32) {
	_ = b.DeleteRange(spaceKey(nil, space), spaceKey(nil, space+1), nil)
	_ = b.Delete(binary.BigEndian.AppendUint32([]byte{keyBuilding}, space), nil)
}

func (s *Store) put(c *Collection) {
	if s.collections[c.db] == nil {
		s.collections[c.db] = map[string]*Collection{}
	}
	s.collections[c.db][c.name] = c
}

// Collection returns a collection, or nil if it does not exist.
func (s *Store) Collection(db, name string) *Collection {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.collections[db][name]
}

// Databases returns the names of databases that have a collection, sorted.
func (s *Store) Databases() []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Sorted(maps.Keys(s.collections))
}

// Collections returns a database's collections, sorted by name.
func (s *Store) Collections(db string) []*Collection {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var out []*Collection
	for _, name := range slices.Sorted(maps.Keys(s.collections[db])) {
		out = append(out, s.collections[db][name])
	}
	return out
}

// Ensure returns a collection, creating it without options if necessary.
func (s *Store) Ensure(db, name string) (*Collection, error) {
	if c := s.Collection(db, name); c != nil {
		return c, nil
	}
	c, err := s.Create(db, name, CollectionOptions{})
	if mongoerr.Is(err, mongoerr.NamespaceExists) {
		if c := s.Collection(db, name); c != nil {
			return c, nil
		}
	}
	return c, err
}

// Create creates a collection; it fails with NamespaceExists if it already exists.
func (s *Store) Create(db, name string, opts CollectionOptions) (*Collection, error) {
	s.ddl.Lock()
	defer s.ddl.Unlock()
	if s.Collection(db, name) != nil {
		return nil, mongoerr.New(mongoerr.NamespaceExists, "a collection '%s.%s' already exists", db, name)
	}
	b := s.db.NewBatch()
	c := newCollection(s, db, name, s.newSpace(b), opts)
	id := &Index{Name: "_id_", Fields: idFields, Unique: true, space: c.space}
	if opts.Capped {
		id.space = s.newSpace(b)
	}
	c.setIndexes([]*Index{id})
	_ = b.Set(c.catalogKey(), c.encode(), nil)
	if err := s.commit(b); err != nil {
		return nil, err
	}
	s.altered(c)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(c)
	return c, nil
}

// Drop removes a collection and its contents. It reports whether it existed. It waits like CreateIndex.
func (s *Store) Drop(ctx context.Context, db, name string) (bool, error) {
	c, unlock, err := s.alone(ctx, func() *Collection { return s.Collection(db, name) })
	if err != nil {
		return false, err
	}
	defer unlock()
	if c == nil {
		return false, nil
	}
	b := s.db.NewBatch()
	s.clearSpace(b, c.space)
	for _, index := range c.Indexes() {
		s.clearSpace(b, index.space)
	}
	_ = b.Delete(c.catalogKey(), nil)
	if err := s.commit(b); err != nil {
		return false, err
	}
	c.dropped.Store(true)
	s.altered(c)
	s.feed.add(func() []*Event { return []*Event{{Kind: Dropped, DB: db, Collection: name}} })
	s.mu.Lock()
	delete(s.collections[db], name)
	if len(s.collections[db]) == 0 {
		delete(s.collections, db)
	}
	s.mu.Unlock()
	c.wake()
	return true, nil
}

// DropDatabase drops all collections of a database.
func (s *Store) DropDatabase(ctx context.Context, db string) error {
	for _, c := range s.Collections(db) {
		if _, err := s.Drop(ctx, db, c.name); err != nil {
			return err
		}
	}
	return nil
}

func (c *Collection) catalogKey() []byte {
	return append([]byte{keyCollection}, c.db+"."+c.name...)
}

// encode returns the collection's catalog record.
func (c *Collection) encode() []byte {
	indexes := bsoncore.NewArrayBuilder()
	for _, index := range c.Indexes() {
		indexes.AppendDocument(bsoncore.NewDocumentBuilder().
			AppendString("name", index.Name).
			AppendDocument("key", EncodeFields(index.Fields)).
			AppendBoolean("unique", index.Unique).
			AppendBoolean("sparse", index.Sparse).
			AppendBoolean("multi", index.multi.Load()).
			AppendInt64("space", int64(index.space)).Build())
	}
	return bsoncore.NewDocumentBuilder().
		AppendString("db", c.db).
		AppendString("name", c.name).
		AppendInt64("space", int64(c.space)).
		AppendBoolean("capped", c.opts.Capped).
		AppendInt64("size", c.opts.Size).
		AppendInt64("max", c.opts.Max).
		AppendArray("indexes", indexes.Build()).Build()
}

func (s *Store) decodeCollection(record []byte) (c *Collection, err error) {
	r := reader{doc: record}
	opts := CollectionOptions{Capped: r.bool("capped"), Size: r.int("size"), Max: r.int("max")}
	c = newCollection(s, r.string("db"), r.string("name"), uint32(r.int("space")), opts)
	var indexes []*Index
	it := raw.Elements(r.value("indexes", bson.TypeArray).Data)
	for e, ok := it.Next(); ok; e, ok = it.Next() {
		d := reader{doc: e.Value.Data}
		index := &Index{Name: d.string("name"), Unique: d.bool("unique"), Sparse: d.bool("sparse"), space: uint32(d.int("space"))}
		index.multi.Store(d.bool("multi"))
		index.Fields, err = decodeFields(d.value("key", bson.TypeEmbeddedDocument).Data)
		if d.err != nil {
			err = d.err
		}
		if err != nil {
			return nil, err
		}
		indexes = append(indexes, index)
	}
	c.setIndexes(indexes)
	return c, r.err
}

// A reader decodes the fields of a catalog record and keeps the first error.
type reader struct {
	doc []byte
	err error
}

func (r *reader) value(key string, t bsontype.Type) bsoncore.Value {
	v, ok := raw.Get(r.doc, key)
	if (!ok || v.Type != t) && r.err == nil {
		r.err = fmt.Errorf("a record has no %q", key)
	}
	if v.Type != t {
		return bsoncore.Value{}
	}
	return v
}

func (r *reader) string(key string) string {
	if v := r.value(key, bson.TypeString); v.Data != nil {
		return string(raw.Text(v))
	}
	return ""
}

func (r *reader) int(key string) int64 {
	n, _ := raw.Int(r.value(key, bson.TypeInt64))
	return n
}

func (r *reader) bool(key string) bool { return raw.Truthy(r.value(key, bson.TypeBoolean)) }
