// Package safeyaml parses YAML from untrusted sources, at a cost bounded by the length of the text.
//
// Package yaml alone is unsafe: it compares each key of a map with every other, collects an error for
// each duplicate pair, and a few bytes of aliases can expand to millions of values. This package limits
// the text, the tree and the alias expansion before decoding, and compares keys in linear time.
package safeyaml

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"

	"gopkg.in/yaml.v3"
)

// Limits bound a document's text and content.
type Limits struct {
	Bytes int // of text
	Marks int // commas, colons, brackets, lines, and dashes before a space, anywhere
	Nodes int // values, lists, maps and keys; an alias's target counts at each use
	Depth int // nested lists and maps
}

// Default is for files that users and charms send to a controller, Hook for input from a hook to its own
// agent, Own for files that Juju itself writes and that grow with their content.
//
// The tree takes about 200 bytes per node, and must be built before nodes can be counted. So the marks
// that separate nodes are counted first. Their limit is higher, because marks also occur in prose and
// quoted JSON, where they separate nothing.
var (
	Default = Limits{Bytes: 5 << 20, Marks: 200_000, Nodes: 50_000, Depth: 64}
	Hook    = Limits{Bytes: 8 << 20, Marks: 1_000_000, Nodes: 50_000, Depth: 64}
	Own     = Limits{Bytes: 64 << 20, Marks: 2_000_000, Nodes: 1_000_000, Depth: 64}
)

// An Error is a mistake in a text and its position.
type Error struct {
	Line int // from 1; 0 if unknown
	Err  error
}

// Error reads "line 4: mapping key "a" already defined at line 3".
func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Err.Error()
	}
	return fmt.Sprintf("line %d: %v", e.Line, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

func errorAt(line int, format string, args ...any) error {
	return &Error{line, fmt.Errorf(format, args...)}
}

var (
	decoderError = regexp.MustCompile(`(?s)^yaml: (?:unmarshal errors:\n  )?(?:line (\d+): )?([^\n]*)`)
	mismatch     = regexp.MustCompile("^cannot unmarshal (!!\\w+)( `.*`)? into (.*)$")
)

// plain converts the first of package yaml's errors to an Error without Go terms.
func plain(err error) error {
	m := decoderError.FindStringSubmatch(err.Error())
	if m == nil {
		return &Error{Err: err}
	}
	line, _ := strconv.Atoi(m[1]) // "" is 0: not known
	text := m[2]
	if m := mismatch.FindStringSubmatch(text); m != nil {
		text = fmt.Sprintf("expected a %s, got a %s%s", kindOf(m[3]), kindOf(m[1]), m[2])
	}
	return &Error{line, errors.New(text)}
}

// kindOf returns the name of a YAML tag or Go type for an error.
func kindOf(name string) string {
	switch strings.TrimPrefix(name, "!!") {
	case "seq":
		return "list"
	case "str", "string":
		return "string"
	case "int", "float", "int64", "float64":
		return "number"
	case "bool":
		return "boolean"
	}
	if strings.HasPrefix(name, "[]") {
		return "list"
	}
	return "map"
}

// Parse returns the root of a text's only document, or nil if the text is empty. In the tree, maps have
// no duplicate keys, aliases are not recursive, and following all aliases visits at most l.Nodes nodes.
func Parse(text []byte, l Limits) (*yaml.Node, error) { return single(parser{limits: l}, text) }

// ParseLast is Parse for a text with duplicate keys, of which the last one wins. It calls twice for each
// of the others, in no particular order.
func ParseLast(text []byte, l Limits, twice func(Twice)) (*yaml.Node, error) {
	return single(parser{limits: l, twice: twice}, text)
}

// Twice is a key that is repeated at a later line, which overrides the value at Line.
type Twice struct {
	Key         string
	Line, Again int
}

func single(p parser, text []byte) (*yaml.Node, error) {
	p.only = true
	roots, err := p.parse(text)
	if err != nil || len(roots) == 0 {
		return nil, err
	}
	return roots[0], nil
}

// ParseAll returns the roots of all documents in a text. The root of an empty document is null. The
// limits apply to the documents together.
func ParseAll(text []byte, l Limits) ([]*yaml.Node, error) { return parser{limits: l}.parse(text) }

// A parser holds the parsing options.
type parser struct {
	limits Limits
	only   bool        // reject a second document
	twice  func(Twice) // nil: reject duplicate keys
}

func (p parser) parse(text []byte) (roots []*yaml.Node, err error) {
	l := p.limits
	if len(text) > l.Bytes {
		return nil, errorAt(0, "larger than %d bytes", l.Bytes)
	}
	if marks(text) > l.Marks {
		return nil, errorAt(0, "too many values: more than %d commas, colons, brackets, dashes and lines", l.Marks)
	}
	dec := yaml.NewDecoder(bytes.NewReader(withoutPairs(text)))
	for n := 0; ; n++ {
		var doc yaml.Node
		if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, plain(err)
		}
		if p.only && n == 1 {
			return nil, errorAt(doc.Line, "expected one YAML document, got a second")
		}
		if len(doc.Content) == 1 {
			roots = append(roots, doc.Content[0])
		}
	}
	for i, root := range roots {
		c := checker{limits: l, twice: p.twice, known: map[*yaml.Node]extent{}}
		e, err := c.check(root, 0)
		if err != nil {
			return nil, err
		}
		if l.Nodes -= e.nodes; l.Nodes < 0 {
			return nil, errorAt(root.Line, "too many values in all documents together")
		}
		roots[i] = Resolve(root)
	}
	return roots, nil
}

