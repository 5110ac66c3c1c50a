package query

import (
	"bytes"
	"regexp"
	"regexp/syntax"
	"strings"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/keys"
	"juju/state/mongo/embedded/mongoerr"
	"juju/state/mongo/embedded/raw"
)

// pattern tests strings against a regular expression. It also holds for a value that is the same regular
// expression.
type pattern struct {
	re     *regexp.Regexp
	self   bsoncore.Value
	prefix string // every match begins with it
}

func newPattern(v, options bsoncore.Value) (*pattern, error) {
	var expr, flags string
	switch v.Type {
	case bson.TypeRegex:
		expr, flags = v.Regex()
	case bson.TypeString, bson.TypeSymbol:
		expr = string(raw.Text(v))
	default:
		return nil, mongoerr.New(mongoerr.BadValue, "$regex has to be a string")
	}
	switch options.Type {
	case 0:
	case bson.TypeString:
		flags = string(raw.Text(options))
	default:
		return nil, mongoerr.New(mongoerr.BadValue, "$options has to be a string")
	}
	if strings.IndexByte(expr, 0) >= 0 || strings.IndexByte(flags, 0) >= 0 {
		return nil, mongoerr.New(mongoerr.BadValue, "Regular expression cannot contain an embedded null byte")
	}
	goFlags := ""
	source := expr
	for _, c := range flags {
		switch c {
		case 'i', 'm', 's':
			goFlags += string(c)
		case 'x':
			source = stripSpace(source)
		case 'u':
		default:
			return nil, mongoerr.New(mongoerr.BadValue, "unknown flag %q in a regular expression", c)
		}
	}
	if goFlags != "" {
		source = "(?" + goFlags + ")" + source
	}
	re, err := regexp.Compile(source)
	if err != nil {
		return nil, mongoerr.New(mongoerr.BadValue, "Regular expression is invalid: %v", err)
	}
	return &pattern{
		re:     re,
		self:   bsoncore.Value{Type: bson.TypeRegex, Data: bsoncore.AppendRegex(nil, expr, flags)},
		prefix: literalPrefix(source),
	}, nil
}

func (t *pattern) holds(v bsoncore.Value, exists bool) bool {
	switch {
	case !exists:
		return false
	case v.Type == bson.TypeString || v.Type == bson.TypeSymbol:
		return t.re.Match(raw.Text(v))
	case v.Type == bson.TypeRegex:
		return keys.Equal(v, t.self)
	}
	return false
}

// stripSpace implements the flag x: it removes white space and comments, except in character classes or when escaped.
func stripSpace(expr string) string {
	var out strings.Builder
	class := false
	for i := 0; i < len(expr); i++ {
		c := expr[i]
		switch {
		case c == '\\' && i+1 < len(expr):
			out.WriteByte(c)
			i++
			c = expr[i]
		case c == '[':
			class = true
		case c == ']':
			class = false
		case class:
		case bytes.IndexByte([]byte(" \t\r\n\f\v"), c) >= 0:
			continue
		case c == '#':
			for i < len(expr) && expr[i] != '\n' {
				i++
			}
			continue
		}
		out.WriteByte(c)
	}
	return out.String()
}

// literalPrefix returns a prefix of all strings that match expr; it is empty unless expr is
// anchored at the beginning of the text.
func literalPrefix(expr string) string {
	parsed, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return ""
	}
	parsed = parsed.Simplify()
	if parsed.Op != syntax.OpConcat || parsed.Sub[0].Op != syntax.OpBeginText {
		return ""
	}
	prefix := ""
	for _, sub := range parsed.Sub[1:] {
		if sub.Op != syntax.OpLiteral || sub.Flags&syntax.FoldCase != 0 {
			break
		}
		prefix += string(sub.Rune)
	}
	return prefix
}
