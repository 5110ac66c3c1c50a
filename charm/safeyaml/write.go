package safeyaml

import (
	"bytes"
	"encoding"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// Marshal returns v as YAML with that indent, from which every reader of YAML 1.1 or 1.2 gets the
// texts in v back. Package yaml alone writes a text that begins with an empty line without that
// line, and within a list one that begins with a space so that no one can read the document.
func Marshal(v any, indent int) ([]byte, error) {
	n, err := Node(v)
	if err != nil {
		return nil, err
	}
	return Encode(n, indent)
}

// Encode returns the YAML of a tree that Node has made.
func Encode(n *yaml.Node, indent int) ([]byte, error) {
	var text bytes.Buffer
	e := yaml.NewEncoder(&text)
	e.SetIndent(indent)
	if err := e.Encode(n); err != nil {
		return nil, err
	}
	err := e.Close()
	return text.Bytes(), err
}

// Tagged is a text that is written with the tag of texts, !!str.
type Tagged string

// Node returns the tree of v. It is package yaml's Node.Encode, which writes v and parses what it
// has written, for what we write: the fields of structs can have a name, omitempty, flow and inline. Maps
// are in the order of their keys, a/2 before a/10, and numbers as JSON has them.
func Node(v any) (*yaml.Node, error) { return node(reflect.ValueOf(v)) }

func node(v reflect.Value) (*yaml.Node, error) {
	if !v.IsValid() || (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) && v.IsNil() {
		return scalar("!!null", "null"), nil
	}
	switch x := v.Interface().(type) {
	case *yaml.Node:
		return again(x), nil
	case Tagged:
		n := text(string(x))
		n.Style |= yaml.TaggedStyle
		return n, nil
	case yaml.Marshaler:
		plain, err := x.MarshalYAML()
		if err != nil {
			return nil, err
		}
		return Node(plain)
	case time.Time:
		return scalar("!!timestamp", x.Format(time.RFC3339Nano)), nil
	case time.Duration:
		return text(x.String()), nil
	case encoding.TextMarshaler:
		b, err := x.MarshalText()
		return text(string(b)), err
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return node(v.Elem())
	case reflect.String:
		return text(v.String()), nil
	case reflect.Slice, reflect.Array:
		n := &yaml.Node{Kind: yaml.SequenceNode}
		for i := range v.Len() {
			if err := add(n, v.Index(i)); err != nil {
				return nil, err
			}
		}
		return inline(n, n.Content == nil), nil
	case reflect.Map:
		n := &yaml.Node{Kind: yaml.MappingNode}
		for _, key := range slices.SortedFunc(slices.Values(v.MapKeys()), compare) {
			if err := add(n, key, v.MapIndex(key)); err != nil {
				return nil, err
			}
		}
		return inline(n, n.Content == nil), nil
	case reflect.Struct:
		return fields(v)
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return scalar("", fmt.Sprint(v)), nil
	case reflect.Float32, reflect.Float64:
		if number, err := json.Marshal(v.Interface()); err == nil { // 300000000000, not 3e+11
			return scalar("", withPoint(string(number))), nil
		}
	}
	var n yaml.Node
	err := n.Encode(v.Interface())
	return &n, err
}

func add(n *yaml.Node, values ...reflect.Value) error {
	for _, v := range values {
		child, err := node(v)
		if err != nil {
			return err
		}
		n.Content = append(n.Content, child)
	}
	return nil
}

func fields(v reflect.Value) (*yaml.Node, error) {
	n := &yaml.Node{Kind: yaml.MappingNode}
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if !f.IsExported() || name == "-" || strings.Contains(options, "omitempty") && isEmpty(v.Field(i)) {
			continue
		}
		if options == "inline" {
			own, err := node(v.Field(i))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", f.Name, err)
			}
			n.Content = append(n.Content, own.Content...)
			continue
		}
		if name == "" {
			name = strings.ToLower(f.Name)
		}
		if err := add(n, reflect.ValueOf(name), v.Field(i)); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		inline(n.Content[len(n.Content)-1], strings.Contains(options, "flow"))
	}
	return inline(n, n.Content == nil), nil
}

