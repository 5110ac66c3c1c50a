package conformancetest

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"

	"juju/doc/tools/verify"
)

// Dial opens a session with the store under test; the suite closes it. On failure it calls
// t.Fatal.
type Dial func(t testing.TB) *mgo.Session

// Run runs every test of the suite, each as a subtest, on the store that dial connects to.
// With -short the loads are halved; no test is skipped.
func Run(t *testing.T, dial Dial) {
	for _, subject := range []struct {
		name string
		run  func(*testing.T, *store)
	}{
		{"Find", testFind},
		{"FindWithIndex", testFindWithIndex},
		{"FindRefusals", testFindRefusals},
		{"SortSkipLimit", testSortSkipLimit},
		{"Projection", testProjection},
		{"CountDistinct", testCountDistinct},
		{"Update", testUpdate},
		{"UpdateRefusals", testUpdateRefusals},
		{"UpdateResults", testUpdateResults},
		{"Remove", testRemove},
		{"Upsert", testUpsert},
		{"FindAndModify", testFindAndModify},
		{"Types", testTypes},
		{"TypeOrder", testTypeOrder},
		{"NumbersAreOneKey", testNumbersAreOneKey},
		{"DocumentsAsKeys", testDocumentsAsKeys},
		{"StrangeFieldNames", testStrangeFieldNames},
		{"Indexes", testIndexes},
		{"UniqueIndexes", testUniqueIndexes},
		{"Atomicity", testAtomicity},
		{"Capped", testCapped},
		{"Tail", testTail},
		{"Cursors", testCursors},
		{"Bulk", testBulk},
		{"Limits", testLimits},
		{"Commands", testCommands},
		{"GridFS", testGridFS},
		{"Aggregate", testAggregate},
		{"Transactions", testTransactions},
	} {
		t.Run(subject.name, func(t *testing.T) { subject.run(t, open(t, dial)) })
	}
}

// store is what a test works with: a session, and its own database.
type store struct {
	t       *testing.T
	dial    Dial
	session *mgo.Session
	db      *mgo.Database
}

var opened atomic.Int64

func open(t *testing.T, dial Dial) *store {
	t.Helper()
	s := &store{t: t, dial: dial, session: dial(t)}
	s.session.SetMode(mgo.Strong, true)
	s.session.SetSafe(&mgo.Safe{})
	s.session.SetSocketTimeout(verify.Patience)
	s.db = s.session.DB(fmt.Sprintf("conformance-%d-%d", time.Now().UnixNano(), opened.Add(1)))
	t.Cleanup(func() {
		s.session.Refresh()
		if err := s.db.DropDatabase(); err != nil {
			t.Errorf("cannot drop the test's database: %v", err)
		}
		s.session.Close()
	})
	return s
}

// again returns the same database through its own connection, closed when the test ends.
func (s *store) again(t *testing.T) *store {
	t.Helper()
	session := s.dial(t)
	session.SetMode(mgo.Strong, true)
	session.SetSafe(&mgo.Safe{})
	session.SetSocketTimeout(verify.Patience)
	t.Cleanup(session.Close)
	return &store{t: t, dial: s.dial, session: session, db: session.DB(s.db.Name)}
}

// fresh returns an empty collection for a subtest.
func (s *store) fresh(t *testing.T) *mgo.Collection {
	t.Helper()
	c := s.db.C(fmt.Sprintf("c%d", opened.Add(1)))
	t.Cleanup(func() {
		if err := c.DropCollection(); err != nil && code(err) != codeNamespaceNotFound && err.Error() != "ns not found" {
			t.Errorf("cannot drop %s: %v", c.Name, err)
		}
	})
	return c
}

