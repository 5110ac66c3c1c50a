package mongo_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
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
			copy := imported(t, entries)
			if loaded := read(t, copy); !reflect.DeepEqual(loaded, last) {
				t.Errorf("loaded %v, want %v", loaded.forms, last.forms)
			}
			session := copy.Session()
			defer session.Close()
			if err := session.DB("db").C("indexed").Insert(bson.M{"n": 0}); !mgo.IsDup(err) {
				t.Errorf("the copy of a unique index lets a duplicate in: %v", err)
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

// A snapshot that succeeds is committed and one that fails is aborted; both end their session. One that reads nothing has
// begun nothing.
func TestSnapshotsEnd(t *testing.T) {
	set := mongotest.NewSet(t, 1)
	var heard []string
	set.Heard = func(c mongotest.Command) {
		if c.Name == "commitTransaction" || c.Name == "abortTransaction" || c.Name == "endSessions" {
			heard = append(heard, c.Name)
		}
	}
	store, db := openURL(t, set.URL(), mongo.Options{Dial: set.Dial})
	insert(t, db, doc{"a", 1})
	mine := errors.New("mine")
	for _, c := range []struct {
		err  error
		want []string
	}{{nil, []string{"commitTransaction", "endSessions"}}, {mine, []string{"abortTransaction", "endSessions"}}} {
		heard = nil
		err := store.Snapshot(t.Context(), func(*mongo.Snapshot) error { return c.err })
		if err != c.err || !slices.Equal(heard, c.want) {
			t.Errorf("a snapshot whose reader returns %v: %v after %q, want %q", c.err, err, heard, c.want)
		}
	}
	if err := store.Drop(t.Context(), "db"); err != nil {
		t.Fatal(err)
	}
	heard = nil
	if err := store.Snapshot(t.Context(), func(*mongo.Snapshot) error { return nil }); err != nil || heard != nil {
		t.Errorf("a snapshot of nothing: %v after %q", err, heard)
	}
}

// A snapshot has all collections, however many there are.
func TestASnapshotOfManyCollections(t *testing.T) {
	t.Parallel()
	store, db := open(t)
	const many = 150
	for i := range many {
		write(t, db, fmt.Sprintf("many%03d", i), func(c *mgo.Collection) error { return c.Insert(bson.D{{"_id", i}}) })
	}
	n := 0
	for name := range read(t, store).docs {
		if strings.HasPrefix(name, "db.many") {
			n++
		}
	}
	if n != many {
		t.Errorf("the snapshot has documents of %d collections, want %d", n, many)
	}
}

// A read that the store refuses does not count as a snapshot that has ended.
func TestAReadThatASnapshotCannotMake(t *testing.T) {
	t.Parallel()
	store, db := open(t)
	insert(t, db, doc{"a", 1})
	err := store.Snapshot(t.Context(), func(s *mongo.Snapshot) error {
		return s.Each(s.Forms[0], bson.D{{"$nonsense", 1}}, func(bson.Raw) error { return nil })
	})
	if err == nil || !strings.Contains(err.Error(), "nonsense") || entity.Hint(err) != "" {
		t.Errorf("got %v; %s", err, entity.Hint(err))
	}
}

// A connection that is lost in a snapshot is reported as such.
func TestAConnectionThatASnapshotLoses(t *testing.T) {
	set := mongotest.NewSet(t, 1)
	store, db := openURL(t, set.URL(), mongo.Options{Dial: set.Dial})
	insert(t, db, doc{"a", 1})
	err := store.Snapshot(t.Context(), func(s *mongo.Snapshot) error {
		set.Restart()
		return s.Each(s.Forms[0], nil, func(bson.Raw) error { return nil })
	})
	if err == nil || !strings.HasPrefix(err.Error(), "cannot read ") || entity.Hint(err) != "" {
		t.Errorf("got %v; %s", err, entity.Hint(err))
	}
}
