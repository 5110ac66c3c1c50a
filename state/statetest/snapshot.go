package statetest

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"
	"testing"

	driver "go.mongodb.org/mongo-driver/bson"
	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"

	"juju/state/mongo"
)

// A Snapshot is everything that a store holds, as lines of database, collection and document. An empty collection has one
// line without a document.
type Snapshot []byte

// capped lists the capped collections.
var capped = map[string]bool{"txns.log": true, "statushistory": true, "refusals": true}

// TakeSnapshot reads all databases of a store.
func TakeSnapshot(ctx context.Context, store *mongo.Store) (Snapshot, error) {
	var out bytes.Buffer
	session := store.Session()
	defer session.Close()
	dbs, err := store.Databases(ctx)
	if err != nil {
		return nil, err
	}
	for _, db := range dbs {
		names, err := session.DB(db).CollectionNames()
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			fmt.Fprintf(&out, "%s %s\n", db, name)
			var docs []bson.Raw
			if err := session.DB(db).C(name).Find(nil).All(&docs); err != nil {
				return nil, err
			}
			for _, doc := range docs {
				text, err := driver.MarshalExtJSON(driver.Raw(doc.Data), true, false)
				if err != nil {
					return nil, err
				}
				fmt.Fprintf(&out, "%s %s %s\n", db, name, text)
			}
		}
	}
	return out.Bytes(), nil
}

// Restore fills an empty store.
func (s Snapshot) Restore(t testing.TB, store *mongo.Store) {
	t.Helper()
	session := store.Session()
	defer session.Close()
	made := map[string]bool{}
	lines := bufio.NewScanner(bytes.NewReader(s))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		fields := append(strings.SplitN(lines.Text(), " ", 3), "")
		c := session.DB(fields[0]).C(fields[1])
		if !made[c.FullName] {
			made[c.FullName] = true
			if err := c.Create(&mgo.CollectionInfo{Capped: capped[c.Name], MaxBytes: 1 << 20}); err != nil {
				t.Fatalf("cannot make %s: %v", c.FullName, err)
			}
		}
		if fields[2] == "" {
			continue
		}
		var doc driver.Raw
		if err := driver.UnmarshalExtJSON([]byte(fields[2]), true, &doc); err != nil {
			t.Fatal(err)
		}
		if err := c.Insert(bson.Raw{Kind: 3, Data: doc}); err != nil {
			t.Fatal(err)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
}

// ReadSnapshot reads a snapshot from a file.
func ReadSnapshot(t testing.TB, path string) Snapshot {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Values returns a field of all documents of a collection, sorted. Of an id that contains "#" it returns, for "name", the part
// after it.
func (s Snapshot) Values(t testing.TB, collection, name string) (all []string) {
	t.Helper()
	for _, doc := range s.in(t, collection) {
		value := fmt.Sprint(doc[name])
		if name == "name" {
			_, value, _ = strings.Cut(fmt.Sprint(doc["_id"]), "#")
		}
		all = append(all, value)
	}
	slices.Sort(all)
	return all
}

// Docs returns the documents of a collection in all databases, as text, without the fields that the transaction runner adds.
func (s Snapshot) Docs(t testing.TB, collection string) (all []string) {
	t.Helper()
	for db, doc := range s.in(t, collection) {
		for _, field := range mongo.TxnFields {
			delete(doc, field)
		}
		all = append(all, fmt.Sprint(db, " ", doc))
	}
	slices.Sort(all)
	return all
}

// in iterates over the documents of a collection, with their databases.
func (s Snapshot) in(t testing.TB, collection string) iter.Seq2[string, driver.M] {
	return func(yield func(string, driver.M) bool) {
		for line := range strings.Lines(string(s)) {
			fields := strings.SplitN(strings.TrimSpace(line), " ", 3)
			if len(fields) < 3 || fields[1] != collection {
				continue
			}
			var doc driver.M
			OK(t, driver.UnmarshalExtJSON([]byte(fields[2]), true, &doc))
			if !yield(fields[0], doc) {
				return
			}
		}
	}
}
