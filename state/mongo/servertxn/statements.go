package servertxn

import (
	"cmp"
	"fmt"
	"math"
	mathrand "math/rand/v2"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"
	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/mongo/embedded/raw"
	"juju/state/mongo/mgotxn"
)

// The operations of a transaction become statements, most often one for each document, and these become as few commands
// as possible, since each command is a round trip to the server.

const (
	// revnoF counts the changes of a document, as in mgo/txn. A document begins with a random number, so that a
	// later document with the same id has others.
	revnoF = mgotxn.RevnoField
	// AssertedField counts the transactions that asserted something about a document and did not change it.
	AssertedField = "txn-asserted"
	// maxRevno limits the first number to what every client represents exactly.
	maxRevno = 1 << 52
)

// A kind is the kind of a statement. A transaction has its statements in this order: those that can fail because of an
// assert come before the inserts, which would otherwise be wasted.
type kind int

const (
	update kind = iota
	remove
	insert
)

// commands are the names of the kinds' commands, and of their lists of statements.
var commands = map[kind][2]string{update: {"update", "updates"}, remove: {"delete", "deletes"}, insert: {"insert", "documents"}}

// A statement checks a transaction's asserts about one document, and changes the document.
type statement struct {
	kind       kind
	collection string
	doc        bson.Raw // of the command's list
	required   bool     // it must find its document
	nth        int      // its place among the statements of its document, or last
}

// last is the place of a document's only statement, if that inserts it.
const last = math.MaxInt

// docOps collects a transaction's operations on one document.
type docOps struct {
	collection string
	id         any
	asserts    []any
	missing    bool // it must not exist before
	exists     bool // it must exist before
	now        presence
	changes    []txn.Op
}

// presence says whether a document exists after the operations so far.
type presence int

const (
	asBefore presence = iota
	present
	absent
)

// assert adds an assert. As in mgo/txn, that a document doesn't exist is asserted of what the operations before it
// leave, and everything else of what there was before the transaction. It reports whether the assert can hold.
func (d *docOps) assert(assert any) bool {
	switch assert {
	case nil:
	case txn.DocMissing:
		if d.now == present {
			return false
		}
		d.missing = d.missing || d.now == asBefore
	case txn.DocExists:
		d.exists = true
	default:
		d.asserts, d.exists = append(d.asserts, assert), true
	}
	return !(d.missing && d.exists)
}

// statementsOf returns the statements for ops, or txn.ErrAborted if their asserts contradict each other.
func statementsOf(ops []txn.Op) ([]statement, error) {
	var docs []*docOps
	byKey := map[string]*docOps{}
	for _, op := range ops {
		key := fmt.Sprintf("%s\x00%T\x00%v", op.C, op.Id, op.Id)
		d := byKey[key]
		if d == nil {
			d = &docOps{collection: op.C, id: op.Id}
			byKey[key] = d
			docs = append(docs, d)
		}
		if op.Insert != nil && op.Assert != nil && op.Assert != txn.DocMissing {
			return nil, fmt.Errorf("cannot insert %s %v: an insert can only assert txn.DocMissing", op.C, op.Id)
		}
		if !d.assert(op.Assert) {
			return nil, txn.ErrAborted
		}
		switch {
		case op.Insert != nil:
			d.now = present
		case op.Remove:
			d.now = absent
		case op.Update == nil:
			continue
		}
		d.changes = append(d.changes, op)
	}
	var all []statement
	for _, d := range docs {
		list, err := d.statements()
		if err != nil {
			return nil, fmt.Errorf("cannot change %s %v: %w", d.collection, d.id, err)
		}
		all = append(all, list...)
	}
	slices.SortStableFunc(all, inOrder)
	return all, nil
}

// inOrder compares statements so that those which fit in one command follow one another. Only the statements of the same
// document depend on their order, and with a unique index, inserts on removals: a document that is only inserted comes
// after all others. (Of a collection with a unique index, one transaction can't assert of several documents that they are
// missing.)
func inOrder(a, b statement) int {
	c := cmp.Or(cmp.Compare(a.nth, b.nth), cmp.Compare(a.kind, b.kind), strings.Compare(a.collection, b.collection))
	switch {
	case c != 0 || a.required == b.required:
		return c
	case a.required:
		return -1
	}
	return 1
}

