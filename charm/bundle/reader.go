package bundle

import (
	"encoding/base64"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"juju/charm"
	"juju/charm/safeyaml"
)

// A field is a value in a source.
type field struct {
	src  *Source
	path string // "applications.web.charm"
	node *yaml.Node
}

// An entry is a key of a map and its value.
type entry struct {
	key   string
	value field
}

// A reader parses values and collects errors. An invalid value is read as the zero value.
type reader struct {
	mistakes []error
	warnings []string
}

func (r *reader) fail(f field, format string, args ...any) {
	r.mistakes = append(r.mistakes,
		&charm.FileError{File: f.src.Name, Line: f.node.Line, Field: f.path, Err: fmt.Errorf(format, args...)})
}

// warn records that a value has no effect.
func (r *reader) warn(f field, format string, args ...any) {
	r.warnings = append(r.warnings, fmt.Sprintf("%s:%d: %s: %s", f.src.Name, f.node.Line, f.path,
		fmt.Sprintf(format, args...)))
}

func (r *reader) expected(f field, what string) {
	got := "nothing"
	switch f.node.Kind {
	case yaml.MappingNode:
		got = "a map"
	case yaml.SequenceNode:
		got = "a list"
	case yaml.ScalarNode:
		if !f.isNull() {
			got = strconv.Quote(f.node.Value)
		}
	}
	r.fail(f, "expected %s, got %s", what, got)
}

func (f field) isNull() bool { return f.node.Kind == yaml.ScalarNode && f.node.ShortTag() == "!!null" }

// isEmpty reports whether f is null, or an empty map or list.
func (f field) isEmpty() bool {
	return f.isNull() || f.node.Kind != yaml.ScalarNode && len(f.node.Content) == 0
}

func (f field) child(name string, n *yaml.Node) field {
	if f.path != "" {
		name = f.path + "." + name
	}
	return field{f.src, name, safeyaml.Resolve(n)}
}

// entries returns the entries of a map, those merged with "<<" last. Null has none.
func (r *reader) entries(f field) []entry {
	if f.isNull() {
		return nil
	}
	if f.node.Kind != yaml.MappingNode {
		r.expected(f, "map")
		return nil
	}
	var all []entry
	seen := map[string]bool{}
	add := func(es ...entry) {
		for _, e := range es {
			if !seen[e.key] {
				seen[e.key] = true
				all = append(all, e)
			}
		}
	}
	var merged []*yaml.Node
	for i := 0; i+1 < len(f.node.Content); i += 2 {
		key, value := safeyaml.Resolve(f.node.Content[i]), safeyaml.Resolve(f.node.Content[i+1])
		switch {
		case key.ShortTag() == "!!merge" && value.Kind == yaml.SequenceNode:
			merged = append(merged, value.Content...)
		case key.ShortTag() == "!!merge":
			merged = append(merged, value)
		case key.Kind != yaml.ScalarNode:
			r.fail(f.child("", key), "expected a name")
		default:
			add(entry{key.Value, f.child(key.Value, value)})
		}
	}
	for _, n := range merged {
		add(r.entries(field{f.src, f.path, safeyaml.Resolve(n)})...)
	}
	return all
}

// items returns the elements of a list. A scalar is a list of one; null has none.
func (r *reader) items(f field) (items []field) {
	switch {
	case f.isNull():
	case f.node.Kind == yaml.ScalarNode:
		return []field{f}
	case f.node.Kind == yaml.SequenceNode:
		for i, n := range f.node.Content {
			items = append(items, f.child(strconv.Itoa(i), n))
		}
	default:
		r.expected(f, "list")
	}
	return items
}

// text returns a scalar as written, or "" for null.
func (r *reader) text(f field) string {
	if f.isNull() {
		return ""
	}
	if f.node.Kind != yaml.ScalarNode {
		r.expected(f, "string")
		return ""
	}
	return f.node.Value
}

func (r *reader) integer(f field) (n int) {
	if f.isNull() {
		return 0
	}
	if f.node.Kind != yaml.ScalarNode || f.node.ShortTag() != "!!int" || f.node.Decode(&n) != nil {
		r.expected(f, "int")
	}
	return n
}

func (r *reader) boolean(f field) bool {
	b, ok := safeyaml.OldBoolean(f.node)
	if !ok && !f.isNull() {
		r.expected(f, "boolean")
	}
	return b
}

// fields returns the values of a map by key.
func (r *reader) fields(f field) map[string]field {
	all := map[string]field{}
	for _, e := range r.entries(f) {
		all[e.key] = e.value
	}
	return all
}

// texts returns the scalars of a map as strings.
func (r *reader) texts(fields map[string]field) map[string]string {
	if len(fields) == 0 {
		return nil
	}
	all := make(map[string]string, len(fields))
	for key, f := range fields {
		all[key] = r.text(f)
	}
	return all
}

// included returns the fields of a map with includes resolved.
func (r *reader) included(fields map[string]field) map[string]field {
	all := make(map[string]field, len(fields))
	for key, f := range fields {
		all[key] = field{f.src, f.path, r.resolveInclude(f)}
	}
	return all
}

// An option or annotation with one of these prefixes is replaced by the content of the file that it names.
const (
	includeFile   = "include-file://"
	includeBase64 = "include-base64://"
)

// Text returns what a bundle has to have for an option or annotation with a value: a text that would be an include is
// tagged as a text.
func Text(value any) any {
	if s, ok := value.(string); ok && (strings.HasPrefix(s, includeFile) || strings.HasPrefix(s, includeBase64)) {
		return safeyaml.Tagged(s)
	}
	return value
}

// resolveInclude returns the field's value, or the content of the file that it includes. A value that is tagged as a text,
// !!str, is one: nobody tags an include, and Text tags what users have set.
func (r *reader) resolveInclude(f field) *yaml.Node {
	if f.node.Kind != yaml.ScalarNode || f.node.ShortTag() != "!!str" || f.node.Style&yaml.TaggedStyle != 0 {
		return f.node
	}
	name, encode := "", func(b []byte) string { return string(b) }
	if after, ok := strings.CutPrefix(f.node.Value, includeFile); ok {
		name = after
	} else if after, ok := strings.CutPrefix(f.node.Value, includeBase64); ok {
		name, encode = after, base64.StdEncoding.EncodeToString
	} else {
		return f.node
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(f.src.Dir, name)
	}
	content, err := f.src.Include(name)
	if err != nil {
		r.fail(f, "cannot include: %w", err)
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: encode(content), Line: f.node.Line}
}
