package pipeline

import (
	"strings"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/bson/bsontype"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/mongoerr"
	"juju/state/mongo/embedded/query"
	"juju/state/mongo/embedded/raw"
)

// A projection is a compiled $project stage: a query's projection, and then computed fields.
type projection struct {
	show     *query.Projection // nil: nothing is included
	computed *field            // nil: none
}

// A field is a computed field, or a parent of computed fields.
type field struct {
	name   string
	parts  []*field
	byName map[string]*field
	value  expr // nil for a step
}

// A projecting holds the state of the compiler of a $project stage.
type projecting struct {
	flat     *bsoncore.DocumentBuilder // as a query's projection: paths with 1 or 0
	paths    map[string]bool           // all paths; false for those on the way to one
	computed field
	included string // the first path that is included or computed, except _id
	excluded string // the first path that is excluded, except _id
	hideID   bool
	shows    bool // something is in flat that includes
	computes bool
}

func compileProject(v bsoncore.Value) (stage, error) {
	if v.Type != bson.TypeEmbeddedDocument {
		return nil, mongoerr.New(15969, "$project specification must be an object")
	}
	if raw.IsEmpty(v.Data) {
		return nil, mongoerr.New(51272, "Invalid $project :: caused by :: projection specification must have at least one field")
	}
	c := &projecting{flat: bsoncore.NewDocumentBuilder(), paths: map[string]bool{}}
	if err := c.document("", v.Data); err != nil {
		return nil, err
	}
	if c.included != "" && c.excluded != "" {
		return nil, mongoerr.New(31254, "Invalid $project :: caused by :: Cannot do exclusion on field %s in inclusion projection", c.excluded)
	}
	p := &projection{}
	if c.computes {
		p.computed = &c.computed
		if !c.shows && !c.hideID {
			c.flat.AppendInt32("_id", 1)
			c.shows = true
		}
	}
	if c.shows || !c.computes {
		var err error
		if p.show, err = query.CompileProjection(c.flat.Build()); err != nil {
			return nil, err
		}
	}
	return p.run, nil
}

func (c *projecting) document(prefix string, doc []byte) error {
	it := raw.Elements(doc)
	for e, ok := it.Next(); ok; e, ok = it.Next() {
		if err := c.field(prefix+string(e.Key), e.Value); err != nil {
			return err
		}
	}
	return nil
}

func (c *projecting) field(path string, v bsoncore.Value) error {
	nested := v.Type == bson.TypeEmbeddedDocument && !isExpression(v.Data)
	if nested && raw.IsEmpty(v.Data) {
		return mongoerr.New(51270, "Invalid $project :: caused by :: An empty sub-projection is not a valid value. Found empty object at path")
	}
	if nested {
		return c.document(path+".", v.Data)
	}
	steps, err := splitPath(path)
	if err != nil {
		return err
	}
	if err := c.claim(path, steps); err != nil {
		return err
	}
	_, number := raw.Number(v)
	switch {
	case !number && v.Type != bson.TypeBoolean:
		c.note(&c.included, path)
		c.computes = true
		if len(steps) > 1 {
			c.flat.AppendInt32(path, 1) // for the steps to it
			c.shows = true
		}
		value, err := compileExpr(v)
		c.computed.add(steps, value)
		return err
	case raw.Truthy(v):
		c.note(&c.included, path)
		c.flat.AppendInt32(path, 1)
		c.shows = true
	default:
		c.note(&c.excluded, path)
		c.flat.AppendInt32(path, 0)
		c.hideID = c.hideID || path == "_id"
	}
	return nil
}

func (c *projecting) note(first *string, path string) {
	if *first == "" && path != "_id" {
		*first = path
	}
}

// claim fails if a path is there twice, or is the beginning of another one.
func (c *projecting) claim(path string, steps []string) error {
	collision := mongoerr.New(31250, "Invalid $project :: caused by :: Path collision at %s", path)
	if _, taken := c.paths[path]; taken {
		return collision
	}
	at := 0
	for _, step := range steps[:len(steps)-1] {
		at += len(step)
		if c.paths[path[:at]] {
			return collision
		}
		c.paths[path[:at]] = false
		at++
	}
	c.paths[path] = true
	return nil
}

