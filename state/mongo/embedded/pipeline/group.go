package pipeline

import (
	"bytes"
	"strings"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/arith"
	"juju/state/mongo/embedded/keys"
	"juju/state/mongo/embedded/mongoerr"
	"juju/state/mongo/embedded/query"
	"juju/state/mongo/embedded/raw"
)

// A grouping is a compiled $group stage.
type grouping struct {
	id     expr
	fields []groupField
}

type groupField struct {
	name  string
	make  func() accumulator
	value expr
}

// A group accumulates the documents with one _id.
type group struct {
	id   bsoncore.Value
	accs []accumulator
}

// An accumulator combines the values of a group's documents.
type accumulator interface {
	// add adds a value, which may be missing, and returns by how many bytes the accumulator has grown. It copies what it
	// keeps.
	add(v bsoncore.Value) int
	value() bsoncore.Value
}

var accumulators = map[string]func() accumulator{
	"$sum":      func() accumulator { return &sum{} },
	"$avg":      func() accumulator { return &average{} },
	"$min":      func() accumulator { return &extreme{sign: -1} },
	"$max":      func() accumulator { return &extreme{sign: 1} },
	"$first":    func() accumulator { return &first{} },
	"$last":     func() accumulator { return &last{} },
	"$push":     func() accumulator { return &push{list: newList()} },
	"$addToSet": func() accumulator { return &distinct{list: newList(), seen: map[string]bool{}} },
}

func compileGroup(v bsoncore.Value) (stage, error) {
	if v.Type != bson.TypeEmbeddedDocument {
		return nil, mongoerr.New(15947, "a group's fields must be specified in an object")
	}
	g := &grouping{}
	it := raw.Elements(v.Data)
	for e, ok := it.Next(); ok; e, ok = it.Next() {
		var err error
		if string(e.Key) == "_id" {
			if g.id, err = compileExpr(e.Value); err != nil {
				return nil, err
			}
			continue
		}
		if err := g.field(string(e.Key), e.Value); err != nil {
			return nil, err
		}
	}
	if g.id == nil {
		return nil, mongoerr.New(15955, "a group specification must include an _id")
	}
	return g.run, nil
}

func (g *grouping) field(name string, v bsoncore.Value) error {
	switch {
	case name == "":
		return checkStep(name)
	case strings.IndexByte(name, '.') >= 0:
		return mongoerr.New(40235, "The field name '%s' cannot contain '.'", name)
	case name[0] == '$':
		return mongoerr.New(40236, "The field name '%s' cannot be an operator name", name)
	case v.Type != bson.TypeEmbeddedDocument:
		return mongoerr.New(40234, "The field '%s' must be an accumulator object", name)
	}
	it := raw.Elements(v.Data)
	e, ok := it.Next()
	if _, more := it.Next(); !ok || more {
		return mongoerr.New(40238, "The field '%s' must specify one accumulator", name)
	}
	make := accumulators[string(e.Key)]
	if make == nil {
		return mongoerr.New(15952, "unknown group operator '%s'", e.Key)
	}
	if e.Value.Type == bson.TypeArray {
		return mongoerr.New(40237, "The %s accumulator is a unary operator", e.Key)
	}
	value, err := compileExpr(e.Value)
	g.fields = append(g.fields, groupField{name, make, value})
	return err
}

// groupSize is the approximate memory of a group in bytes, without its values.
const groupSize = 200

func (g *grouping) run(in Source, ctl Control) Source {
	var groups []*group // in the order of their first documents; nil before they are known
	var out []byte
	return func() (_ []byte, err error) {
		if groups == nil {
			if groups, err = g.collect(in, ctl); err != nil {
				return nil, err
			}
		}
		if len(groups) == 0 {
			return nil, nil
		}
		one := groups[0]
		groups[0] = nil // frees it
		groups = groups[1:]
		start, dst := bsoncore.ReserveLength(out[:0])
		dst = raw.AppendElem(dst, []byte("_id"), one.id)
		for i, f := range g.fields {
			v := one.accs[i].value()
			if err := checkSize(len(dst) + len(v.Data)); err != nil {
				return nil, err
			}
			dst = raw.AppendElem(dst, []byte(f.name), v)
		}
		if out, err = bsoncore.AppendDocumentEnd(dst, start); err != nil {
			return nil, err
		}
		return out, checkDocument(out)
	}
}

