package mongo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/juju/loggo"
	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/mongo/cursor"
	"juju/state/mongo/mgotxn"
	"juju/state/mongo/servertxn"
	"juju/state/watcher"
)

var logger = loggo.GetLogger("juju.state.mongo")

// The collections of mgo/txn.
const (
	TxnsC  = mgotxn.TxnsC
	StashC = mgotxn.StashC
	LogC   = mgotxn.LogC
)

// TxnFields are the fields that transactions add to documents.
var TxnFields = []string{"txn-queue", mgotxn.RevnoField, "txn-insert", "txn-remove", servertxn.AssertedField}

// A Database is a database of the store: a model's or the controller's.
type Database struct {
	*Runner
	store *Store
}

// An Index is an index that a collection must have.
type Index struct {
	Collection string
	Fields     []string
	Unique     bool
}

// A Schema lists the collections and indexes that a database must have.
type Schema struct {
	LogSize int            // bytes of the capped transaction log
	Capped  map[string]int // other capped collections and their sizes in bytes
	Indexes []Index
}

// capped returns all capped collections with their sizes.
func (s Schema) capped() map[string]int {
	all := map[string]int{LogC: s.LogSize, RefusalsC: refusalsSize}
	maps.Copy(all, s.Capped)
	return all
}

func (s Schema) indexes() []Index {
	// The resumer queries for unfinished transactions.
	return append(slices.Clone(s.Indexes), Index{Collection: TxnsC, Fields: []string{"s"}})
}