// jsonEscape is an escape in JSON, with its two halves if it is a surrogate pair.
var jsonEscape = regexp.MustCompile(`(?i)\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})|\\.`)

// withoutPairs returns a text whose surrogate pairs are YAML's escapes, if it is JSON: the only escapes there that YAML lacks.
func withoutPairs(text []byte) []byte {
	if !bytes.Contains(text, []byte(`\u`)) || !json.Valid(text) {
		return text
	}
	return jsonEscape.ReplaceAllFunc(text, func(escape []byte) []byte {
		if len(escape) < 12 {
			return escape
		}
		high, _ := strconv.ParseUint(string(escape[2:6]), 16, 32) // the pattern has hexadecimal digits only
		low, _ := strconv.ParseUint(string(escape[8:]), 16, 32)
		return fmt.Appendf(nil, `\U%08x`, utf16.DecodeRune(rune(high), rune(low)))
	})
}

// Unmarshal decodes a text into a struct, or a map with keys that are strings.
func Unmarshal(text []byte, into any, l Limits) error {
	root, err := Parse(text, l)
	if err != nil || root == nil {
		return err
	}
	split(root, chunk, map[*yaml.Node]bool{})
	if err := root.Decode(into); err != nil {
		return plain(err)
	}
	return nil
}

// Resolve returns an alias's target, and any other node unchanged.
func Resolve(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// marks counts the characters that separate nodes. A text with n marks has at most 2n+3 nodes.
func marks(text []byte) int {
	count := 0
	for i, b := range text {
		switch b {
		case ',', ':', '[', '{', '\n', '\r': // a line is no node, but may be a comment, which is kept
			count++
		case '-', '?':
			if i+1 == len(text) || text[i+1] <= ' ' {
				count++
			}
		}
	}
	return count
}

// An extent is the size of a node, including the targets of its aliases.
type extent struct{ nodes, depth int }

// A checker walks a tree, visiting each node once regardless of aliases.
type checker struct {
	limits Limits
	twice  func(Twice)
	known  map[*yaml.Node]extent // nodes with an anchor; zero while the check is in them
}

func (c *checker) check(n *yaml.Node, depth int) (e extent, err error) {
	if depth > c.limits.Depth {
		return e, c.tooDeep(n)
	}
	if n.Kind == yaml.AliasNode {
		e, ok := c.known[n.Alias]
		if !ok || e == (extent{}) {
			return e, errorAt(0, "anchor '%s' value contains itself", n.Value)
		}
		if depth+e.depth > c.limits.Depth {
			return e, c.tooDeep(n)
		}
		return e, nil
	}
	if n.Anchor != "" {
		c.known[n] = extent{}
	}
	var keys []*yaml.Node
	if n.Kind == yaml.MappingNode {
		if keys, err = c.unique(n); err != nil {
			return e, err
		}
	}
	e = extent{nodes: 1}
	for _, child := range n.Content {
		of, err := c.check(child, depth+1)
		if err != nil {
			return e, err
		}
		e = extent{e.nodes + of.nodes, max(e.depth, of.depth+1)}
		if e.nodes > c.limits.Nodes {
			return e,
				errorAt(child.Line, "too many values: more than %d, aliases counted wherever they are used", c.limits.Nodes)
		}
	}
	if n.Anchor != "" {
		c.known[n] = e
	}
	if n.Kind == yaml.MappingNode {
		n.Content = keys // only now: an alias can stand for something in a value that does not count
	}
	return e, nil
}

func (c *checker) tooDeep(n *yaml.Node) error {
	return errorAt(n.Line, "lists and maps are nested too deep: more than %d in one another", c.limits.Depth)
}

// unique returns the keys and values of a map without duplicate keys, keeping the last. It rejects
// duplicates unless c has a function for them, and keys that are not scalars.
func (c *checker) unique(n *yaml.Node) ([]*yaml.Node, error) {
	last := make(map[string]int, len(n.Content)/2) // key → index
	again := map[int]bool{}                        // the indexes of keys that come again
	for i := 0; i < len(n.Content); i += 2 {
		line, k := n.Content[i].Line, Resolve(n.Content[i])
		if k.Kind != yaml.ScalarNode {
			// None of our formats has one, and package yaml panics when it merges a map that
			// has one.
			return nil, errorAt(line, "expected a name as key, got a list or map")
		}
		first, ok := last[k.Value]
		last[k.Value] = i
		switch {
		case !ok:
		case c.twice == nil:
			return nil, errorAt(line, "mapping key %s already defined at line %d", quoted(k.Value), n.Content[first].Line)
		case k.ShortTag() != "!!merge": // several maps can be merged
			c.twice(Twice{k.Value, n.Content[first].Line, line})
			again[first] = true
		}
	}
	if len(again) == 0 {
		return n.Content, nil
	}
	var once []*yaml.Node
	for i := 0; i < len(n.Content); i += 2 {
		if !again[i] {
			once = append(once, n.Content[i], n.Content[i+1])
		}
	}
	return once, nil
}

// OldBoolean returns a node's value as a YAML 1.1 boolean, and whether it is one: unquoted yes, no, on
// and off are. Charms and bundles were written for YAML 1.1.
func OldBoolean(n *yaml.Node) (b, ok bool) {
	tag := n.ShortTag()
	if n.Kind != yaml.ScalarNode || tag != "!!bool" && (tag != "!!str" || n.Style != 0) {
		return false, false
	}
	switch n.Value {
	case "y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "true", "True", "TRUE":
		return true, true
	case "n", "N", "no", "No", "NO", "off", "Off", "OFF", "false", "False", "FALSE":
		return false, true
	}
	return false, false
}

// quoted quotes a key, truncated to a readable length.
func quoted(key string) string {
	if len(key) > 100 {
		return fmt.Sprintf("%.100q…", key)
	}
	return strconv.Quote(key)
}

// chunk is the maximum number of keys in a map passed to package yaml, which compares them all pairwise.
const chunk = 100

// split makes of each map with more than chunk keys one that merges maps of that
// many keys. It decodes to the same, in linear time: package yaml compares the keys
// of each map only with one another, and Parse has compared them all.
func split(n *yaml.Node, chunk int, done map[*yaml.Node]bool) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if done[n] {
		return
	}
	done[n] = true
	for _, child := range n.Content {
		split(child, chunk, done)
	}
	if n.Kind != yaml.MappingNode || len(n.Content) <= 2*chunk {
		return
	}
	sources := &yaml.Node{Kind: yaml.SequenceNode}
	var merged []*yaml.Node // the map's own merges come last, since its own keys win
	part := &yaml.Node{Kind: yaml.MappingNode}
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.ShortTag() == "!!merge" {
			merged = append(merged, value)
			continue
		}
		if len(part.Content) == 2*chunk {
			sources.Content = append(sources.Content, part)
			part = &yaml.Node{Kind: yaml.MappingNode}
		}
		part.Content = append(part.Content, key, value)
	}
	sources.Content = append(sources.Content, part)
	for _, m := range merged {
		if m.Kind == yaml.SequenceNode {
			sources.Content = append(sources.Content, m.Content...)
		} else {
			sources.Content = append(sources.Content, m)
		}
	}
	n.Content = []*yaml.Node{{Kind: yaml.ScalarNode, Tag: "!!merge", Value: "<<"}, sources}
}