func isEmpty(v reflect.Value) bool {
	if v.Kind() == reflect.Pointer && v.IsNil() {
		return true
	}
	if z, ok := v.Interface().(yaml.IsZeroer); ok {
		return z.IsZero()
	}
	return v.IsZero() || (v.Kind() == reflect.Map || v.Kind() == reflect.Slice) && v.Len() == 0
}

// inline makes a list or map one of a single line, [] or {}, if it is to be.
func inline(n *yaml.Node, yes bool) *yaml.Node {
	if yes {
		n.Style |= yaml.FlowStyle
	}
	return n
}

// again returns a copy of a tree that was parsed, without comments. What was not quoted is not
// quoted again: it depends on the reader whether yes is a text.
func again(n *yaml.Node) *yaml.Node {
	n = Resolve(n)
	if n.ShortTag() == "!!str" && (n.Style != 0 || strings.Contains(n.Value, "\n")) {
		return text(n.Value)
	}
	copied := &yaml.Node{Kind: n.Kind, Style: n.Style, Tag: n.Tag, Value: n.Value}
	for _, child := range n.Content {
		copied.Content = append(copied.Content, again(child))
	}
	return copied
}

func scalar(tag, value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value}
}

// withPoint returns a number as readers of YAML 1.1 know it too: to them, 1e+22 is a text and 1.0e+22 is not.
func withPoint(number string) string {
	if digits, power, ok := strings.Cut(number, "e"); ok && !strings.Contains(digits, ".") {
		return digits + ".0e" + power
	}
	return number
}

// typed are the texts with a digit, sign, point or colon first that some reader of YAML 1.1 or 1.2 takes for something else,
// or refuses as no valid such thing: 2001-02-30 is no date.
var typed = regexp.MustCompile(`(?i)^(?:` +
	`[-+]?[0-9_,]*(?:\.[0-9_]*)?(?:e[-+]?[0-9]+)?|` + // in Ruby's with commas
	`[-+]?0[box][0-9a-f_,]*|` +
	`[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?|` + // base 60: 1:30
	`[-+]?\.(?:inf|nan)|` +
	`[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:(?:t|[ \t]+)[0-9]{1,2}(?::[0-9]{1,2}){2}(?:\.[0-9]*)?(?:[ \t]*(?:z|[-+][0-9]{1,2}(?::?[0-9]{2})?))?)?|` +
	`:.*` + // Ruby's symbols
	`)$`)

// isText reports whether all readers take a plain scalar for a text.
func isText(s string) bool {
	switch strings.ToLower(s) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null", "~", "=", "<<":
		return false
	}
	if s != "" && strings.IndexByte("0123456789+-.:", s[0]) >= 0 && typed.MatchString(s) {
		return false
	}
	return scalar("", s).ShortTag() == "!!str"
}

// text returns the scalar of a text: plain if no reader takes it for something else, in lines if
// it has lines that are safe so, and quoted otherwise. What is not UTF-8 is in base64.
func text(s string) *yaml.Node {
	if !utf8.ValidString(s) {
		return scalar("!!binary", base64.StdEncoding.EncodeToString([]byte(s)))
	}
	n := scalar("!!str", s)
	switch lines := strings.Contains(s, "\n"); {
	case strings.HasPrefix(s, " ") || strings.HasPrefix(s, "\n") || strings.HasPrefix(s, "\t") || !lines && !isText(s),
		strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) && r != '\n' && r != '\t' }):
		n.Style = yaml.DoubleQuotedStyle
	case lines:
		n.Style = yaml.LiteralStyle
	}
	return n
}

// compare orders keys, runs of digits by their length first.
func compare(x, y reflect.Value) int {
	a, b := fmt.Sprint(x), fmt.Sprint(y)
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	digits := func(s string) int {
		from := i
		for from > 0 && isDigit(s[from-1]) {
			from--
		}
		to := i
		for to < len(s) && isDigit(s[to]) {
			to++
		}
		return to - from
	}
	if da, db := digits(a), digits(b); da > 0 && db > 0 && da != db {
		return da - db
	}
	return strings.Compare(a[i:], b[i:])
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
