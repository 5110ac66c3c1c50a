package statetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"

	"juju/state/mongo"
	"juju/state/mongo/cursor"
)

// A WriteLog reports what is written to a store, in all databases, in transactions and outside them. It reads the change
// stream of the store up to a mark that it writes itself, so that it misses nothing that was written before.
type WriteLog struct {
	testing.TB
	session *mgo.Session
	stream  *cursor.Cursor
	marks   int
}

// marksDB is the database of the marks.
const marksDB = "marks"

// unwatched are collections whose writes change nothing that matters: what counts and notes.
var unwatched = []string{"sequence", "statushistory", "audit", "logins", "presence", mongo.RefusalsC}

// WatchWrites follows a store until the test ends.
func WatchWrites(t testing.TB, store *mongo.Store) *WriteLog {
	t.Helper()
	l := &WriteLog{TB: t, session: store.Session()}
	t.Cleanup(l.session.Close)
	l.stream = cursor.Run(l.session.DB("admin"), bson.D{{"aggregate", 1}, {"cursor", bson.D{}},
		{"pipeline", []bson.D{{{"$changeStream", bson.D{{"allChangesForCluster", true}}}}}}}, 0)
	t.Cleanup(func() { _ = l.stream.Close() })
	l.Read()
	return l
}

// A write is an entry of the change stream.
type write struct {
	Operation string `bson:"operationType"`
	NS        struct{ DB, Coll string }
	Key       struct {
		ID any `bson:"_id"`
	} `bson:"documentKey"`
	Doc    bson.M `bson:"fullDocument"`
	Update struct {
		Fields  bson.M   `bson:"updatedFields"`
		Removed []string `bson:"removedFields"`
	} `bson:"updateDescription"`
}

// Read returns what was written since it was called last, but not a document that was inserted and then deleted: a claim.
func (l *WriteLog) Read() (all []string) {
	l.Helper()
	l.marks++
	if err := l.session.DB(marksDB).C("marks").Insert(bson.D{{"_id", l.marks}}); err != nil {
		l.Fatal(err)
	}
	var last write
	for {
		var w write
		if !l.stream.Next(&w) {
			l.Fatalf("cannot follow the writes: %v", l.stream.Err())
		}
		switch {
		case w.NS.DB == marksDB && w.Key.ID == l.marks:
			return all
		case w.NS.DB == marksDB || !w.changes():
		case w.Operation == "delete" && last.Operation == "insert" && last.NS == w.NS && fmt.Sprint(last.Key) == fmt.Sprint(w.Key):
			all, last = all[:len(all)-1], write{}
		default:
			all, last = append(all, w.String()), w
		}
	}
}

// changes reports whether the write is more than a note, or the assertion of a transaction.
func (w *write) changes() bool {
	if slices.Contains(unwatched, w.NS.Coll) || strings.HasPrefix(w.NS.Coll, mongo.TxnsC) {
		return false
	}
	for _, field := range mongo.TxnFields {
		delete(w.Update.Fields, field)
		delete(w.Doc, field)
	}
	return w.Operation != "update" || len(w.Update.Fields)+len(w.Update.Removed) > 0
}

func (w *write) String() string {
	return fmt.Sprintf("%s %.8s %s %v %.500v %v %v", w.Operation, w.NS.DB, w.NS.Coll, w.Key.ID, w.Doc, w.Update.Fields, w.Update.Removed)
}