func (g *grouping) collect(in Source, ctl Control) ([]*group, error) {
	byKey := map[string]*group{}
	groups := []*group{}
	size := 0
	var key []byte
	err := consume(in, ctl, func(doc []byte) error {
		before := size
		id, err := g.id(doc)
		if err != nil {
			return err
		}
		if id.Type == 0 {
			id.Type = bson.TypeNull
		}
		key = keys.Append(key[:0], id)
		one := byKey[string(key)]
		if one == nil {
			one = &group{id: bsoncore.Value{Type: id.Type, Data: bytes.Clone(id.Data)}}
			for _, f := range g.fields {
				one.accs = append(one.accs, f.make())
			}
			byKey[string(key)] = one
			groups = append(groups, one)
			size += len(key) + len(id.Data) + groupSize*(1+len(g.fields))
		}
		for i, f := range g.fields {
			v, err := f.value(doc)
			if err != nil {
				return err
			}
			size += one.accs[i].add(v)
		}
		if size > query.MaxMemory {
			return mongoerr.New(mongoerr.MemoryLimit, "$group exceeded memory limit of %d bytes, and is not done on disk",
				query.MaxMemory)
		}
		return ctl.Keep(size - before)
	})
	return groups, err
}

type sum struct{ total bsoncore.Value }

func (s *sum) add(v bsoncore.Value) int {
	switch {
	case keys.ClassOf(v.Type) != keys.Number:
	case s.total.Type == 0:
		s.total = bsoncore.Value{Type: v.Type, Data: bytes.Clone(v.Data)}
	default:
		s.total = plus(s.total, v)
	}
	return 0
}

// plus adds two numbers, and makes them floating-point ones if the sum of integers overflows.
func plus(a, b bsoncore.Value) bsoncore.Value {
	return orFloat(arith.Add, a, b, func(x, y float64) float64 { return x + y })
}

func (s *sum) value() bsoncore.Value {
	if s.total.Type == 0 {
		return raw.Int32(0)
	}
	return s.total
}

type average struct {
	sum
	n int64
}

func (a *average) add(v bsoncore.Value) int {
	if keys.ClassOf(v.Type) == keys.Number {
		a.n++
	}
	return a.sum.add(v)
}

func (a *average) value() bsoncore.Value {
	if a.n == 0 {
		return bsoncore.Value{Type: bson.TypeNull}
	}
	return arith.Double(float(a.total) / float64(a.n))
}

// An extreme is the accumulator of $min or $max. It ignores null and missing values.
type extreme struct {
	sign int
	best bsoncore.Value
}

func (x *extreme) add(v bsoncore.Value) int {
	if isNull(v) || x.best.Type != 0 && keys.Compare(v, x.best)*x.sign <= 0 {
		return 0
	}
	was := len(x.best.Data)
	x.best = bsoncore.Value{Type: v.Type, Data: bytes.Clone(v.Data)}
	return len(v.Data) - was
}

func (x *extreme) value() bsoncore.Value { return orNull(x.best) }

type first struct {
	v     bsoncore.Value
	taken bool
}

func (f *first) add(v bsoncore.Value) int {
	if f.taken {
		return 0
	}
	f.taken, f.v = true, bsoncore.Value{Type: v.Type, Data: bytes.Clone(v.Data)}
	return len(v.Data)
}

func (f *first) value() bsoncore.Value { return orNull(f.v) }

type last struct{ v bsoncore.Value }

func (l *last) add(v bsoncore.Value) int {
	was := cap(l.v.Data)
	l.v = bsoncore.Value{Type: v.Type, Data: append(l.v.Data[:0], v.Data...)}
	return cap(l.v.Data) - was
}

func (l *last) value() bsoncore.Value { return orNull(l.v) }

type push struct{ list *list }

func (p *push) add(v bsoncore.Value) int {
	was := len(p.list.data)
	if v.Type != 0 {
		p.list.add(v)
	}
	return len(p.list.data) - was
}

func (p *push) value() bsoncore.Value { return p.list.value() }

// A distinct is the accumulator of $addToSet.
type distinct struct {
	list *list
	seen map[string]bool
}

func (s *distinct) add(v bsoncore.Value) int {
	if v.Type == 0 {
		return 0
	}
	key := keys.Append(nil, v)
	if s.seen[string(key)] {
		return 0
	}
	s.seen[string(key)] = true
	was := len(s.list.data)
	s.list.add(v)
	return len(s.list.data) - was + len(key) + groupSize/4
}

func (s *distinct) value() bsoncore.Value { return s.list.value() }

func orNull(v bsoncore.Value) bsoncore.Value {
	if v.Type == 0 {
		v.Type = bson.TypeNull
	}
	return v
}

// isNull reports whether v is null, undefined or missing.
func isNull(v bsoncore.Value) bool {
	return v.Type == 0 || v.Type == bson.TypeNull || v.Type == bson.TypeUndefined
}
