package update

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"sync"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/keys"
	"juju/state/mongo/embedded/mongoerr"
	"juju/state/mongo/embedded/raw"
)

// An Update is a compiled update document.
type Update struct {
	replacement []byte
	ops         []op
	few         [4]op // memory that is enough for most updates
	filters     []arrayFilter
}

// An op changes one path.
type op struct {
	path []string
	step [1]string // path, if it has a single step
	do   operator
	v    bsoncore.Value
	// insertOnly ops apply only if an upsert inserts the document.
	insertOnly bool
	dynamic    bool // the path contains a $
	filters    []arrayFilter
}

// An operator changes the value of path in the document.
type operator func(root *container, path []string, o *op, with *Context) error

// Context holds the inputs of an update besides the document.
type Context struct {
	// Position is the position at which the query matched in an array, or -1.
	Position int
	// Insert is set if the document is being inserted.
	Insert bool
}

// Compile compiles an update document: operators, or a replacement document. The array filters define the meaning of
// $[identifier] in a path.
func Compile(spec []byte, arrayFilters ...bsoncore.Document) (*Update, error) {
	it := raw.Elements(spec)
	first, ok := it.Next()
	if !ok || len(first.Key) == 0 || first.Key[0] != '$' {
		for e, ok := first, ok; ok; e, ok = it.Next() {
			if err := CheckTopKey(e.Key); err != nil {
				return nil, err
			}
		}
		if len(arrayFilters) > 0 {
			return nil, mongoerr.New(mongoerr.FailedToParse, "arrayFilters may not be specified for replacement-style updates")
		}
		return &Update{replacement: spec}, nil
	}
	u := &Update{}
	var err error
	if u.filters, err = compileArrayFilters(arrayFilters); err != nil {
		return nil, err
	}
	u.ops = u.few[:0]
	for e, ok := first, true; ok; e, ok = it.Next() {
		if err := u.modifier(string(e.Key), e.Value); err != nil {
			return nil, err
		}
	}
	for _, f := range u.filters {
		if !f.used {
			return nil, mongoerr.New(mongoerr.FailedToParse,
				"The array filter for identifier '%s' was not used in the update %s", f.name, bsoncore.Document(spec))
		}
	}
	return u, u.conflicts()
}

// CheckTopKey rejects a name that a stored document must not have at its top level.
func CheckTopKey(key []byte) error {
	if len(key) > 0 && key[0] == '$' {
		return mongoerr.New(mongoerr.DollarPrefixedFieldName,
			"The dollar ($) prefixed field '%s' in '%s' is not valid for storage.", key, key)
	}
	return nil
}

// Replaces reports whether the update is a replacement document.
func (u *Update) Replaces() bool { return u.ops == nil }

func (u *Update) modifier(name string, v bsoncore.Value) error {
	m, ok := modifiers[name]
	if !ok {
		return mongoerr.New(mongoerr.FailedToParse, "Unknown modifier: %s", name)
	}
	if v.Type != bson.TypeEmbeddedDocument {
		return mongoerr.New(mongoerr.FailedToParse, "Modifiers operate on fields but we found another type instead: {%s: %s}",
			name, v)
	}
	if raw.IsEmpty(v.Data) {
		return mongoerr.New(mongoerr.FailedToParse, "'%s' is empty. You must specify a field like so: {%s: {<field>: ...}}",
			name, name)
	}
	it := raw.Elements(v.Data)
	for e, ok := it.Next(); ok; e, ok = it.Next() {
		u.ops = append(u.ops, op{do: m.do, v: e.Value, insertOnly: name == "$setOnInsert", filters: u.filters})
		o := &u.ops[len(u.ops)-1]
		if err := o.setPath(string(e.Key)); err != nil {
			return err
		}
		if m.check != nil {
			if err := m.check(o); err != nil {
				return err
			}
		}
	}
	return nil
}

// maxSteps limits how deep an update can nest documents.
const maxSteps = 100

func (o *op) setPath(path string) error {
	if path == "" {
		return mongoerr.New(mongoerr.EmptyFieldName, "An empty update path is not valid.")
	}
	if strings.IndexByte(path, 0) >= 0 {
		return mongoerr.New(mongoerr.BadValue, "a field's name cannot contain a null byte")
	}
	if strings.IndexByte(path, '.') < 0 {
		o.step[0] = path
		o.path = o.step[:]
	} else {
		o.path = strings.Split(path, ".")
	}
	if len(o.path) > maxSteps {
		return mongoerr.New(mongoerr.Overflow, "an update path of %d steps is too long", len(o.path))
	}
	for i, step := range o.path {
		switch {
		case step == "":
			return mongoerr.New(mongoerr.EmptyFieldName, "The update path '%s' contains an empty field name, which is not allowed.", path)
		case step == "$" || step == "$[]":
			if i == 0 {
				return mongoerr.New(mongoerr.BadValue, "Cannot have positional (i.e. '$') element in the first position in path '%s'", path)
			}
			o.dynamic = true
		case strings.HasPrefix(step, "$["):
			f := o.filter(step)
			if f == nil {
				return mongoerr.New(mongoerr.BadValue, "No array filter found for identifier '%s' in path '%s'",
					strings.TrimSuffix(step[2:], "]"), path)
			}
			if i == 0 {
				return mongoerr.New(mongoerr.BadValue, "Cannot have array filter identifier (i.e. '$[<id>]') element in the first position in path '%s'", path)
			}
			f.used, o.dynamic = true, true
		case i == 0:
			if err := CheckTopKey([]byte(step)); err != nil {
				return err
			}
		}
	}
	return nil
}

