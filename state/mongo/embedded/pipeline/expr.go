package pipeline

import (
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/mongoerr"
	"juju/state/mongo/embedded/raw"
)

// An expr computes a value from a document. The value is missing if its type is 0; it may alias the document.
type expr func(doc []byte) (bsoncore.Value, error)

func constant(v bsoncore.Value) expr {
	return func([]byte) (bsoncore.Value, error) { return v, nil }
}

// isExpression reports whether doc is an operator with its operands.
func isExpression(doc []byte) bool {
	it := raw.Elements(doc)
	e, _ := it.Next()
	return len(e.Key) > 0 && e.Key[0] == '$'
}

func compileExpr(v bsoncore.Value) (expr, error) {
	switch v.Type {
	case bson.TypeString:
		text := string(raw.Text(v))
		if name, ok := strings.CutPrefix(text, "$$"); ok {
			return compileVariable(name)
		}
		if path, ok := strings.CutPrefix(text, "$"); ok {
			return compilePath(path)
		}
	case bson.TypeEmbeddedDocument:
		if isExpression(v.Data) {
			return compileOperator(v.Data)
		}
		return compileObject(v.Data)
	case bson.TypeArray:
		items, err := compileList(v.Data)
		return listOf(items), err
	}
	return constant(v), nil
}

func compileVariable(text string) (expr, error) {
	name, path, deeper := strings.Cut(text, ".")
	var e expr
	switch name {
	case "ROOT", "CURRENT":
		e = func(doc []byte) (bsoncore.Value, error) {
			return bsoncore.Value{Type: bson.TypeEmbeddedDocument, Data: doc}, nil
		}
	case "REMOVE":
		return constant(bsoncore.Value{}), nil
	default:
		return nil, mongoerr.New(17276, "Use of undefined variable: %s", name)
	}
	if deeper {
		return compilePath(path)
	}
	return e, nil
}

func compilePath(path string) (expr, error) {
	steps, err := splitPath(path)
	return func(doc []byte) (bsoncore.Value, error) { return lookup(doc, steps), nil }, err
}

// lookup returns the value of a path. On the way, an array stands for the values of its documents, as an array.
func lookup(doc []byte, path []string) bsoncore.Value {
	v, _ := raw.Get(doc, path[0])
	if len(path) == 1 {
		return v
	}
	switch v.Type {
	case bson.TypeEmbeddedDocument:
		return lookup(v.Data, path[1:])
	case bson.TypeArray:
		return lookupAll(v.Data, path[1:])
	}
	return bsoncore.Value{}
}

func lookupAll(array []byte, path []string) bsoncore.Value {
	l := newList()
	it := raw.Elements(array)
	for e, ok := it.Next(); ok; e, ok = it.Next() {
		v := bsoncore.Value{}
		switch e.Value.Type {
		case bson.TypeEmbeddedDocument:
			v = lookup(e.Value.Data, path)
		case bson.TypeArray:
			v = lookupAll(e.Value.Data, path)
		}
		if v.Type != 0 {
			l.add(v)
		}
	}
	return l.value()
}

// A list is an array that is being built.
type list struct {
	data []byte
	n    int
}

func newList() *list { return &list{data: make([]byte, 4, 64)} }

func (l *list) add(v bsoncore.Value) {
	l.data = appendHead(l.data, v.Type, arrayKey(l.n))
	l.data = append(l.data, v.Data...)
	l.n++
}

func (l *list) value() bsoncore.Value {
	data, _ := bsoncore.AppendArrayEnd(l.data, 0)
	return bsoncore.Value{Type: bson.TypeArray, Data: data}
}

func arrayKey(i int) string { return strconv.Itoa(i) }

func checkSize(n int) error {
	if n > maxDocument {
		return mongoerr.New(mongoerr.ObjectTooLarge, "BSONObj size: %d is invalid. Size must be between 0 and %d", n,
			maxDocument)
	}
	return nil
}

// maxDepth limits how deep the documents nest that a stage makes; package wire accepts messages that nest a bit deeper.
const maxDepth = 180

// checkDocument checks a document that a stage has made.
func checkDocument(doc []byte) error {
	if deeper(doc, maxDepth) {
		return mongoerr.New(mongoerr.Overflow, "a document of the aggregation nests deeper than %d", maxDepth)
	}
	return checkSize(len(doc))
}

func deeper(doc []byte, than int) bool {
	it := raw.Elements(doc)
	for e, ok := it.Next(); ok; e, ok = it.Next() {
		if nests := e.Value.Type == bson.TypeEmbeddedDocument || e.Value.Type == bson.TypeArray; nests &&
			(than <= 1 || deeper(e.Value.Data, than-1)) {
			return true
		}
	}
	return false
}

