package pipeline

import (
	"math"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/mongoerr"
	"juju/state/mongo/embedded/query"
	"juju/state/mongo/embedded/raw"
)

// maxStages limits the stages of a pipeline, each of which may hold a few documents.
const maxStages = 100

// maxDocument limits the size of documents and values, in bytes.
const maxDocument = 16 << 20

// A Source returns the next document at each call, and nil at the end. A document is valid until the next call, and at
// most until the pipeline returns one: between two batches of a cursor, the store may free what it has read.
type Source func() (doc []byte, err error)

// A Control bounds an aggregation, which ends with the error of either function.
type Control struct {
	Check func() error          // is called now and then
	Keep  func(bytes int) error // is called when a stage keeps more bytes, or fewer
}

// A stage returns a source of in's documents, transformed.
type stage func(in Source, ctl Control) Source

// A Head is the beginning of a pipeline as a query, so that the store can run it with indexes.
type Head struct {
	Match bsoncore.Document // nil matches everything
	Order bsoncore.Document
	Skip  int64
	Limit int64 // 0 for none
}

// A Pipeline is a compiled aggregation.
type Pipeline struct {
	Head Head
	// Rest are the stages behind Head, as the client sent them.
	Rest []bsoncore.Document

	stages []stage
}

// Compile compiles the stages of an aggregation. If selects is set, the caller selects the documents that p.Head
// describes; otherwise p.Head is empty.
func Compile(specs []bsoncore.Document, selects bool) (*Pipeline, error) {
	if len(specs) > maxStages {
		return nil, mongoerr.New(7749501, "Pipeline length must be no longer than %d stages", maxStages)
	}
	p := &Pipeline{}
	list := make([]spec, len(specs))
	for i, doc := range specs {
		it := raw.Elements(doc)
		e, ok := it.Next()
		if _, more := it.Next(); !ok || more {
			return nil, mongoerr.New(40323, "A pipeline stage specification object must contain exactly one field.")
		}
		list[i] = spec{string(e.Key), e.Value, doc}
	}
	if selects {
		var err error
		if list, err = p.head(list); err != nil {
			return nil, err
		}
	}
	for len(list) > 0 {
		compile := stages[list[0].name]
		if compile == nil {
			return nil, misplaced(list[0].name)
		}
		s, used, err := compile(list)
		if err != nil {
			return nil, err
		}
		p.stages = append(p.stages, s)
		for _, one := range list[:used] {
			p.Rest = append(p.Rest, one.doc)
		}
		list = list[used:]
	}
	return p, nil
}

// misplaced returns the error for a stage that does not exist, or not there.
func misplaced(name string) error {
	switch name {
	case "$changeStream", "$collStats":
		return mongoerr.New(40602, "%s is only valid as the first stage in a pipeline.", name)
	}
	return mongoerr.New(mongoerr.UnrecognizedPipelineStage, "Unrecognized pipeline stage name: '%s'", name)
}

// A spec is a stage as the client sent it.
type spec struct {
	name  string
	value bsoncore.Value
	doc   bsoncore.Document
}

// stages compile the first of the given stages, or the first few; used says how many.
var stages map[string]func([]spec) (s stage, used int, err error)

func init() { // the functions refer to the map
	stages = map[string]func([]spec) (stage, int, error){
		"$match":   one(compileMatch),
		"$project": one(compileProject),
		"$group":   one(compileGroup),
		"$unwind":  one(compileUnwind),
		"$count":   one(compileCount),
		"$skip":    one(compileSkip),
		"$limit":   one(compileLimit),
		"$sort":    compileSort,
	}
}

func one(compile func(bsoncore.Value) (stage, error)) func([]spec) (stage, int, error) {
	return func(list []spec) (stage, int, error) {
		s, err := compile(list[0].value)
		return s, 1, err
	}
}

// head moves the beginning of a pipeline into p.Head, and returns the other stages.
func (p *Pipeline) head(list []spec) ([]spec, error) {
	var filters []bsoncore.Document
	for ; len(list) > 0 && list[0].name == "$match"; list = list[1:] {
		if _, err := matchOf(list[0].value); err != nil {
			return nil, err
		}
		filters = append(filters, list[0].value.Data)
	}
	switch len(filters) {
	case 0:
	case 1:
		p.Head.Match = filters[0]
	default:
		every := bsoncore.NewArrayBuilder()
		for _, f := range filters {
			every.AppendDocument(f)
		}
		p.Head.Match = bsoncore.NewDocumentBuilder().AppendArray("$and", every.Build()).Build()
	}
	if len(list) > 0 && list[0].name == "$sort" {
		if _, err := orderOf(list[0].value); err != nil {
			return nil, err
		}
		p.Head.Order, list = list[0].value.Data, list[1:]
	}
	skip, limit, used, err := window(list)
	p.Head.Skip, p.Head.Limit = skip, limit
	return list[used:], err
}

// window combines a $skip and a $limit at the beginning of list. A limit of 0 means none.
func window(list []spec) (skip, limit int64, used int, err error) {
	if len(list) > used && list[used].name == "$skip" {
		if skip, err = skipOf(list[used].value); err != nil {
			return 0, 0, 0, err
		}
		used++
	}
	if len(list) > used && list[used].name == "$limit" {
		if limit, err = limitOf(list[used].value); err != nil {
			return 0, 0, 0, err
		}
		used++
	}
	return skip, limit, used, nil
}

