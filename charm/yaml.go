package charm

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"juju/charm/safeyaml"
)

// field is a value in a YAML file with its position for errors. Reading the node tree instead of
// decoding into structs preserves the line of each value and the text of each scalar ("2.0" is a
// version, not the number 2).
type field struct {
	file string
	path string
	line int        // where it is, or where it should be if absent
	node *yaml.Node // nil: the field is absent
	log  *warnings
}

// entry is one key of a mapping and its value.
type entry struct {
	key   string
	value field
}

// parseYAML returns the root of the only document in data; an absent field if the file is empty. Of
// duplicate keys, the last one wins.
func parseYAML(file string, data []byte) (field, error) {
	log := &warnings{file: file}
	node, err := safeyaml.ParseLast(data, safeyaml.Default, log.twice)
	return rootOf(field{file: file, node: node, log: log}, err)
}

// parseUserYAML is parseYAML for user input. Duplicate keys are errors, which the user can fix.
func parseUserYAML(file string, data []byte) (field, error) {
	node, err := safeyaml.Parse(data, safeyaml.Default)
	return rootOf(field{file: file, node: node, log: &warnings{file: file}}, err)
}

// ParseValue parses a YAML value from a user to the types of JSON: dates are strings, and an unquoted
// yes is a boolean. It returns nil if there is no value.
func ParseValue(text []byte) (any, error) {
	node, err := safeyaml.Parse(text, safeyaml.Default)
	if err != nil || node == nil {
		return nil, err
	}
	return field{file: "value", line: node.Line, node: safeyaml.Resolve(node)}.value()
}

func rootOf(root field, err error) (field, error) {
	if bad := (*safeyaml.Error)(nil); errors.As(err, &bad) {
		return field{}, &FileError{File: root.file, Line: bad.Line, Err: bad.Err}
	} else if err != nil {
		return field{}, err
	}
	if root.node != nil {
		root.line = root.node.Line
	}
	return root, nil
}

// errorf returns an error about this field.
func (f field) errorf(format string, args ...any) error {
	return &FileError{File: f.file, Line: f.line, Field: f.path, Err: invalidf(format, args...)}
}

// refuse is errorf with a rule for Help.
func (f field) refuse(help, format string, args ...any) error {
	return &helpError{f.errorf(format, args...), help}
}

// expected returns the error for a value that is not what.
func (f field) expected(what string) error {
	if f.empty() {
		return f.errorf("expected %s, got nothing", what)
	}
	v, err := f.value()
	if err != nil {
		return err
	}
	return f.errorf("expected %s, got %s", what, shown(v))
}

// shown returns a value as an error shows it: in Go's syntax, or JSON for a list or map, and
// cut to a readable length.
func shown(v any) string {
	s := fmt.Sprintf("%#v", v)
	switch v.(type) {
	case []any, map[string]any:
		if text, err := json.Marshal(v); err == nil {
			s = string(text)
		}
	}
	if len(s) > 200 {
		return strings.ToValidUTF8(s[:200], "") + "…"
	}
	return s
}

// empty reports whether the field is absent or null.
func (f field) empty() bool {
	return f.node == nil || f.node.Kind == yaml.ScalarNode && f.node.ShortTag() == "!!null"
}

func (f field) child(name string, n *yaml.Node) field {
	c := field{file: f.file, path: name, line: f.line, log: f.log}
	if f.path != "" {
		c.path = f.path + "." + name
	}
	if n != nil {
		c.line = n.Line // the alias's line, not the anchor's
		c.node = safeyaml.Resolve(n)
	}
	return c
}

// entries returns the keys of a mapping in the order of the file, keys merged with "<<" last.
// An empty field has none.
func (f field) entries() ([]entry, error) {
	if f.empty() {
		return nil, nil
	}
	if f.node.Kind != yaml.MappingNode {
		return nil, f.expected("map")
	}
	var own, merged []entry
	seen := map[string]bool{}
	for i := 0; i+1 < len(f.node.Content); i += 2 {
		key, value := safeyaml.Resolve(f.node.Content[i]), f.node.Content[i+1]
		switch {
		case key.ShortTag() == "!!merge":
			sources := []*yaml.Node{safeyaml.Resolve(value)}
			if sources[0].Kind == yaml.SequenceNode {
				sources = sources[0].Content
			}
			var these []entry
			for _, s := range sources {
				es, err := field{f.file, f.path, s.Line, safeyaml.Resolve(s), f.log}.entries()
				if err != nil {
					return nil, err
				}
				these = append(these, es...)
			}
			merged = append(these, merged...) // of several merges, the last one counts
		default:
			seen[key.Value] = true
			own = append(own, entry{key.Value, f.child(key.Value, value)})
		}
	}
	for _, e := range merged {
		if !seen[e.key] {
			seen[e.key] = true
			own = append(own, e)
		}
	}
	return own, nil
}

