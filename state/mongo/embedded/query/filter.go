package query

import (
	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/mongoerr"
	"juju/state/mongo/embedded/raw"
)

// A Filter is a compiled query. It is for one goroutine at a time.
type Filter struct {
	root       all
	predicates []Predicate
	branches   [][]Predicate
	position   int

	// Inline storage that suffices for most queries, to save allocations.
	nodes [3]node
	few   [3]Predicate
}

// A node is part of a compiled query.
type node interface {
	match(doc []byte) bool
}

type all []node

func (n all) match(doc []byte) bool {
	for _, part := range n {
		if !part.match(doc) {
			return false
		}
	}
	return true
}

type anyOf []all

func (n anyOf) match(doc []byte) bool {
	for _, part := range n {
		if part.match(doc) {
			return true
		}
	}
	return false
}

type noneOf struct{ node }

func (n noneOf) match(doc []byte) bool { return !n.node.match(doc) }

// A leaf applies a test to the values of a path.
type leaf struct {
	path []string
	test test
	at   *int
	// A whole test is applied to an array itself instead of its elements.
	whole bool

	step  [1]string // path, if it has a single step
	equal equal     // test, if it is an equality
}

// A test examines one value; exists is false for a missing one.
type test interface {
	holds(v bsoncore.Value, exists bool) bool
}

func (n *leaf) match(doc []byte) bool { return walk(doc, n.path, n, n.at) }

func (n *leaf) visit(v bsoncore.Value, exists bool) bool {
	if v.Type == bson.TypeArray && exists && !n.whole {
		it := raw.Elements(v.Data)
		for i := 0; ; i++ {
			e, ok := it.Next()
			if !ok {
				break
			}
			if n.test.holds(e.Value, true) {
				*n.at = i
				return true
			}
		}
	}
	return n.test.holds(v, exists)
}

// Compile compiles a query document. Unknown operators are rejected with BadValue.
func Compile(query []byte) (*Filter, error) {
	f := &Filter{position: -1}
	f.root, f.predicates = f.nodes[:0], f.few[:0]
	if err := f.document(&f.root, query, true); err != nil {
		return nil, err
	}
	return f, nil
}

// Match reports whether doc matches the query.
func (f *Filter) Match(doc []byte) bool {
	f.position = -1
	return f.root.match(doc)
}

// Position returns the array position at which the last Match found its value, or -1. $ in an update's path
// refers to it.
func (f *Filter) Position() int { return f.position }

// Predicates returns conditions on single fields that every match satisfies.
func (f *Filter) Predicates() []Predicate { return f.predicates }

// Branches returns the alternatives of an $or at the top level of the query: every match satisfies Predicates and all
// of one branch.
func (f *Filter) Branches() [][]Predicate { return f.branches }

// document adds the conditions of a query document to n. top is set if every condition must hold
// for the whole query to match.
func (f *Filter) document(n *all, query []byte, top bool) error {
	it := raw.Elements(query)
	for {
		e, ok := it.Next()
		if !ok {
			return nil
		}
		var err error
		if len(e.Key) > 0 && e.Key[0] == '$' {
			err = f.logical(n, string(e.Key), e.Value, top)
		} else {
			err = f.field(n, string(e.Key), e.Value, top)
		}
		if err != nil {
			return err
		}
	}
}

func (f *Filter) logical(n *all, op string, v bsoncore.Value, top bool) error {
	switch op {
	case "$comment":
		return nil
	case "$and", "$or", "$nor":
	default:
		return mongoerr.New(mongoerr.BadValue, "unknown top level operator: %s", op)
	}
	if v.Type != bson.TypeArray {
		return mongoerr.New(mongoerr.BadValue, "%s must be an array", op)
	}
	if raw.IsEmpty(v.Data) {
		return mongoerr.New(mongoerr.BadValue, "$and/$or/$nor must be a nonempty array")
	}
	flat := op == "$and" || op == "$or" && raw.Len(v.Data) == 1
	var parts anyOf
	var branches [][]Predicate
	it := raw.Elements(v.Data)
	for {
		e, ok := it.Next()
		if !ok {
			break
		}
		if e.Value.Type != bson.TypeEmbeddedDocument {
			return mongoerr.New(mongoerr.BadValue, "$or/$and/$nor entries need to be full objects")
		}
		if flat {
			if err := f.document(n, e.Value.Data, top); err != nil {
				return err
			}
			continue
		}
		// A branch has its own filter, because its predicates don't hold for the others.
		sub := Filter{}
		var part all
		if err := sub.document(&part, e.Value.Data, op == "$or" && top); err != nil {
			return err
		}
		rebind(part, &f.position)
		parts, branches = append(parts, part), append(branches, sub.predicates)
	}
	switch {
	case flat:
	case op == "$or":
		*n = append(*n, parts)
		if top && f.branches == nil {
			f.branches = branches
		}
	default:
		*n = append(*n, noneOf{parts})
	}
	return nil
}

// rebind makes the leaves below n report positions to at.
func rebind(n node, at *int) {
	switch n := n.(type) {
	case all:
		for _, part := range n {
			rebind(part, at)
		}
	case anyOf:
		for _, part := range n {
			rebind(part, at)
		}
	case noneOf:
		rebind(n.node, at)
	case *leaf:
		n.at = at
		if t, ok := n.test.(*elemMatch); ok {
			t.at = at
		}
	}
}
