package state_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"iter"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	driver "go.mongodb.org/mongo-driver/bson"
	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"

	"juju/state/mongo"
	"juju/state/mongo/embedded"
	"juju/state/mongo/mongotest"
	"juju/state/statetest"
)

// A snapshot is everything that a store holds, as lines of database, collection
// and document. An empty collection has one line without a document.
type snapshot []byte

// capped lists the capped collections.
var capped = map[string]bool{"txns.log": true, "statushistory": true, "refusals": true}

// newStore opens an empty store; tap, if not nil, wraps its connections.
func newStore(t *testing.T, tap func(net.Conn) net.Conn) *mongo.Store {
	t.Helper()
	store, err := mongo.OpenEmbedded("store", mongo.Options{Hooks: mongotest.NewHooks(),
		Embedded: embedded.Options{FS: vfs.NewMem(), Tap: tap, Standalone: statetest.Standalone()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

func take(ctx context.Context, store *mongo.Store) (snapshot, error) {
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

// restore fills an empty store.
func (s snapshot) restore(t *testing.T, store *mongo.Store) {
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

func snapshotFile(t *testing.T, path string) snapshot {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A recorder takes a snapshot of a store before each message sent to it: what
// would be left if the client were killed there.
type recorder struct {
	*testing.T
	store *mongo.Store

	mu    sync.Mutex
	on    bool
	seen  map[[32]byte]bool
	found []snapshot
}

func newRecorder(t *testing.T) *recorder {
	r := &recorder{T: t, seen: map[[32]byte]bool{}}
	r.store = newStore(t, func(c net.Conn) net.Conn { return tapped{c, r} })
	return r
}

// record returns the distinct states that the store went through while f ran,
// including the first and the last. With -short it omits some of those between.
func (r *recorder) record(f func()) []snapshot {
	r.Helper()
	r.mu.Lock()
	r.on, r.found = true, nil
	clear(r.seen)
	r.mu.Unlock()
	r.look()
	f()
	r.look()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.on = false
	return r.found
}

// look records the contents of the store if they are new. Only one look runs at
// a time, and messages sent meanwhile are not looked at.
func (r *recorder) look() {
	r.mu.Lock()
	if !r.on {
		r.mu.Unlock()
		return
	}
	r.on = false
	r.mu.Unlock()
	s, err := take(r.Context(), r.store)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.on = true
	if err != nil {
		r.Error(err)
		return
	}
	if sum := sha256.Sum256(s); !r.seen[sum] {
		r.seen[sum] = true
		r.found = append(r.found, s)
	}
}

// some iterates over a few of the points, different ones in each run; in a soak
// over all.
func some(t *testing.T, points []snapshot) iter.Seq2[int, snapshot] {
	few := 12
	switch {
	case os.Getenv("JUJU_SOAK") != "":
		few = len(points)
	case testing.Short():
		few = 3
	}
	every := max(1, len(points)/few)
	first := rand.IntN(every)
	t.Logf("of %d points, testing one in %d, starting at %d", len(points), every, first)
	return func(yield func(int, snapshot) bool) {
		for i := first; i < len(points) && yield(i, points[i]); i += every {
		}
	}
}

type tapped struct {
	net.Conn
	r *recorder
}

func (c tapped) Write(b []byte) (int, error) {
	if !testing.Short() || rand.IntN(15) == 0 {
		c.r.look()
	}
	return c.Conn.Write(b)
}

// values returns a field of all documents of a collection, sorted. Of an id
// that contains "#" it returns the part after it.
func (w *world) values(s snapshot, collection, name string) (all []string) {
	w.Helper()
	for line := range strings.Lines(string(s)) {
		fields := strings.SplitN(strings.TrimSpace(line), " ", 3)
		if len(fields) < 3 || fields[1] != collection {
			continue
		}
		var doc driver.M
		w.ok(driver.UnmarshalExtJSON([]byte(fields[2]), true, &doc))
		value := fmt.Sprint(doc[name])
		if name == "name" {
			_, value, _ = strings.Cut(fmt.Sprint(doc["_id"]), "#")
		}
		all = append(all, value)
	}
	slices.Sort(all)
	return all
}

// field returns a field of a dumped document.
func field(w *world, raw json.RawMessage, name string) string {
	w.Helper()
	doc := map[string]any{}
	w.ok(json.Unmarshal(raw, &doc))
	return fmt.Sprint(doc[name])
}

// connections returns the number of open connections to the store.
func connections(w *world, store *mongo.Store) int {
	w.Helper()
	session := store.Session()
	defer session.Close()
	var status struct {
		Connections struct {
			Current int `bson:"current"`
		} `bson:"connections"`
	}
	w.ok(session.DB("admin").Run("serverStatus", &status))
	return status.Connections.Current
}
