// Package cursor reads the documents of MongoDB's cursors.
//
// mgo's Iter asks for a batch while it holds its lock. If its connection has just closed, mgo reports that at once, to a
// function that takes the same lock, and Iter waits for itself forever. Here each batch is the reply of a command, which
// returns that error.
package cursor

import (
	"cmp"
	"errors"
	"reflect"
	"slices"
	"strings"
	"time"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"
)

// A Query finds documents of a collection. Its methods return queries with more options.
type Query struct {
	of      *mgo.Collection
	command bson.D
}

// Find returns a query for the documents that match a filter; nil matches all.
func Find(c *mgo.Collection, filter any) Query {
	if filter == nil {
		filter = bson.D{}
	}
	return Query{c, bson.D{{"find", c.Name}, {"filter", filter}}}
}

func (q Query) with(option string, value any) Query {
	q.command = append(slices.Clip(q.command), bson.DocElem{Name: option, Value: value})
	return q
}

// Select limits the documents to fields, in the form of a projection.
func (q Query) Select(fields any) Query { return q.with("projection", fields) }

// Sort orders the documents by a field, or by its descending values if its name begins with "-".
func (q Query) Sort(field string) Query {
	order := 1
	if name, descending := strings.CutPrefix(field, "-"); descending {
		field, order = name, -1
	}
	return q.with("sort", bson.D{{field, order}})
}

// Limit limits the number of documents.
func (q Query) Limit(n int) Query { return q.with("limit", n) }

// Skip leaves out the first documents.
func (q Query) Skip(n int) Query { return q.with("skip", n) }

// Batch is how many documents the first reply may have, instead of MongoDB's 101.
func (q Query) Batch(n int) Query { return q.with("batchSize", n) }

// allAtOnce is the batch size of a query that is read in full: each reply is as large as MongoDB permits.
const allAtOnce = 1 << 30

// All reads the documents into docs, a pointer to a slice.
func (q Query) All(docs any) error {
	c := q.Batch(allAtOnce).Iter()
	slice := reflect.ValueOf(docs).Elem()
	all := slice.Slice(0, 0)
	for {
		doc := reflect.New(slice.Type().Elem())
		if !c.Next(doc.Interface()) {
			break
		}
		all = reflect.Append(all, doc.Elem())
	}
	slice.Set(all)
	return c.Close()
}

// Iter runs the query.
func (q Query) Iter() *Cursor { return Run(q.of.Database, q.command, 0) }

// Tail runs the query on a capped collection. After the last document the cursor waits for later ones.
func (q Query) Tail(wait time.Duration) *Cursor {
	return Run(q.of.Database, q.with("tailable", true).with("awaitData", true).command, wait)
}

// A Cursor returns the documents of a command, one by one.
type Cursor struct {
	db         *mgo.Database
	id         int64
	collection string
	wait       time.Duration
	open       bool // the server has it
	batch      []bson.Raw
	err        error
}

type reply struct {
	Cursor struct {
		ID    int64      `bson:"id"`
		NS    string     `bson:"ns"`
		First []bson.Raw `bson:"firstBatch"`
		Next  []bson.Raw `bson:"nextBatch"`
	} `bson:"cursor"`
}

// Run runs a command that returns a cursor. If wait isn't zero, it is a cursor that waits for documents, and Next
// returns after this time if there is none.
func Run(db *mgo.Database, command bson.D, wait time.Duration) *Cursor {
	var r reply
	c := &Cursor{db: db, wait: wait}
	if c.err = db.Run(command, &r); c.err == nil {
		_, c.collection, _ = strings.Cut(r.Cursor.NS, ".")
		c.id, c.batch, c.open = r.Cursor.ID, r.Cursor.First, r.Cursor.ID != 0
	}
	return c
}

// codeNotFound is MongoDB's code for a cursor that it doesn't have: it was killed, or the server is another one.
const codeNotFound = 43

// await is db.Run for a command whose reply may take long: it waits with a sync.Cond, which a test in a synctest bubble
// can follow, instead of a mutex. Tail sends the query as it is, and a query of $cmd is a command.
func await(db *mgo.Database, command bson.D, result any) error {
	iter := db.C("$cmd").Find(command).Limit(1).Tail(-1)
	if !iter.Next(result) {
		return cmp.Or(iter.Close(), mgo.ErrNotFound)
	}
	return iter.Close()
}

// more reads the next batch.
func (c *Cursor) more() {
	command := bson.D{{"getMore", c.id}, {"collection", c.collection}}
	if c.wait > 0 {
		command = append(command, bson.DocElem{Name: "maxTimeMS", Value: c.wait.Milliseconds()})
	}
	var r reply
	err := await(c.db, command, &r)
	var refusal *mgo.QueryError
	if errors.As(err, &refusal) && refusal.Code == codeNotFound {
		err = mgo.ErrCursor
	}
	c.batch, c.err, c.open = r.Cursor.Next, err, err == nil && r.Cursor.ID != 0
}

// Next reads the next document into doc. It returns false if there is none, or none yet; Open tells which.
func (c *Cursor) Next(doc any) bool {
	for len(c.batch) == 0 {
		if !c.open {
			return false
		}
		if c.more(); c.wait > 0 && len(c.batch) == 0 {
			return false
		}
	}
	next := c.batch[0]
	c.batch = c.batch[1:]
	if err := next.Unmarshal(doc); err != nil {
		c.err = errors.Join(err, c.Close())
		return false
	}
	return true
}

// Buffered returns how many of the next documents have been received already.
func (c *Cursor) Buffered() int { return len(c.batch) }

// Open reports whether more documents may come.
func (c *Cursor) Open() bool { return c.open || len(c.batch) > 0 }

// Err returns the error that ended the cursor.
func (c *Cursor) Err() error { return c.err }

// Close ends the cursor, and returns the error that has ended it before.
func (c *Cursor) Close() error {
	if c.open {
		c.open = false
		c.err = errors.Join(c.err, c.Kill(c.db))
	}
	c.batch = nil
	return c.err
}

// Kill ends the cursor on the server, and with it the wait of a concurrent Next. For that, db must be on a session of
// its own.
func (c *Cursor) Kill(db *mgo.Database) error {
	return db.Run(bson.D{{"killCursors", c.collection}, {"cursors", []int64{c.id}}}, nil)
}