// fields is a mapping with a fixed set of keys.
type fields struct {
	of    field
	keys  map[string]field
	order []entry // in that of the file
}

// get returns the field of a key, an absent one if there is none.
func (fs fields) get(key string) field {
	if f, ok := fs.keys[key]; ok {
		return f
	}
	return fs.of.child(key, nil)
}

// fields returns a mapping to be read by key.
func (f field) fields() (fields, error) {
	es, err := f.entries()
	if err != nil {
		return fields{}, err
	}
	fs := fields{f, make(map[string]field, len(es)), es}
	for _, e := range es {
		fs.keys[e.key] = e.value
	}
	return fs, nil
}

// items returns the elements of a list. An empty field has none.
func (f field) items() ([]field, error) {
	if f.empty() {
		return nil, nil
	}
	if f.node.Kind != yaml.SequenceNode {
		return nil, f.expected("list")
	}
	fs := make([]field, len(f.node.Content))
	for i, n := range f.node.Content {
		fs[i] = f.child(strconv.Itoa(i), n)
	}
	return fs, nil
}

// text returns a string. It accepts dates, but not numbers.
func (f field) text() (string, error) {
	if f.node != nil && f.node.Kind == yaml.ScalarNode {
		if tag := f.node.ShortTag(); tag == "!!str" || tag == "!!timestamp" {
			return f.node.Value, nil
		}
	}
	return "", f.expected("string")
}

// optionalText is text, or "" for an empty field.
func (f field) optionalText() (string, error) {
	if f.empty() {
		return "", nil
	}
	return f.text()
}

// written returns a scalar of any type as it is written, "" for an empty field.
func (f field) written() (string, error) {
	switch {
	case f.empty():
		return "", nil
	case f.node.Kind != yaml.ScalarNode:
		return "", f.expected("string")
	}
	return f.node.Value, nil
}

// texts returns a list of strings; one string alone is a list of one.
func (f field) texts() ([]string, error) {
	if f.node != nil && f.node.Kind == yaml.ScalarNode && !f.empty() {
		s, err := f.text()
		return []string{s}, err
	}
	items, err := f.items()
	if err != nil {
		return nil, err
	}
	var ss []string
	for _, item := range items {
		s, err := item.text()
		if err != nil {
			return nil, err
		}
		ss = append(ss, s)
	}
	return ss, nil
}

// boolean returns a boolean, false for an empty field. A string can be one too, as "true" is.
func (f field) boolean() (bool, error) {
	if f.empty() {
		return false, nil
	}
	if b, ok := safeyaml.OldBoolean(f.node); ok {
		return b, nil
	}
	if s, err := f.text(); err == nil {
		if b, err := strconv.ParseBool(s); err == nil {
			return b, nil
		}
	}
	return false, f.expected("boolean")
}

// integer returns a whole number, 0 for an empty field. A string can be one too, as "5" is.
func (f field) integer() (int, error) {
	if f.empty() {
		return 0, nil
	}
	if f.node.Kind == yaml.ScalarNode && f.node.ShortTag() == "!!int" {
		var i int
		if err := f.node.Decode(&i); err == nil {
			return i, nil
		}
	}
	if s, err := f.text(); err == nil {
		if i, err := strconv.ParseInt(s, 0, 0); err == nil {
			return int(i), nil
		}
	}
	return 0, f.expected("int")
}

// value returns the field as JSON would decode it: nil, string, bool, int64, float64, []any or
// map[string]any. Whole numbers beyond int64 become float64.
func (f field) value() (any, error) {
	if f.empty() {
		return nil, nil
	}
	switch f.node.Kind {
	case yaml.MappingNode:
		return mapped(f, func(e entry) (any, error) { return e.value.value() })
	case yaml.SequenceNode:
		items, err := f.items()
		if err != nil {
			return nil, err
		}
		list := make([]any, len(items))
		for i, item := range items {
			if list[i], err = item.value(); err != nil {
				return nil, err
			}
		}
		return list, nil
	}
	if f.node.ShortTag() == "!!timestamp" {
		return f.node.Value, nil
	}
	if b, ok := safeyaml.OldBoolean(f.node); ok {
		return b, nil
	}
	var v any
	if err := f.node.Decode(&v); err != nil {
		return nil, f.errorf("%v", err)
	}
	switch v := v.(type) {
	case int:
		return int64(v), nil
	case uint64:
		if v > math.MaxInt64 {
			return float64(v), nil
		}
		return int64(v), nil
	case nil, string, bool, int64, float64:
		return v, nil
	}
	return f.node.Value, nil
}

// mapped returns a mapping with the value that each of its entries is read as.
func mapped(f field, read func(entry) (any, error)) (any, error) {
	es, err := f.entries()
	if err != nil {
		return nil, err
	}
	m := make(map[string]any, len(es))
	for _, e := range es {
		if m[e.key], err = read(e); err != nil {
			return nil, err
		}
	}
	return m, nil
}