// statements returns the statements for one document. ("!" is one that must find its document; fields are asserted of what was
// there before the transaction.)
//
//	asserted    changes          statements                            because
//	nothing     update           update                                like mgo/txn, it may find nothing
//	nothing     remove           delete
//	nothing     insert           update with $setOnInsert, upsert      like mgo/txn, it leaves a document that is there
//	exists      none             update! of AssertedField              a read alone would not conflict with others
//	exists      update           update!
//	exists      remove           delete!
//	exists      insert           update! of AssertedField, upsert      by operations before the insert, which can't assert it
//	missing     none             insert!, delete!                      it conflicts with whoever else inserts it
//	missing     update, remove   insert!, delete!, the change          which finds nothing
//	missing     insert           insert!                               last, if it is the only change: see inOrder
//
// The first change has the asserts in its query. Further changes find what the ones before have left, and may find nothing.
func (d *docOps) statements() (list []statement, err error) {
	add := func(kind kind, required bool, doc any) {
		var data []byte
		if data, err = bson.Marshal(doc); err == nil {
			list = append(list, statement{kind, d.collection, bson.Raw{Kind: 3, Data: data}, required, len(list)})
		}
	}
	query := bson.D{{"_id", d.id}}
	required := d.exists
	if len(d.asserts) > 0 {
		query = append(query, bson.DocElem{"$and", d.asserts})
	}
	if d.exists && (len(d.changes) == 0 || d.changes[0].Insert != nil) {
		add(update, true, bson.D{{"q", query}, {"u", bson.D{{"$inc", bson.D{{AssertedField, int64(1)}}}}}})
	}
	if d.missing && (len(d.changes) == 0 || d.changes[0].Insert == nil) {
		add(insert, true, bson.D{{"_id", d.id}}) // conflicts with whoever else inserts it
		add(remove, true, bson.D{{"q", bson.D{{"_id", d.id}}}, {"limit", 1}})
	}
	for i, op := range d.changes {
		if err != nil {
			return nil, err
		}
		if i > 0 {
			query, required = bson.D{{"_id", d.id}}, false
		}
		switch {
		case op.Remove:
			add(remove, required, bson.D{{"q", query}, {"limit", 1}})
		case op.Insert != nil:
			first := bson.D{{"_id", d.id}}
			anew := d.missing && i == 0
			if !anew {
				first = nil // it is in the query
			}
			doc, derr := inserted(first, op.Insert)
			if derr != nil {
				return nil, derr
			}
			if anew {
				if add(insert, true, doc); len(d.changes) == 1 && err == nil {
					list[0].nth = last
				}
			} else {
				add(update, false, bson.D{{"q", query}, {"u", bson.D{{"$setOnInsert", doc}}}, {"upsert", true}})
			}
		default:
			change, cerr := counted(op.Update)
			if cerr != nil {
				return nil, cerr
			}
			add(update, required, bson.D{{"q", query}, {"u", change}})
		}
	}
	return list, err
}

// inserted returns a document to insert: the first fields, those of whole without its id, and a revision number.
func inserted(first bson.D, whole any) (bson.Raw, error) {
	doc, err := bson.Marshal(first)
	if err != nil {
		return bson.Raw{}, err
	}
	data, err := bson.Marshal(whole)
	if err != nil {
		return bson.Raw{}, err
	}
	doc = slices.Grow(doc[:len(doc)-1], len(data)+len(revnoF)+10)
	it := raw.Elements(data)
	for e, ok := it.Next(); ok; e, ok = it.Next() {
		if string(e.Key) != "_id" {
			doc = raw.AppendElem(doc, e.Key, e.Value)
		}
	}
	doc = bsoncore.AppendInt64Element(doc, revnoF, 1+mathrand.Int64N(maxRevno))
	doc, err = bsoncore.AppendDocumentEnd(doc, 0)
	return bson.Raw{Kind: 3, Data: doc}, err
}

// counted adds the increment of the revision number to an update.
func counted(change any) (bson.D, error) {
	doc, err := AsDoc(change)
	if err != nil {
		return nil, err
	}
	doc = slices.Clone(doc)
	for i, e := range doc {
		if !strings.HasPrefix(e.Name, "$") {
			return nil, fmt.Errorf("the update has the field %s instead of an operator", e.Name)
		}
		if e.Name == "$inc" {
			inc, err := AsDoc(e.Value)
			if err != nil {
				return nil, err
			}
			doc[i].Value = append(slices.Clone(inc), bson.DocElem{revnoF, int64(1)})
			return doc, nil
		}
	}
	return append(doc, bson.DocElem{"$inc", bson.D{{revnoF, int64(1)}}}), nil
}

// A serverCommand is a command of a transaction, with the number of documents that it must find: if it finds fewer, an
// assert doesn't hold.
type serverCommand struct {
	doc      bson.D
	required int
}

// The limits of the statements of one command.
const (
	MaxStatements     = 1000
	MaxStatementBytes = 8 << 20
)

// commandsOf combines statements that follow one another, on the same collection and of the same kind.
func commandsOf(statements []statement) (list []serverCommand) {
	for len(statements) > 0 {
		first := statements[0]
		var docs []bson.Raw
		bytes, required := 0, 0
		for _, s := range statements {
			if s.kind != first.kind || s.collection != first.collection || s.required != first.required ||
				len(docs) == MaxStatements || bytes > 0 && bytes+len(s.doc.Data) > MaxStatementBytes {
				break
			}
			docs = append(docs, s.doc)
			bytes += len(s.doc.Data)
			if s.required {
				required++
			}
		}
		names := commands[first.kind]
		list = append(list, serverCommand{bson.D{{names[0], first.collection}, {names[1], docs}}, required})
		statements = statements[len(docs):]
	}
	return list
}

// AsDoc converts a document of any type to a bson.D.
func AsDoc(v any) (d bson.D, err error) {
	if d, ok := v.(bson.D); ok {
		return d, nil
	}
	data, err := bson.Marshal(v)
	if err != nil {
		return nil, err
	}
	return d, bson.Unmarshal(data, &d)
}
