package display

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"juju/charm/safeyaml"
)

// JSON returns v as one line of JSON, with invisible characters in JSON escapes, so that a parser reads the same text.
func JSON(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	// Invisible characters occur only in strings, where JSON can escape any character.
	return append(inStrings(text, func(r rune) string {
		if r >= 0x10000 {
			r -= 0x10000
			return fmt.Sprintf(`\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		}
		return fmt.Sprintf(`\u%04x`, r)
	}), '\n'), nil
}

// YAML returns v as YAML, with invisible characters in YAML escapes, so that a parser reads the same text.
func YAML(v any, indent int) ([]byte, error) {
	tree, err := safeyaml.Node(v)
	if err != nil {
		return nil, err
	}
	quote(tree)
	text, err := safeyaml.Encode(tree, indent)
	return inStrings(text, escaped), err
}

// quote double-quotes all strings with invisible characters, since only that style has escapes.
func quote(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && n.Value != Text(n.Value) {
		n.Style = n.Style&yaml.TaggedStyle | yaml.DoubleQuotedStyle
	}
	for _, child := range n.Content {
		quote(child)
	}
}

// inStrings escapes the invisible characters of a document, which occur only in its strings.
func inStrings(text []byte, escape func(rune) string) []byte {
	var out []byte
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if r == '\n' || r == '\t' || isVisible(r) { // part of the document's layout
			out = append(out, text[:size]...)
		} else {
			out = append(out, escape(r)...)
		}
		text = text[size:]
	}
	return out
}
