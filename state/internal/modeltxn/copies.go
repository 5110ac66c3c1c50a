package modeltxn

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/watcher"
)

// AsWatched returns the model as its watches have reported it: what is read may come from copies. They lack no change that
// a watch has reported or that was made through this process, and what they lack of another process's changes is reported
// by an event that is still to come. So they are for those who read because of an event, and will do so again. Builders of
// transactions must not use them: their errors would not be certain. Where what is read may be rolled back, there are none.
func (db *DB) AsWatched() *DB {
	if !db.ReadsAreFinal() {
		return db
	}
	watched := *db
	watched.watched = true
	return &watched
}

// Forget makes everything be read anew.
func (db *DB) Forget() { db.copies.Forget() }

// Get is mongo.Database.Get.
func (db *DB) Get(ctx context.Context, collection string, id any, doc any, what string) error {
	name, ok := id.(string)
	if !ok || !db.watched {
		return db.Database.Get(ctx, collection, id, doc, what)
	}
	docs, err := db.copiesOf(ctx, collection, []string{name})
	switch {
	case err != nil:
		return fmt.Errorf("cannot read %s: %w", what, err)
	case len(docs) == 0:
		return entity.Errorf(entity.NotFound, "%s not found", what)
	}
	return bson.Unmarshal(docs[0], doc)
}

// All is mongo.Database.All. Documents that are selected by their ids alone are copied one by one.
func (db *DB) All(ctx context.Context, collection string, query, docs any) error {
	if ids, byID := idsIn(query); !db.watched && (!byID || len(ids) > 0) { // of no ids nothing is read
		return db.Database.All(ctx, collection, query, docs)
	}
	copies, err := db.allCopies(ctx, collection, query)
	if err != nil {
		return err
	}
	slice := reflect.ValueOf(docs).Elem()
	all := reflect.MakeSlice(slice.Type(), len(copies), len(copies))
	for i, data := range copies {
		if err := bson.Unmarshal(data, all.Index(i).Addr().Interface()); err != nil {
			return fmt.Errorf("cannot read %s: %w", collection, err)
		}
	}
	slice.Set(all)
	return nil
}

func (db *DB) allCopies(ctx context.Context, collection string, query any) ([][]byte, error) {
	if ids, ok := idsIn(query); ok {
		return db.copiesOf(ctx, collection, ids)
	}
	if query == nil {
		query = bson.D{}
	}
	key, err := bson.Marshal(query)
	if err != nil {
		return nil, err
	}
	docs, found, reading := db.copies.FindQuery(collection, key)
	if found {
		return docs, nil
	}
	all, err := db.read(ctx, collection, query)
	for _, d := range all {
		docs = append(docs, d.Data)
	}
	if err == nil {
		db.copies.Keep(reading, docs)
	}
	return docs, err
}

// copiesOf returns the documents with these ids that exist, and reads those of which there are no copies.
func (db *DB) copiesOf(ctx context.Context, collection string, ids []string) ([][]byte, error) {
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	var docs [][]byte
	missing := map[string]watcher.PendingRead{}
	for _, id := range ids {
		one, found, reading := db.copies.FindDoc(collection, id)
		if found {
			docs = append(docs, one...)
		} else {
			missing[id] = reading
		}
	}
	if len(missing) == 0 {
		return docs, nil
	}
	all, err := db.read(ctx, collection, bson.D{{"_id", bson.D{{"$in", slices.Sorted(maps.Keys(missing))}}}})
	if err != nil {
		return nil, err
	}
	for _, d := range all {
		docs = append(docs, d.Data)
		db.copies.Keep(missing[d.ID], [][]byte{d.Data})
		delete(missing, d.ID)
	}
	for _, reading := range missing { // they don't exist
		db.copies.Keep(reading, nil)
	}
	return docs, nil
}

// A rawDoc is a document with its id.
type rawDoc struct {
	ID   string
	Data []byte
}

// SetBSON implements bson.Setter.
func (d *rawDoc) SetBSON(raw bson.Raw) error {
	var with struct {
		ID bson.Raw `bson:"_id"`
	}
	err := raw.Unmarshal(&with)
	if err == nil && with.ID.Kind == 0x02 {
		err = with.ID.Unmarshal(&d.ID)
	}
	d.Data = bytes.Clone(raw.Data) // not the whole reply
	return err
}

func (db *DB) read(ctx context.Context, collection string, query any) (all []rawDoc, err error) {
	err = db.Database.All(ctx, collection, query, &all)
	return all, err
}

// idsIn returns the ids of a query that selects documents by their ids alone.
func idsIn(query any) ([]string, bool) {
	q, ok := query.(bson.D)
	if !ok || len(q) != 1 || q[0].Name != "_id" {
		return nil, false
	}
	in, ok := q[0].Value.(bson.D)
	if !ok || len(in) != 1 || in[0].Name != "$in" {
		return nil, false
	}
	ids, ok := in[0].Value.([]string)
	return ids, ok
}
