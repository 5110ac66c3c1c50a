package mongo_test

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"testing"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/mongo/mongotest"
)

// contents are the documents of a snapshot, by the names of their collections.
type contents struct {
	forms []mongo.Form
	docs  map[string][]bson.Raw
}

func read(t *testing.T, store *mongo.Store) (c contents) {
	t.Helper()
	err := store.Snapshot(t.Context(), func(s *mongo.Snapshot) error {
		c = contents{s.Forms, map[string][]bson.Raw{}}
		for _, form := range s.Forms {
			if err := s.Each(form, nil, func(doc bson.Raw) error {
				c.docs[form.String()] = append(c.docs[form.String()], bson.Raw{Kind: 3, Data: bytes.Clone(doc.Data)})
				return nil
			}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A snapshot shows one moment, however much is written meanwhile; its export is imported into another store, whose
// snapshot is then the same.
func TestSnapshots(t *testing.T) {
	set := mongotest.NewSet(t, 3)
	remote, onSet := openURL(t, set.URL(), mongo.Options{Dial: set.Dial})
	embedded, inProcess := open(t)
	for name, c := range map[string]struct {
		store *mongo.Store
		db    *mongo.Database
	}{"embedded": {embedded, inProcess}, "MongoDB": {remote, onSet}} {
		t.Run(name, func(t *testing.T) {
			b := newBank(t, c.db, 6)
			write(t, c.db, "indexed", func(col *mgo.Collection) error {
				return col.EnsureIndex(mgo.Index{Key: []string{"n", "-m"}, Unique: true})
			})
			for i := range 2500 {
				write(t, c.db, "indexed", func(col *mgo.Collection) error { return col.Insert(bson.M{"n": i, "text": "some text"}) })
			}
			stop := b.work(t, 4)
			defer stop()
			var last contents
			for range 10 {
				b.progress(t, 5)
				last = read(t, c.store)
				if sum, moved := totals(t, last); sum != 6*deposit || moved < 0 {
					t.Errorf("the accounts of a snapshot have %d, want %d; transfers differ in %d", sum, 6*deposit, -moved)
				}
			}
			stop()
			entries := exportOf(t, c.store)
			last = read(t, c.store)
			if loaded := read(t, imported(t, entries)); !reflect.DeepEqual(loaded, last) {
				t.Errorf("loaded %v, want %v", loaded.forms, last.forms)
			}
		})
	}
}

// totals returns the sum of the accounts, and the number of transfers or, if they don't explain the accounts, minus
// the number of those that they don't explain.
func totals(t *testing.T, c contents) (sum, transfers int) {
	t.Helper()
	want := map[string]int{}
	for _, raw := range c.docs["db.transfers"] {
		var x struct {
			From, To string
			N        int
		}
		if err := raw.Unmarshal(&x); err != nil {
			t.Fatal(err)
		}
		want[x.From] -= x.N
		want[x.To] += x.N
		transfers++
	}
	unexplained := 0
	for _, raw := range c.docs["db.c"] {
		var a doc
		if err := raw.Unmarshal(&a); err != nil {
			t.Fatal(err)
		}
		sum += a.N
		if a.N != deposit+want[a.ID] {
			unexplained++
		}
	}
	if unexplained > 0 {
		return sum, -unexplained
	}
	return sum, transfers
}

// A store without transactions can't be read at one moment, and says what to do.
func TestNoSnapshots(t *testing.T) {
	store, _ := openStandalone(t)
	err := store.Snapshot(t.Context(), func(*mongo.Snapshot) error { return nil })
	if entity.KindOf(err) != entity.NotSupported || entity.Hint(err) == "" {
		t.Errorf("got %v, %s", err, entity.Hint(err))
	}
}

// A reader that gives up leaves no transaction.
func TestAnAbandonedSnapshot(t *testing.T) {
	store, db := open(t)
	insert(t, db, doc{"a", 1})
	ctx, cancel := context.WithCancel(t.Context())
	err := store.Snapshot(ctx, func(s *mongo.Snapshot) error {
		cancel()
		return s.Each(s.Forms[0], nil, func(bson.Raw) error { return fmt.Errorf("read on") })
	})
	if err != context.Canceled {
		t.Errorf("got %v", err)
	}
	if err := store.Drop(ctx, "db"); err != nil { // waits for transactions
		t.Error(err)
	}
}