// conflicts rejects two changes of one field, or of a field and a field inside it.
func (u *Update) conflicts() error {
	if len(u.ops) <= 8 {
		for i := range u.ops {
			for j := range u.ops[:i] {
				if a, b := u.ops[i].path, u.ops[j].path; overlap(a, b) {
					return conflict(strings.Join(a, "."), strings.Join(a[:min(len(a), len(b))], "."))
				}
			}
		}
		return nil
	}
	whole, within := map[string]bool{}, map[string]bool{}
	for i := range u.ops {
		path := strings.Join(u.ops[i].path, ".")
		clash := ""
		if whole[path] || within[path] {
			clash = path
		}
		for j := 0; j < len(path); j++ {
			if path[j] != '.' {
				continue
			}
			if whole[path[:j]] {
				clash = path[:j]
			}
			within[path[:j]] = true
		}
		if clash != "" {
			return conflict(path, clash)
		}
		whole[path] = true
	}
	return nil
}

// overlap reports whether the paths are equal or one is a prefix of the other.
func overlap(a, b []string) bool {
	n := min(len(a), len(b))
	return slices.Equal(a[:n], b[:n])
}

func conflict(path, at string) error {
	return mongoerr.New(mongoerr.ConflictingUpdateOperators,
		"Updating the path '%s' would create a conflict at '%s'", path, at)
}

var roots = sync.Pool{New: func() any { return new(container) }}

// Apply appends the updated doc to dst, which must not overlap doc. The result keeps doc's _id; a document without an
// _id may get one from the update.
func (u *Update) Apply(dst, doc []byte, with Context) ([]byte, error) {
	if u.Replaces() {
		return u.replace(dst, doc)
	}
	root := roots.Get().(*container)
	defer func() {
		clear(root.elems)
		roots.Put(root)
	}()
	root.open(doc, false)
	for i := range u.ops {
		o := &u.ops[i]
		if o.insertOnly && !with.Insert {
			continue
		}
		if err := o.apply(root, &with); err != nil {
			return nil, err
		}
	}
	start := len(dst)
	dst = root.append(dst)
	return dst, checkID(doc, dst[start:])
}

// apply resolves the $ and $[] in the path and calls the operator.
func (o *op) apply(root *container, with *Context) error {
	if !o.dynamic {
		return o.do(root, o.path, o, with)
	}
	return o.each(root, o.path, 0, with)
}

func (o *op) each(root *container, path []string, from int, with *Context) error {
	for i := from; i < len(path); i++ {
		filter := o.filter(path[i])
		if path[i] != "$" && path[i] != "$[]" && filter == nil {
			continue
		}
		switch path[i] {
		case "$":
			if with.Position < 0 {
				return mongoerr.New(mongoerr.BadValue, "The positional operator did not find the match needed from the query.")
			}
			path = append([]string(nil), path...)
			path[i] = strconv.Itoa(with.Position)
		default:
			_, e := root.lookup(path[:i])
			if e == nil || e.within() == nil || !e.within().array {
				return mongoerr.New(mongoerr.BadValue, "The path '%s' must exist in the document in order to apply array updates.",
					strings.Join(path[:i], "."))
			}
			for j := range e.within().elems {
				if filter != nil && !filter.match(&e.within().elems[j]) {
					continue
				}
				one := append([]string(nil), path...)
				one[i] = strconv.Itoa(j)
				if err := o.each(root, one, i+1, with); err != nil {
					return err
				}
			}
			return nil
		}
	}
	return o.do(root, path, o, with)
}

func checkID(old, new []byte) error {
	was, had := raw.Get(old, "_id")
	is, has := raw.Get(new, "_id")
	if had && (!has || !keys.Equal(was, is)) {
		return mongoerr.New(mongoerr.ImmutableField, "Performing an update on the path '_id' would modify the immutable field '_id'")
	}
	return nil
}

// replace puts the old document's _id in front of the new one.
func (u *Update) replace(dst, doc []byte) ([]byte, error) {
	id, had := raw.Get(doc, "_id")
	is, has := raw.Get(u.replacement, "_id")
	if had && has && !keys.Equal(id, is) {
		return nil, mongoerr.New(mongoerr.ImmutableField,
			"The _id field cannot be changed from {_id: %s} to {_id: %s}.", id, is)
	}
	if !had {
		id, had = is, has
	}
	start, dst := bsoncore.ReserveLength(dst)
	if had {
		dst = raw.AppendElem(dst, []byte("_id"), id)
	}
	it := raw.Elements(u.replacement)
	for e, ok := it.Next(); ok; e, ok = it.Next() {
		if !bytes.Equal(e.Key, []byte("_id")) {
			dst = raw.AppendElem(dst, e.Key, e.Value)
		}
	}
	return bsoncore.AppendDocumentEnd(dst, start)
}

// Seed returns the initial document of an upsert: the fields fixed by the query.
func Seed(values []SeedValue) ([]byte, error) {
	root := &container{}
	for _, s := range values {
		if n := strings.Count(s.Path, ".") + 1; n > maxSteps {
			return nil, mongoerr.New(mongoerr.Overflow, "a query path of %d steps is too long for an upsert", n)
		}
		e, made, err := root.reach(strings.Split(s.Path, "."))
		if err != nil {
			return nil, err
		}
		if !made {
			return nil, mongoerr.New(mongoerr.BadValue, "cannot infer query fields to set, path '%s' is matched twice", s.Path)
		}
		e.set(s.Value)
	}
	return root.append(nil), nil
}

// A SeedValue is a field of the initial document of an upsert.
type SeedValue struct {
	Path  string
	Value bsoncore.Value
}
