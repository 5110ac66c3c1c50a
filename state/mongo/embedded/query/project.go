package query

import (
	"strings"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/bson/bsontype"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/mongoerr"
	"juju/state/mongo/embedded/raw"
)

// A Projection selects the parts of a document that are returned.
type Projection struct {
	root       part
	including  bool
	hideID     bool
	positional bool
}

// A part is a field that a projection names, or a parent of such fields.
type part struct {
	name  string
	parts []part
	// At the end of a path, the field is included, excluded, or transformed.
	leaf       bool
	slice      *slice
	elem       *elemMatch
	positional bool
}

type slice struct {
	skip, limit int64
	skips       bool
}

// CompileProjection compiles a projection; an empty one is nil, which includes everything.
func CompileProjection(spec []byte) (*Projection, error) {
	if raw.IsEmpty(spec) {
		return nil, nil
	}
	p := &Projection{}
	p.root.parts = make([]part, 0, raw.Len(spec))
	var included, excluded, onlyID bool
	it := raw.Elements(spec)
	for {
		e, ok := it.Next()
		if !ok {
			break
		}
		path := string(e.Key)
		if path == "" {
			return nil, mongoerr.New(mongoerr.BadValue, "a projection contains an empty field name")
		}
		if e.Value.Type == bson.TypeEmbeddedDocument {
			inclusive, err := p.operator(path, e.Value.Data)
			if err != nil {
				return nil, err
			}
			included = included || inclusive
			continue
		}
		show := raw.Truthy(e.Value)
		if path == "_id" { // the only field that may be excluded beside included ones
			p.hideID, onlyID = !show, show
			continue
		}
		if n := len(path) - 2; n > 0 && path[n:] == ".$" {
			if !show || p.positional {
				return nil, mongoerr.New(mongoerr.BadValue, "Cannot exclude array elements with the positional operator, or use it twice.")
			}
			p.positional = true
			if err := p.put(path[:n], part{leaf: true, positional: true}); err != nil {
				return nil, err
			}
			included = true
			continue
		}
		if err := p.put(path, part{leaf: true}); err != nil {
			return nil, err
		}
		included, excluded = included || show, excluded || !show
	}
	if included && excluded {
		return nil, mongoerr.New(mongoerr.BadValue, "Projection cannot have a mix of inclusion and exclusion.")
	}
	// {_id: 1} alone includes nothing else, but beside a $slice it is as if it were not there: a $slice shows all fields.
	p.including = included || onlyID && !excluded && !p.treats()
	return p, nil
}

// treats reports whether the projection slices arrays.
func (p *Projection) treats() bool { return len(p.root.parts) > 0 }

func (p *Projection) operator(path string, spec []byte) (inclusive bool, err error) {
	it := raw.Elements(spec)
	e, _ := it.Next()
	if _, more := it.Next(); more {
		return false, mongoerr.New(mongoerr.BadValue, ">1 field in obj: a projection's document has one operator")
	}
	switch string(e.Key) {
	case "$slice":
		s, err := newSlice(e.Value)
		if err != nil {
			return false, err
		}
		return false, p.put(path, part{leaf: true, slice: s})
	case "$elemMatch":
		t, err := newElemMatch(e.Value)
		if err != nil {
			return false, err
		}
		return true, p.put(path, part{leaf: true, elem: t})
	}
	return false, mongoerr.New(mongoerr.BadValue, "Unsupported projection option: %s: %s", path, e.Key)
}

func newSlice(v bsoncore.Value) (*slice, error) {
	wrong := mongoerr.New(mongoerr.BadValue, "$slice only supports numbers and [skip, limit] arrays")
	if f, ok := raw.Number(v); ok {
		return &slice{limit: int64(f)}, nil
	}
	if v.Type != bson.TypeArray || raw.Len(v.Data) != 2 {
		return nil, wrong
	}
	it := raw.Elements(v.Data)
	first, _ := it.Next()
	second, _ := it.Next()
	skip, ok := raw.Number(first.Value)
	limit, ok2 := raw.Number(second.Value)
	if !ok || !ok2 {
		return nil, wrong
	}
	if limit <= 0 {
		return nil, mongoerr.New(mongoerr.BadValue, "$slice limit must be positive")
	}
	return &slice{int64(skip), int64(limit), true}, nil
}

func (p *Projection) put(path string, leaf part) error {
	at := &p.root
	rest := path
	for last := false; !last; {
		var step string
		step, rest, last = strings.Cut(rest, ".")
		last = !last
		if step == "" || step[0] == '$' {
			return mongoerr.New(mongoerr.BadValue, "bad path %q in a projection", path)
		}
		next := at.find([]byte(step))
		switch {
		case next == nil:
			at.parts = append(at.parts, part{name: step})
			next = &at.parts[len(at.parts)-1]
		case next.leaf || last: // a path ends where another one goes on, and it is unclear what of the field is shown
			return mongoerr.New(mongoerr.BadValue, "Path collision at %s", path)
		}
		at = next
	}
	leaf.name = at.name
	*at = leaf
	return nil
}