// Codes of MongoDB's errors, from its error_codes.yml (error_codes.err in 3.6).
const (
	codeBadValue           = 2
	codeFailedToParse      = 9
	codeTypeMismatch       = 14
	codeNamespaceNotFound  = 26
	codeIndexNotFound      = 27
	codePathNotViable      = 28
	codeConflictingUpdate  = 40
	codeCursorNotFound     = 43
	codeNamespaceExists    = 48
	codeDollarPrefixed     = 52
	codeInvalidIDField     = 53
	codeNotSingleField     = 55
	codeCommandNotFound    = 59
	codeImmutableField     = 66
	codeIndexOptions       = 85
	codeIndexKeySpecs      = 86
	codeCappedPositionLost = 136
	codeCursorKilled       = 237
	codeInterrupted        = 11601
	codeDuplicateKey       = 11000
)

// code returns MongoDB's error code in an mgo error, or 0.
func code(err error) int {
	var last *mgo.LastError
	var query *mgo.QueryError
	var bulk *mgo.BulkError
	switch {
	case errors.As(err, &last):
		return last.Code
	case errors.As(err, &query):
		return query.Code
	case errors.As(err, &bulk):
		for _, failed := range bulk.Cases() {
			return code(failed.Err)
		}
	}
	return 0
}

// wantCode fails the test unless err carries one of the codes.
func wantCode(t testing.TB, err error, codes ...int) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want code %v", codes)
		return
	}
	for _, c := range codes {
		if code(err) == c {
			return
		}
	}
	t.Errorf("error %q (%T) has code %d, want %v", err, err, code(err), codes)
}

// must ends the test on an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// load returns n, or half of it with -short.
func load(n int) int {
	if testing.Short() {
		return n / 2
	}
	return n
}

// D is a document with ordered fields, like bson.D, and A is a list of values. They are
// local types so that test tables may leave out the field names of elements, which go vet
// allows only for local types.
type (
	D []E
	E struct {
		Name  string
		Value any
	}
	A = []any
)

// GetBSON converts it to a bson.D for mgo.
func (d D) GetBSON() (any, error) {
	out := make(bson.D, len(d))
	for i, e := range d {
		out[i] = bson.DocElem(e)
	}
	return out, nil
}

// SetBSON reads a document back.
func (d *D) SetBSON(r bson.Raw) error {
	var in bson.D
	if err := r.Unmarshal(&in); err != nil {
		return err
	}
	*d = make(D, len(in))
	for i, e := range in {
		(*d)[i] = E(e)
	}
	return nil
}

// raw returns the BSON of a document.
func raw(t testing.TB, v any) bson.Raw {
	t.Helper()
	b, err := bson.Marshal(v)
	must(t, err)
	return bson.Raw{Kind: 3, Data: b}
}

// show renders BSON as Go values, for messages.
func show(r bson.Raw) string {
	var d bson.D
	if err := bson.Unmarshal(r.Data, &d); err != nil {
		return fmt.Sprintf("%x (%v)", r.Data, err)
	}
	return fmt.Sprintf("%v", d)
}

// only returns the document of c with the given _id, as its bytes.
func only(t testing.TB, c *mgo.Collection, id any) bson.Raw {
	t.Helper()
	var r bson.Raw
	if err := c.FindId(id).One(&r); err != nil {
		t.Fatalf("cannot find %v: %v", id, err)
	}
	return r
}

// wantDoc fails the test unless the document with want's _id equals want byte for byte:
// the fields, their order and their types.
func wantDoc(t testing.TB, c *mgo.Collection, want any) {
	t.Helper()
	w := raw(t, want)
	var id struct {
		ID bson.Raw `bson:"_id"`
	}
	must(t, w.Unmarshal(&id))
	if got := only(t, c, id.ID); string(got.Data) != string(w.Data) {
		t.Errorf("stored %s\nwant   %s", show(got), show(w))
	}
}

// ids runs a query and returns the _ids it finds, in order.
func ids(t testing.TB, q *mgo.Query) []int {
	t.Helper()
	var docs []struct {
		ID int `bson:"_id"`
	}
	if err := q.All(&docs); err != nil {
		t.Fatal(err)
	}
	var found []int
	for _, d := range docs {
		found = append(found, d.ID)
	}
	return found
}