// Sum returns a digest of the schema. It ignores sizes, because Make doesn't change the size of an existing collection.
func (s Schema) Sum() string {
	h := sha256.New()
	fmt.Fprintln(h, slices.Sorted(maps.Keys(s.capped())))
	for _, ix := range s.indexes() {
		fmt.Fprintln(h, ix.Collection, ix.Fields, ix.Unique)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// Make creates the collections and indexes of the schema that the database lacks. It is idempotent, even
// after an interruption.
func (s *Store) Make(ctx context.Context, name string, schema Schema) error {
	return s.again(ctx, func() error { return s.make(name, schema) })
}

func (s *Store) make(name string, schema Schema) error {
	session := s.session.Copy()
	defer session.Close()
	db := session.DB(name)
	for c, size := range schema.capped() {
		err := db.C(c).Create(&mgo.CollectionInfo{Capped: true, MaxBytes: size})
		if err != nil && !servertxn.Exists(err) {
			return fmt.Errorf("cannot create %s.%s: %w", name, c, err)
		}
	}
	// A tailable cursor on an empty capped collection ends immediately.
	log := db.C(LogC)
	if n, err := log.Count(); err != nil {
		return fmt.Errorf("cannot count %s.%s: %w", name, LogC, err)
	} else if n == 0 {
		if err := log.Insert(bson.D{{"_id", bson.NewObjectId()}}); err != nil {
			return fmt.Errorf("cannot begin %s.%s: %w", name, LogC, err)
		}
	}
	for _, ix := range schema.indexes() {
		err := db.C(ix.Collection).EnsureIndex(mgo.Index{Key: ix.Fields, Unique: ix.Unique})
		if err != nil {
			return fmt.Errorf("cannot index %s.%s by %v: %w", name, ix.Collection, ix.Fields, err)
		}
	}
	return nil
}

// Open opens a database without reading it.
func (s *Store) Open(name string) *Database {
	return &Database{Runner: newRunner(s, name), store: s}
}

// Close closes the database's connections once they are no longer in use. Later calls fail with why.
func (d *Database) Close(why error) {
	if d.gate.shut(why) {
		d.Runner.close()
	}
}

// ReadsAreFinal reports whether what is read can't be rolled back, as it may be on a MongoDB without transactions.
func (d *Database) ReadsAreFinal() bool {
	b, remote := d.store.backend.(*mongoBackend)
	return !remote || b.majorityReads
}

// Name returns the database's name.
func (d *Database) Name() string { return d.name }

// With calls f with a collection, on a separate connection.
func (d *Database) With(ctx context.Context, collection string, f func(*mgo.Collection) error) error {
	return d.with(ctx, func(db *mgo.Database) error { return f(db.C(collection)) })
}

// Reading is With for reads and idempotent writes: on a MongoDB it retries until an election is over.
func (d *Database) Reading(ctx context.Context, collection string, f func(*mgo.Collection) error) error {
	return d.store.again(ctx, func() error { return d.With(ctx, collection, f) })
}

// Tail returns the source of the database's changes, for a tailer. The tailer must stop before the database is closed.
func (d *Database) Tail() watcher.Source {
	source := watcher.Source{DB: d.session.Copy().DB(d.name), Ignored: servertxn.AssertedField, Delivered: d.meter.Delivered}
	if d.traced != nil {
		source.Span = d.traced.of
	}
	if d.store.LeavesTransactions() {
		source.Log = LogC
	}
	return source
}

// Get reads the document with this id into doc. If it does not exist, the error is entity.NotFound and its text begins
// with what.
func (d *Database) Get(ctx context.Context, collection string, id any, doc any, what string) error {
	err := d.Reading(ctx, collection, func(c *mgo.Collection) error { return c.FindId(id).One(doc) })
	if err != nil {
		return notFound(err, what)
	}
	return nil
}

// All reads the documents that match query into docs, a pointer to a slice.
func (d *Database) All(ctx context.Context, collection string, query, docs any) error {
	err := d.Reading(ctx, collection, func(c *mgo.Collection) error { return cursor.Find(c, query).All(docs) })
	if err != nil {
		return fmt.Errorf("cannot read %s: %w", collection, err)
	}
	return nil
}

// Count returns the number of documents that match query.
func (d *Database) Count(ctx context.Context, collection string, query any) (n int, err error) {
	err = d.Reading(ctx, collection, func(c *mgo.Collection) error { n, err = c.Find(query).Count(); return err })
	if err != nil {
		return 0, fmt.Errorf("cannot count %s: %w", collection, err)
	}
	return n, nil
}

// Counts returns the number of documents of each collection.
func (d *Database) Counts(ctx context.Context) (map[string]int, error) {
	counts := map[string]int{}
	err := d.each(ctx, func(c *mgo.Collection) (err error) {
		counts[c.Name], err = c.Count()
		return err
	})
	return counts, err
}

// each calls f with each of the database's collections.
func (d *Database) each(ctx context.Context, f func(*mgo.Collection) error) error {
	var names []string
	err := d.store.again(ctx, func() error {
		return d.with(ctx, func(db *mgo.Database) (err error) { names, err = db.CollectionNames(); return err })
	})
	if err != nil {
		return fmt.Errorf("cannot list the collections of %s: %w", d.name, err)
	}
	for _, name := range names {
		if err := d.With(ctx, name, f); err != nil {
			return fmt.Errorf("cannot read %s: %w", name, err)
		}
	}
	return nil
}

// Upsert updates or inserts the document with an id, outside transactions. The update must be idempotent: see Reading.
func (d *Database) Upsert(ctx context.Context, collection string, id, update any) error {
	return d.upserting(ctx, collection, func(c *mgo.Collection) error {
		_, err := c.UpsertId(id, update)
		return err
	})
}

// upserts is how often an upsert is tried.
const upserts = 10

// upserting is Reading for an upsert. If two clients insert the same document at once, MongoDB tells one of them that the
// key is a duplicate: before 4.2 always, and later ones at times. The next attempt updates the document.
func (d *Database) upserting(ctx context.Context, collection string, f func(*mgo.Collection) error) error {
	return d.Reading(ctx, collection, func(c *mgo.Collection) (err error) {
		for range upserts {
			if err = f(c); !mgo.IsDup(err) {
				break
			}
		}
		return err
	})
}

// Next reserves n numbers of a sequence, which starts at 0, and returns the first. It writes outside transactions, so
// the number of a failed transaction is never reused.
func (d *Database) Next(ctx context.Context, sequence string, n int) (first int, err error) {
	command := bson.D{{"findAndModify", "sequence"}, {"query", bson.D{{"_id", sequence}}},
		{"update", bson.D{{"$inc", bson.D{{"counter", n}}}}}, {"upsert", true}, {"new", true}}
	command = append(command, d.store.backend.concern()...) // mgo would not wait for it: a number could be given twice
	err = d.upserting(ctx, "sequence", func(c *mgo.Collection) error {
		var result struct {
			Value struct {
				Counter int `bson:"counter"`
			} `bson:"value"`
			Concern servertxn.Refused `bson:"writeConcernError"`
		}
		if err := c.Database.Run(command, &result); err != nil {
			return err
		}
		first = result.Value.Counter - n
		return result.Concern.Err()
	})
	if err != nil {
		return 0, fmt.Errorf("cannot get the next number of %s: %w", sequence, err)
	}
	return first, nil
}

// ResumeAge is the age at which unfinished transactions of other processes are resumed. Younger ones are probably still
// being run by their process.
const ResumeAge = 5 * time.Second

// ResumeTransactions completes or aborts every unfinished transaction that began before the given time. If one fails,
// it logs the error and continues.
func (d *Database) ResumeTransactions(ctx context.Context, before time.Time) error {
	var found []struct {
		ID bson.ObjectId `bson:"_id"`
	}
	query := bson.D{{"s", bson.D{{"$in", mgotxn.Unfinished}}}, {"_id", bson.D{{"$lt", bson.NewObjectIdWithTime(before)}}}}
	err := d.Reading(ctx, TxnsC, func(c *mgo.Collection) error {
		return cursor.Find(c, query).Select(bson.D{{"_id", 1}}).Sort("_id").All(&found)
	})
	if err != nil {
		return fmt.Errorf("cannot list unfinished transactions of %s: %w", d.name, err)
	}
	for _, t := range found {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := d.resume(ctx, t.ID); err != nil && !errors.Is(err, txn.ErrAborted) {
			logger.Errorf("cannot resume transaction %s of %s: %v", t.ID.Hex(), d.name, err)
		}
	}
	return d.store.Barrier(ctx)
}

func (d *Database) resume(ctx context.Context, id bson.ObjectId) error {
	return d.With(ctx, TxnsC, func(c *mgo.Collection) error { return mgotxn.Resume(c.Database, id) })
}

// PruneTransactions removes the finished transactions that began before the given time, and the entries of queues and
// the stash that refer to them. It returns the number of transactions removed.
func (d *Database) PruneTransactions(ctx context.Context, before time.Time) (removed int, err error) {
	err = d.With(ctx, TxnsC, func(c *mgo.Collection) error {
		removed, err = mgotxn.Prune(c, before)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("cannot prune the transactions of %s: %w", d.name, err)
	}
	return removed, d.store.Barrier(ctx)
}