func (p *part) find(name []byte) *part {
	for i := range p.parts {
		if p.parts[i].name == string(name) {
			return &p.parts[i]
		}
	}
	return nil
}

// Append appends the selected parts of doc to dst. position is Filter.Position of the match. A
// nil p selects everything.
func (p *Projection) Append(dst, doc []byte, position int) ([]byte, error) {
	if p == nil {
		return append(dst, doc...), nil
	}
	if p.positional && position < 0 {
		return nil, mongoerr.New(mongoerr.BadValue, "Executor error during find command: the positional operator did not find the match needed from the query")
	}
	return p.document(dst, &p.root, doc, position, true), nil
}

func (p *Projection) document(dst []byte, at *part, doc []byte, position int, top bool) []byte {
	start, dst := bsoncore.ReserveLength(dst)
	it := raw.Elements(doc)
	for {
		e, ok := it.Next()
		if !ok {
			break
		}
		if top && string(e.Key) == "_id" && at.find(e.Key) == nil {
			if !p.hideID {
				dst = raw.AppendElem(dst, e.Key, e.Value)
			}
			continue
		}
		next := at.find(e.Key)
		switch {
		case next == nil:
			if !p.including {
				dst = raw.AppendElem(dst, e.Key, e.Value)
			}
		case !next.leaf:
			dst = p.inner(dst, e.Key, next, e.Value, position)
		case next.slice == nil && next.elem == nil && !next.positional:
			if p.including {
				dst = raw.AppendElem(dst, e.Key, e.Value)
			}
		default:
			dst = next.treated(dst, e, position)
		}
	}
	dst, _ = bsoncore.AppendDocumentEnd(dst, start)
	return dst
}

// inner appends the selected parts of a field.
func (p *Projection) inner(dst, key []byte, at *part, v bsoncore.Value, position int) []byte {
	switch v.Type {
	case bson.TypeEmbeddedDocument:
		dst = appendHead(dst, v.Type, key)
		return p.document(dst, at, v.Data, position, false)
	case bson.TypeArray:
		dst = appendHead(dst, v.Type, key)
		start, dst := bsoncore.ReserveLength(dst)
		n := 0
		it := raw.Elements(v.Data)
		for e, ok := it.Next(); ok; e, ok = it.Next() {
			switch {
			case e.Value.Type == bson.TypeEmbeddedDocument || e.Value.Type == bson.TypeArray:
				dst = p.inner(dst, arrayKey(n), at, e.Value, position)
			case p.including:
				continue // it has no fields, so it has none of those included
			default:
				dst = raw.AppendElem(dst, arrayKey(n), e.Value)
			}
			n++
		}
		dst, _ = bsoncore.AppendArrayEnd(dst, start)
		return dst
	}
	if p.including {
		return dst
	}
	return raw.AppendElem(dst, key, v)
}

// treated appends a part of an array: a slice, or the matched element.
func (p *part) treated(dst []byte, e raw.Elem, position int) []byte {
	if e.Value.Type != bson.TypeArray {
		if p.elem != nil { // $elemMatch shows only arrays; $slice and the positional operator leave other values as they are
			return dst
		}
		return raw.AppendElem(dst, e.Key, e.Value)
	}
	from, to := int64(0), int64(0)
	switch n := int64(raw.Len(e.Value.Data)); {
	case p.slice != nil:
		from, to = p.slice.bounds(n)
	case p.positional:
		from, to = int64(position), int64(position)+1
	default:
		found := int64(-1)
		it := raw.Elements(e.Value.Data)
		for i := int64(0); i < n && found < 0; i++ {
			if one, _ := it.Next(); p.elem.element(one.Value) {
				found = i
			}
		}
		if found < 0 {
			return dst
		}
		from, to = found, found+1
	}
	dst = appendHead(dst, bson.TypeArray, e.Key)
	start, dst := bsoncore.ReserveLength(dst)
	it := raw.Elements(e.Value.Data)
	for i := int64(0); i < to; i++ {
		one, ok := it.Next()
		if !ok {
			break
		}
		if i >= from {
			dst = raw.AppendElem(dst, arrayKey(int(i-from)), one.Value)
		}
	}
	dst, _ = bsoncore.AppendArrayEnd(dst, start)
	return dst
}

// bounds returns the start and the end of the slice of n elements.
func (s *slice) bounds(n int64) (from, to int64) {
	switch {
	case s.skips && s.skip < 0:
		from = max(0, n+s.skip)
		return from, min(n, from+s.limit)
	case s.skips:
		from = min(n, s.skip)
		return from, min(n, from+s.limit)
	case s.limit < 0:
		return max(0, n+s.limit), n
	}
	return 0, min(n, s.limit)
}

func appendHead(dst []byte, t bsontype.Type, key []byte) []byte {
	dst = append(dst, byte(t))
	dst = append(dst, key...)
	return append(dst, 0)
}
