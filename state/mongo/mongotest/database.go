package mongotest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"

	"juju/state/mongo"
	"juju/state/mongo/cursor"
)

// LongestQueue returns the length of the longest transaction queue of any document. Every other transaction on that
// document reads the whole queue.
func LongestQueue(ctx context.Context, db *mongo.Database) (longest int, err error) {
	counts, err := db.Counts(ctx)
	if err != nil {
		return 0, err
	}
	for name := range counts {
		err := db.With(ctx, name, func(c *mgo.Collection) error {
			var doc struct {
				Queue []string `bson:"txn-queue"`
			}
			iter := cursor.Find(c, nil).Select(bson.D{{"txn-queue", 1}}).Iter()
			for iter.Next(&doc) {
				longest = max(longest, len(doc.Queue))
				doc.Queue = nil
			}
			return iter.Close()
		})
		if err != nil {
			return 0, fmt.Errorf("cannot read %s: %w", name, err)
		}
	}
	return longest, nil
}

// Repair repairs the problems of a database and returns their descriptions, sorted: "COLLECTION ID: WHAT: REPAIR".
func Repair(t *testing.T, db *mongo.Database) (found []string) {
	t.Helper()
	problems, err := db.Problems(t.Context(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		found = append(found, fmt.Sprintf("%s %v: %s: %s", p.Collection, p.ID, p.What, p.Repair))
		if err := p.Mend(t.Context()); err != nil {
			t.Errorf("%s: %v", p.What, err)
		}
	}
	slices.Sort(found)
	return found
}

// Compact rewrites the files of a closed embedded store without deleted data. fs is nil for the disk.
func Compact(ctx context.Context, dir string, fs vfs.FS) (err error) {
	db, err := pebble.Open(dir, &pebble.Options{FS: fs, ErrorIfNotExists: true, Logger: silent{}})
	if err != nil {
		return fmt.Errorf("cannot compact %s: %w", dir, err)
	}
	if err = db.Flush(); err == nil {
		err = db.Compact(ctx, []byte{0}, []byte{0xff}, true)
	}
	if err := errors.Join(err, db.Close()); err != nil {
		return fmt.Errorf("cannot compact %s: %w", dir, err)
	}
	return nil
}

// silent is a pebble.Logger that discards everything.
type silent struct{}

func (silent) Infof(string, ...any)  {}
func (silent) Errorf(string, ...any) {}

func (silent) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