func compileList(array []byte) (items []expr, err error) {
	it := raw.Elements(array)
	for e, ok := it.Next(); ok; e, ok = it.Next() {
		item, err := compileExpr(e.Value)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, nil
}

// listOf makes an array, in which null stands for missing values.
func listOf(items []expr) expr {
	return func(doc []byte) (bsoncore.Value, error) {
		l := newList()
		for _, item := range items {
			v, err := item(doc)
			if err == nil {
				err = checkSize(len(l.data) + len(v.Data))
			}
			if err != nil {
				return v, err
			}
			if v.Type == 0 {
				v.Type = bson.TypeNull
			}
			l.add(v)
		}
		return l.value(), nil
	}
}

// compileObject compiles a document whose fields are expressions. Missing ones are left out.
func compileObject(spec []byte) (expr, error) {
	type part struct {
		key   []byte
		value expr
	}
	var parts []part
	it := raw.Elements(spec)
	for e, ok := it.Next(); ok; e, ok = it.Next() {
		if err := checkName(string(e.Key)); err != nil {
			return nil, err
		}
		value, err := compileExpr(e.Value)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part{e.Key, value})
	}
	return func(doc []byte) (bsoncore.Value, error) {
		start, out := bsoncore.ReserveLength(nil)
		for _, p := range parts {
			v, err := p.value(doc)
			if err == nil {
				err = checkSize(len(out) + len(v.Data))
			}
			if err != nil {
				return v, err
			}
			if v.Type != 0 {
				out = raw.AppendElem(out, p.key, v)
			}
		}
		out, err := bsoncore.AppendDocumentEnd(out, start)
		return bsoncore.Value{Type: bson.TypeEmbeddedDocument, Data: out}, err
	}, nil
}

// compileOperator compiles {$operator: operands}.
func compileOperator(spec []byte) (expr, error) {
	it := raw.Elements(spec)
	e, _ := it.Next()
	if _, more := it.Next(); more {
		return nil, mongoerr.New(15983, "An object representing an expression must have exactly one field: %s",
			bsoncore.Document(spec))
	}
	name := string(e.Key)
	switch name {
	case "$literal":
		return constant(e.Value), nil
	case "$cond":
		if e.Value.Type == bson.TypeEmbeddedDocument {
			return compileCond(e.Value.Data)
		}
	}
	if make := accumulators[name]; make != nil && summaries[name] {
		return compileSummary(e.Value, make)
	}
	op, ok := operators[name]
	if !ok {
		return nil, mongoerr.New(mongoerr.InvalidPipelineOperator, "Unrecognized expression '%s'", name)
	}
	var args []expr
	var err error
	if e.Value.Type == bson.TypeArray {
		args, err = compileList(e.Value.Data)
	} else {
		var arg expr
		arg, err = compileExpr(e.Value)
		args = []expr{arg}
	}
	if err != nil {
		return nil, err
	}
	switch n := len(args); {
	case op.most > 0 && n != op.most:
		return nil, mongoerr.New(16020, "Expression %s takes exactly %d arguments. %d were passed in.", name, op.most, n)
	case n < op.least:
		return nil, mongoerr.New(28667, "Expression %s takes at least %d arguments, but %d were passed in.", name, op.least,
			n)
	}
	return op.make(args), nil
}

// compileCond compiles {if: …, then: …, else: …}.
func compileCond(spec []byte) (expr, error) {
	var args [3]expr
	it := raw.Elements(spec)
	for e, ok := it.Next(); ok; e, ok = it.Next() {
		at, ok := map[string]int{"if": 0, "then": 1, "else": 2}[string(e.Key)]
		if !ok {
			return nil, mongoerr.New(17083, "Unrecognized parameter to $cond: %s", e.Key)
		}
		var err error
		if args[at], err = compileExpr(e.Value); err != nil {
			return nil, err
		}
	}
	for i, name := range []string{"if", "then", "else"} {
		if args[i] == nil {
			return nil, mongoerr.New(mongoerr.Code(17080+i), "Missing '%s' parameter to $cond", name)
		}
	}
	return cond(args[:]), nil
}

// summaries are the accumulators that are expressions as well: of their operands, or of a single operand's elements.
var summaries = map[string]bool{"$sum": true, "$avg": true, "$min": true, "$max": true}

func compileSummary(v bsoncore.Value, make func() accumulator) (expr, error) {
	var args []expr
	var err error
	if v.Type == bson.TypeArray {
		args, err = compileList(v.Data)
	} else {
		var arg expr
		arg, err = compileExpr(v)
		args = []expr{arg}
	}
	return func(doc []byte) (bsoncore.Value, error) {
		acc := make()
		for _, arg := range args {
			v, err := arg(doc)
			if err != nil {
				return v, err
			}
			if len(args) > 1 || v.Type != bson.TypeArray {
				acc.add(v)
				continue
			}
			it := raw.Elements(v.Data)
			for e, ok := it.Next(); ok; e, ok = it.Next() {
				acc.add(e.Value)
			}
		}
		return acc.value(), nil
	}, err
}
