package mongo_test

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/mongo/mongotest"
)

// keep stores a file.
func keep(t *testing.T, store *mongo.Store, name, text string) {
	t.Helper()
	session := store.Session()
	defer session.Close()
	f, err := session.DB("db").GridFS("blobs").Create(name)
	if err == nil {
		_, err = io.WriteString(f, text)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// removeFile removes a file, the contents first.
func removeFile(t *testing.T, store *mongo.Store, name string) {
	t.Helper()
	session := store.Session()
	defer session.Close()
	fs := session.DB("db").GridFS("blobs")
	var f struct {
		ID bson.ObjectId `bson:"_id"`
	}
	err := fs.Find(bson.D{{"filename", name}}).One(&f)
	if err == nil {
		_, err = fs.Chunks.RemoveAll(bson.D{{"files_id", f.ID}})
	}
	if err == nil {
		err = fs.RemoveId(f.ID)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// kept returns the contents of the files, by name, and fails if there are chunks of others.
func kept(t *testing.T, store *mongo.Store) map[string]string {
	t.Helper()
	session := store.Session()
	defer session.Close()
	fs := session.DB("db").GridFS("blobs")
	var names []string
	var ids, of []bson.ObjectId
	if err := errors.Join(fs.Find(nil).Distinct("filename", &names), fs.Find(nil).Distinct("_id", &ids),
		fs.Chunks.Find(nil).Distinct("files_id", &of)); err != nil {
		t.Fatal(err)
	}
	if len(of) != len(ids) {
		t.Errorf("there are chunks of %d files, and %d files", len(of), len(ids))
	}
	all := map[string]string{}
	for _, name := range names {
		f, err := fs.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(f)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = string(text)
	}
	return all
}

// An exported is an entry of an export.
type exported struct {
	name string
	data []byte
}

func exportOf(t *testing.T, store *mongo.Store) (entries []exported) {
	t.Helper()
	if err := store.Export(t.Context(), nil, func(name string, data []byte) error {
		entries = append(entries, exported{name, bytes.Clone(data)})
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return entries
}

// imported returns a new store with an export.
func imported(t *testing.T, entries []exported) *mongo.Store {
	t.Helper()
	store, _ := open(t)
	if err := store.Drop(t.Context(), "db"); err != nil {
		t.Fatal(err)
	}
	if err := store.Import(t.Context(), func() (string, []byte, error) {
		if len(entries) == 0 {
			return "", nil, io.EOF
		}
		e := entries[0]
		entries = entries[1:]
		return e.name, e.data, nil
	}); err != nil {
		t.Fatal(err)
	}
	return store
}

// The chunks of files are read before the snapshot, which they would make too long. The files are those of the snapshot: what
// is removed just before it leaves nothing behind, and what is added is there.
func TestFilesAreExportedBeforeTheSnapshot(t *testing.T) {
	set := mongotest.NewSet(t, 1)
	var store *mongo.Store
	var exporting, begun bool
	inside := 0 // reads of chunks in the snapshot
	set.Heard = func(c mongotest.Command) {
		if !exporting || c.Body.Lookup("autocommit").Type == 0 {
			return
		}
		if c.Name == "find" && c.Body.Lookup("filter", "files_id").Type != 0 {
			inside++
		}
		if !begun {
			begun = true
			removeFile(t, store, "removed")
			keep(t, store, "late", "added meanwhile")
		}
	}
	store, _ = openURL(t, set.URL(), mongo.Options{Dial: set.Dial})
	large := strings.Repeat("0123456789abcdef", 1<<18) // 4 MiB, so that there are several entries
	for _, name := range []string{"large", "removed", "larger"} {
		keep(t, store, name, name+large)
	}
	exporting = true
	entries := exportOf(t, store)
	exporting = false
	if inside != 1 {
		t.Errorf("the snapshot read the chunks of %d files, want those of one", inside)
	}
	got := kept(t, imported(t, entries))
	want := map[string]string{"large": "large" + large, "larger": "larger" + large, "late": "added meanwhile"}
	if !maps.Equal(got, want) {
		t.Errorf("imported the files %v", slices.Collect(maps.Keys(got)))
	}
}

// A snapshot that the store has ended says so, and what can be done.
func TestASnapshotThatIsTooOld(t *testing.T) {
	set := mongotest.NewSet(t, 1)
	store, db := openURL(t, set.URL(), mongo.Options{Dial: set.Dial})
	insert(t, db, doc{"a", 1})
	err := store.Snapshot(t.Context(), func(s *mongo.Snapshot) error {
		set.AbortTransactions()
		return s.Each(s.Forms[0], nil, func(bson.Raw) error { return nil })
	})
	if entity.KindOf(err) != entity.Unavailable || !strings.Contains(entity.Hint(err), "transactionLifetimeLimitSeconds") {
		t.Errorf("got %v; %s", err, entity.Hint(err))
	}
}