// Run returns the result for the documents of in, which p.Head has selected.
func (p *Pipeline) Run(in Source, ctl Control) Source {
	for _, s := range p.stages {
		in = s(in, ctl)
	}
	return in
}

// checkEvery is the number of documents that a stage which holds or makes many of them handles between two checks.
const checkEvery = 256

func matchOf(v bsoncore.Value) (*query.Filter, error) {
	if v.Type != bson.TypeEmbeddedDocument {
		return nil, mongoerr.New(15959, "the match filter must be an expression in an object")
	}
	return query.Compile(v.Data)
}

func compileMatch(v bsoncore.Value) (stage, error) {
	f, err := matchOf(v)
	return func(in Source, _ Control) Source {
		return func() ([]byte, error) {
			for {
				doc, err := in()
				if err != nil || doc == nil || f.Match(doc) {
					return doc, err
				}
			}
		}
	}, err
}

func skipOf(v bsoncore.Value) (int64, error) {
	n, ok := raw.Int(v)
	if !ok {
		return 0, mongoerr.New(15972, "Argument to $skip must be a number that is an integer, not %s", query.TypeName(v.Type))
	}
	if n < 0 {
		return 0, mongoerr.New(15956, "Argument to $skip cannot be negative")
	}
	return n, nil
}

func compileSkip(v bsoncore.Value) (stage, error) {
	skip, err := skipOf(v)
	return func(in Source, _ Control) Source {
		n := skip
		return func() ([]byte, error) {
			for ; n > 0; n-- {
				if doc, err := in(); err != nil || doc == nil {
					return nil, err
				}
			}
			return in()
		}
	}, err
}

func limitOf(v bsoncore.Value) (int64, error) {
	n, ok := raw.Int(v)
	if !ok {
		return 0, mongoerr.New(15957, "the limit must be specified as a number that is an integer")
	}
	if n <= 0 {
		return 0, mongoerr.New(15958, "the limit must be positive")
	}
	return n, nil
}

func compileLimit(v bsoncore.Value) (stage, error) {
	limit, err := limitOf(v)
	return func(in Source, _ Control) Source {
		n := limit
		return func() ([]byte, error) {
			if n == 0 {
				return nil, nil
			}
			n--
			return in()
		}
	}, err
}

func orderOf(v bsoncore.Value) (query.Sort, error) {
	if v.Type != bson.TypeEmbeddedDocument {
		return query.Sort{}, mongoerr.New(15973, "the $sort key specification must be an object")
	}
	order, err := query.CompileSort(v.Data)
	if err == nil && len(order.Fields) == 0 {
		err = mongoerr.New(15976, "$sort stage must have at least one sort key, each of them a field")
	}
	return order, err
}

// compileSort compiles a $sort, with a $skip and a $limit behind it.
func compileSort(list []spec) (stage, int, error) {
	order, err := orderOf(list[0].value)
	if err != nil {
		return nil, 0, err
	}
	skip, limit, used, err := window(list[1:])
	keep := int64(0)
	if limit > 0 && skip < math.MaxInt64-limit {
		keep = skip + limit
	}
	return func(in Source, ctl Control) Source {
		var sorted []query.Sorted
		return func() ([]byte, error) {
			if sorted == nil {
				all := query.NewSorter(order, keep)
				all.Keep = ctl.Keep
				if err := consume(in, ctl, func(doc []byte) error { return all.Add(doc, nil, -1) }); err != nil {
					return nil, err
				}
				sorted = all.Sorted()
				sorted = sorted[min(skip, int64(len(sorted))):]
			}
			if len(sorted) == 0 {
				return nil, nil
			}
			doc := sorted[0].Doc
			sorted[0] = query.Sorted{} // frees it
			sorted = sorted[1:]
			return doc, nil
		}
	}, 1 + used, err
}

// consume reads a source to its end.
func consume(in Source, ctl Control, with func(doc []byte) error) error {
	for n := 1; ; n++ {
		doc, err := in()
		if err == nil && doc != nil {
			err = with(doc)
		}
		if err == nil && n%checkEvery == 0 {
			err = ctl.Check()
		}
		if err != nil || doc == nil {
			return err
		}
	}
}

func compileCount(v bsoncore.Value) (stage, error) {
	name, ok := v.StringValueOK()
	if !ok || name == "" {
		return nil, mongoerr.New(40156, "the count field must be a non-empty string")
	}
	if err := checkName(name); err != nil {
		return nil, err
	}
	return func(in Source, ctl Control) Source {
		done := false
		return func() ([]byte, error) {
			if done {
				return nil, nil
			}
			n := int64(0)
			err := consume(in, ctl, func([]byte) error { n++; return nil })
			done = true
			if err != nil || n == 0 {
				return nil, err
			}
			doc := bsoncore.NewDocumentBuilder()
			if n == int64(int32(n)) {
				doc.AppendInt32(name, int32(n))
			} else {
				doc.AppendInt64(name, n)
			}
			return doc.Build(), nil
		}
	}, nil
}
