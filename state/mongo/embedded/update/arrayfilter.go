package update

import (
	"strings"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/mongoerr"
	"juju/state/mongo/embedded/query"
	"juju/state/mongo/embedded/raw"
)

// An arrayFilter selects the elements of an array that $[name] refers to.
type arrayFilter struct {
	name   string
	filter *query.Filter
	used   bool
}

func compileArrayFilters(specs []bsoncore.Document) ([]arrayFilter, error) {
	var list []arrayFilter
	for _, spec := range specs {
		name, err := filterName(spec, "")
		if err != nil {
			return nil, err
		}
		if name == "" {
			return nil, mongoerr.New(mongoerr.FailedToParse,
				"Cannot use an expression without a top-level field name in arrayFilters")
		}
		for _, f := range list {
			if f.name == name {
				return nil, mongoerr.New(mongoerr.FailedToParse,
					"Found multiple array filters with the same top-level field name %s", name)
			}
		}
		filter, err := query.Compile(spec)
		if err != nil {
			return nil, err
		}
		list = append(list, arrayFilter{name: name, filter: filter})
	}
	return list, nil
}

// filterName returns the name that all paths of a filter begin with.
func filterName(spec []byte, name string) (string, error) {
	it := raw.Elements(spec)
	for e, ok := it.Next(); ok; e, ok = it.Next() {
		key := string(e.Key)
		if strings.HasPrefix(key, "$") {
			if e.Value.Type != bson.TypeArray {
				continue
			}
			list := raw.Elements(e.Value.Data)
			for branch, ok := list.Next(); ok; branch, ok = list.Next() {
				if branch.Value.Type != bson.TypeEmbeddedDocument {
					continue
				}
				var err error
				if name, err = filterName(branch.Value.Data, name); err != nil {
					return "", err
				}
			}
			continue
		}
		first, _, _ := strings.Cut(key, ".")
		if !isIdentifier(first) {
			return "", mongoerr.New(mongoerr.BadValue,
				"Error parsing array filter: The top-level field name must be an alphanumeric string beginning with a lowercase letter, found '%s'", first)
		}
		if name != "" && name != first {
			return "", mongoerr.New(mongoerr.FailedToParse,
				"Error parsing array filter: Expected a single top-level field name, found '%s' and '%s'", name, first)
		}
		name = first
	}
	return name, nil
}

func isIdentifier(s string) bool {
	for i, c := range []byte(s) {
		lower, other := 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !lower && (i == 0 || !other) {
			return false
		}
	}
	return s != ""
}

// filter returns the filter named by a step of a path, if any.
func (o *op) filter(step string) *arrayFilter {
	if !strings.HasPrefix(step, "$[") || !strings.HasSuffix(step, "]") {
		return nil
	}
	for i := range o.filters {
		if o.filters[i].name == step[2:len(step)-1] {
			return &o.filters[i]
		}
	}
	return nil
}

// match applies the filter to an element, as the field of the filter's name.
func (f *arrayFilter) match(e *elem) bool {
	one := container{elems: []elem{{key: []byte(f.name), v: e.v, sub: e.sub}}}
	return f.filter.Match(one.append(nil))
}
