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
	jujutxn "github.com/juju/txn"
	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"
)

var logger = loggo.GetLogger("juju.state.mongo")

// The collections that the transaction runner keeps for itself.
const (
	TxnsC  = "txns"
	StashC = "txns.stash"
	LogC   = "txns.log"
)

// A Database is one database of a store: a model's, or the controller's own.
type Database struct {
	*Runner
	store *Store
}

// An Index is one that a collection must have.
type Index struct {
	Collection string
	Fields     []string
	Unique     bool
}

// A Schema is what a database must hold before it is used.
type Schema struct {
	LogSize int            // bytes of the capped log of transactions
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
	// The resumer asks for unfinished transactions.
	return append(slices.Clone(s.Indexes), Index{Collection: TxnsC, Fields: []string{"s"}})
}

// Sum is another for another schema, but for the sizes, which Make doesn't change
// of what is there.
func (s Schema) Sum() string {
	h := sha256.New()
	fmt.Fprintln(h, slices.Sorted(maps.Keys(s.capped())))
	for _, ix := range s.indexes() {
		fmt.Fprintln(h, ix.Collection, ix.Fields, ix.Unique)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// Make creates what the schema names and the database lacks. It may be run
// again at any time, also after a run that was cut short.
func (s *Store) Make(name string, schema Schema) error {
	return s.again(func() error { return s.make(name, schema) })
}

func (s *Store) make(name string, schema Schema) error {
	session := s.session.Copy()
	defer session.Close()
	db := session.DB(name)
	for c, size := range schema.capped() {
		err := db.C(c).Create(&mgo.CollectionInfo{Capped: true, MaxBytes: size})
		if err != nil && !exists(err) {
			return fmt.Errorf("cannot create %s.%s: %w", name, c, err)
		}
	}
	// The tail of an empty capped collection dies at once.
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

// exists recognises the refusal to create what is there (code 48, NamespaceExists).
func exists(err error) bool {
	var q *mgo.QueryError
	return errors.As(err, &q) && q.Code == 48
}

// Open opens a database, without looking at what it holds.
func (s *Store) Open(name string) *Database {
	return &Database{Runner: newRunner(s, name), store: s}
}

// Close ends the database's connections, once those who are using them have done
// with them. Whatever is asked of it afterwards fails with why.
func (d *Database) Close(why error) {
	if d.gate.shut(why) {
		d.Runner.close()
	}
}

// Name returns the database's name.
func (d *Database) Name() string { return d.name }

// With calls f with a collection on a connection of its own.
func (d *Database) With(collection string, f func(*mgo.Collection) error) error {
	return d.with(func(db *mgo.Database) error { return f(db.C(collection)) })
}

// Reading is With for what only reads, or may be done twice: on a MongoDB it waits for
// the end of an election.
func (d *Database) Reading(collection string, f func(*mgo.Collection) error) error {
	return d.store.again(func() error { return d.With(collection, f) })
}

// Tail returns a session and the log of transactions, for a tailer, which ends
// before the database is closed; the caller closes the session.
func (d *Database) Tail() (*mgo.Session, *mgo.Collection) {
	session := d.session.Copy()
	return session, session.DB(d.name).C(LogC)
}

// Get reads one document by its id into doc; entity.NotFound, with what in its
// text, when there is none.
func (d *Database) Get(collection string, id any, doc any, what string) error {
	err := d.Reading(collection, func(c *mgo.Collection) error { return c.FindId(id).One(doc) })
	if err != nil {
		return notFound(err, what)
	}
	return nil
}

// All reads the documents that match query into docs, a pointer to a slice.
func (d *Database) All(collection string, query, docs any) error {
	err := d.Reading(collection, func(c *mgo.Collection) error { return c.Find(query).All(docs) })
	if err != nil {
		return fmt.Errorf("cannot read %s: %w", collection, err)
	}
	return nil
}

// Count returns how many documents match query.
func (d *Database) Count(collection string, query any) (n int, err error) {
	err = d.Reading(collection, func(c *mgo.Collection) error { n, err = c.Find(query).Count(); return err })
	if err != nil {
		return 0, fmt.Errorf("cannot count %s: %w", collection, err)
	}
	return n, nil
}

// Census returns how many documents each of the database's collections holds.
func (d *Database) Census() (map[string]int, error) {
	counts := map[string]int{}
	err := d.each(func(c *mgo.Collection) (err error) {
		counts[c.Name], err = c.Count()
		return err
	})
	return counts, err
}

// each calls f with each of the database's collections.
func (d *Database) each(f func(*mgo.Collection) error) error {
	var names []string
	err := d.store.again(func() error {
		return d.with(func(db *mgo.Database) (err error) { names, err = db.CollectionNames(); return err })
	})
	if err != nil {
		return fmt.Errorf("cannot list the collections of %s: %w", d.name, err)
	}
	for _, name := range names {
		if err := d.With(name, f); err != nil {
			return fmt.Errorf("cannot read %s: %w", name, err)
		}
	}
	return nil
}

// LongestQueue returns how many transactions the queue of a document names at
// the most: every other transaction on that document looks at all of them.
func (d *Database) LongestQueue() (longest int, err error) {
	err = d.each(func(c *mgo.Collection) error {
		var doc struct {
			Queue []string `bson:"txn-queue"`
		}
		iter := c.Find(nil).Select(bson.D{{"txn-queue", 1}}).Iter()
		for iter.Next(&doc) {
			longest = max(longest, len(doc.Queue))
			doc.Queue = nil
		}
		return iter.Close()
	})
	return longest, err
}

// Next returns the next number of a sequence, beginning with 0. It is written
// directly: a number that a failed transaction took is never given again.
func (d *Database) Next(ctx context.Context, sequence string, n int) (first int, err error) {
	var doc struct {
		Counter int `bson:"counter"`
	}
	err = d.Reading("sequence", func(c *mgo.Collection) error {
		_, err := c.FindId(sequence).Apply(mgo.Change{
			Update: bson.D{{"$inc", bson.D{{"counter", n}}}}, Upsert: true, ReturnNew: true,
		}, &doc)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("cannot take a number of %s: %w", sequence, err)
	}
	return doc.Counter - n, nil
}

// The states of an unfinished transaction, from gopkg.in/mgo.v2/txn: preparing,
// prepared, aborting, applying.
var unfinished = []int{1, 2, 3, 4}

// The states of a finished one.
const (
	aborted = 5
	applied = 6
)

// ResumeTransactions takes every unfinished transaction that was begun before
// the given time to its end, aborting ones too. One that fails is logged and
// passed over.
func (d *Database) ResumeTransactions(ctx context.Context, before time.Time) error {
	var found []struct {
		ID bson.ObjectId `bson:"_id"`
	}
	query := bson.D{{"s", bson.D{{"$in", unfinished}}}, {"_id", bson.D{{"$lt", bson.NewObjectIdWithTime(before)}}}}
	err := d.Reading(TxnsC, func(c *mgo.Collection) error {
		return c.Find(query).Select(bson.D{{"_id", 1}}).Sort("_id").All(&found)
	})
	if err != nil {
		return fmt.Errorf("cannot list unfinished transactions of %s: %w", d.name, err)
	}
	for _, t := range found {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := d.resume(t.ID); err != nil && err != txn.ErrAborted {
			logger.Errorf("cannot resume transaction %s of %s: %v", t.ID.Hex(), d.name, err)
		}
	}
	return d.store.Barrier(ctx)
}

// errTakenBack is what a transaction ends with that can't be applied.
var errTakenBack = errors.New("it is taken back")

func (d *Database) resume(id bson.ObjectId) error {
	return d.With(TxnsC, func(c *mgo.Collection) error { return resume(c.Database, id) })
}

// resume takes a transaction to its end. One that waits for a lost one is taken
// back, or others would wait for it.
func resume(db *mgo.Database, id bson.ObjectId) error {
	err := guarded(func() error { return runnerOf(db).Resume(id) })
	if err == nil || err == txn.ErrAborted || !isLost(err) {
		return err
	}
	if taken, terr := takeBack(db, id); terr != nil || !taken {
		return errors.Join(err, terr)
	}
	return fmt.Errorf("%w: %w", errTakenBack, err)
}

// PruneTransactions removes the finished transactions that were begun before
// the given time, and mends the queues and the stash that name them. It returns
// how many it removed.
func (d *Database) PruneTransactions(ctx context.Context, before time.Time) (removed int, err error) {
	err = d.With(TxnsC, func(c *mgo.Collection) error {
		return guarded(func() error { // it panics over what can't be in a queue
			stats, err := jujutxn.CleanAndPrune(jujutxn.CleanAndPruneArgs{Txns: c, MaxTime: before})
			removed = stats.TransactionsRemoved
			return err
		})
	})
	if err != nil {
		return 0, fmt.Errorf("cannot prune the transactions of %s: %w", d.name, err)
	}
	return removed, d.store.Barrier(ctx)
}