func (f *field) add(steps []string, value expr) {
	for _, step := range steps {
		next := f.byName[step]
		if next == nil {
			next = &field{name: step}
			if f.byName == nil {
				f.byName = map[string]*field{}
			}
			f.byName[step] = next
			f.parts = append(f.parts, next)
		}
		f = next
	}
	f.value = value
}

func (p *projection) run(in Source, _ Control) Source {
	var shown, out []byte
	return func() ([]byte, error) {
		doc, err := in()
		if err != nil || doc == nil {
			return nil, err
		}
		if p.show == nil {
			shown = bsoncore.BuildDocument(shown[:0])
		} else if shown, err = p.show.Append(shown[:0], doc, -1); err != nil {
			return nil, err
		}
		if p.computed == nil {
			return shown, nil
		}
		if out, err = p.computed.document(out[:0], shown, doc); err != nil {
			return nil, err
		}
		return out, checkDocument(out)
	}
}

// document appends shown with the computed fields of root.
func (f *field) document(dst, shown, root []byte) (_ []byte, err error) {
	start, dst := bsoncore.ReserveLength(dst)
	done := map[string]bool{}
	it := raw.Elements(shown)
	for e, ok := it.Next(); ok && err == nil; e, ok = it.Next() {
		switch part := f.byName[string(e.Key)]; {
		case part == nil:
			dst = raw.AppendElem(dst, e.Key, e.Value)
		case part.value == nil:
			done[part.name] = true
			dst, err = part.inside(dst, part.name, e.Value, root)
		}
	}
	for _, part := range f.parts {
		if err != nil {
			return dst, err
		}
		switch {
		case part.value != nil:
			var v bsoncore.Value
			if v, err = part.value(root); v.Type != 0 {
				dst = raw.AppendElem(dst, []byte(part.name), v)
			}
		case !done[part.name]:
			dst, err = part.inside(dst, part.name, bsoncore.Value{}, root)
		}
		if err == nil {
			err = checkSize(len(dst) - int(start))
		}
	}
	if err != nil {
		return dst, err
	}
	return bsoncore.AppendDocumentEnd(dst, start)
}

// inside appends a field that contains computed ones: in a document, in each element of an array, or in a new document.
func (f *field) inside(dst []byte, key string, shown bsoncore.Value, root []byte) (_ []byte, err error) {
	if shown.Type != bson.TypeArray {
		dst = appendHead(dst, bson.TypeEmbeddedDocument, key)
		if shown.Type != bson.TypeEmbeddedDocument {
			shown.Data = nil
		}
		return f.document(dst, shown.Data, root)
	}
	dst = appendHead(dst, bson.TypeArray, key)
	start, dst := bsoncore.ReserveLength(dst)
	it := raw.Elements(shown.Data)
	for i := 0; ; i++ {
		e, ok := it.Next()
		if !ok {
			return bsoncore.AppendArrayEnd(dst, start)
		}
		if dst, err = f.inside(dst, arrayKey(i), e.Value, root); err != nil {
			return dst, err
		}
		if err := checkSize(len(dst) - int(start)); err != nil {
			return dst, err
		}
	}
}

func appendHead(dst []byte, t bsontype.Type, key string) []byte {
	dst = append(dst, byte(t))
	dst = append(dst, key...)
	return append(dst, 0)
}

// maxSteps limits how deep a path leads.
const maxSteps = 100

// splitPath splits and checks the path of a field.
func splitPath(path string) ([]string, error) {
	if strings.Count(path, ".") >= maxSteps {
		return nil, mongoerr.New(mongoerr.Overflow, "FieldPath is too long: it has more than %d steps", maxSteps)
	}
	steps := strings.Split(path, ".")
	for _, step := range steps {
		if err := checkStep(step); err != nil {
			return nil, err
		}
	}
	return steps, nil
}

func checkStep(step string) error {
	switch {
	case step == "":
		return mongoerr.New(15998, "FieldPath field names may not be empty strings.")
	case step[0] == '$':
		return mongoerr.New(16410, "FieldPath field names may not start with '$'.")
	case strings.IndexByte(step, 0) >= 0:
		return mongoerr.New(16411, "FieldPath field names may not contain '\\0'.")
	}
	return nil
}

// checkName checks the name of a field that is no path.
func checkName(name string) error {
	if strings.IndexByte(name, '.') >= 0 {
		return mongoerr.New(16412, "FieldPath field names may not contain '.'.")
	}
	return checkStep(name)
}
