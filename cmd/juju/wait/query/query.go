package query

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"juju/state/entity"
)

// A Query is an expression about one kind of thing. It is true or false of a status of the model.
type Query struct {
	kind  Kind
	holds node
}

// Parse returns the query of a text. It fails if the text is not an expression of the language, asks for what such a
// thing does not have, or compares what can't be compared: no status of the model matters to that.
func Parse(source string, kind Kind) (*Query, error) {
	p := parser{source: source, lambdas: []lambda{{kind: kind}}}
	holds, err := p.all()
	if err != nil {
		return nil, err
	}
	return &Query{kind, holds}, nil
}

// Unmet returns what is not true yet of the thing with a name, "" if the query holds. There may be no such thing yet.
func (q *Query) Unmet(m *entity.ModelStatus, name string) string {
	t, ok := find(m, q.kind, name)
	if !ok {
		return fmt.Sprintf("%s %s (there is none yet)", q.kind, name)
	}
	if scope := []thing{t}; !q.holds.value(scope).(bool) {
		return fmt.Sprintf("%s (%s)", t.name(), q.holds.why(scope))
	}
	return ""
}

// Lacks reports whether a model does not have the service, unit or machine of that name that the query is about.
func (q *Query) Lacks(m *entity.ModelStatus, name string) bool {
	_, ok := find(m, q.kind, name)
	return !ok
}

// A valueType is the type of an expression.
type valueType string

const (
	textType   valueType = "a text"
	numberType valueType = "a number"
	boolType   valueType = "true or false"
	listType   valueType = "a list"
)

type typed struct {
	kind valueType
	of   Kind // the things of a list
}

// A node is an expression. Its scope is the thing that the query is about, followed by those of the lambdas around it.
type node struct {
	typed
	source string
	value  func(scope []thing) any
	why    func(scope []thing) string // of true or false: what makes it false
}

// A lambda names the things of a list one after another; the query itself is one without a name.
type lambda struct {
	name string
	kind Kind
}

// maxDepth is how deep expressions can be nested.
const maxDepth = 50

type parser struct {
	source  string
	at      int // the offset of the next token
	depth   int
	lambdas []lambda
}

func (p *parser) all() (node, error) {
	n, err := p.truth()
	if err != nil {
		return node{}, err
	}
	if p.skip(); p.at < len(p.source) {
		return node{}, p.errorf("unexpected %q", p.rest())
	}
	return n, nil
}

func (p *parser) errorf(format string, args ...any) error {
	return entity.Errorf(entity.Invalid, "--query: at character %d: %s", p.at+1, fmt.Sprintf(format, args...))
}

// rest is the beginning of what is not parsed yet.
func (p *parser) rest() string {
	const shown = 20
	if rest := []rune(p.source[p.at:]); len(rest) > shown {
		return string(rest[:shown]) + "…"
	}
	return p.source[p.at:]
}

func (p *parser) skip() {
	for p.at < len(p.source) && strings.IndexByte(" \t\r\n", p.source[p.at]) >= 0 {
		p.at++
	}
}

// takes consumes the first of some tokens that comes next, and returns "" if none does.
func (p *parser) takes(tokens ...string) string {
	p.skip()
	for _, token := range tokens {
		if strings.HasPrefix(p.source[p.at:], token) {
			p.at += len(token)
			return token
		}
	}
	return ""
}

func (p *parser) needs(token string) error {
	if p.takes(token) != "" {
		return nil
	}
	if p.at == len(p.source) {
		return p.errorf("%q is missing at the end", token)
	}
	return p.errorf("%q is missing before %q", token, p.rest())
}

// truth parses an expression that must be true or false.
func (p *parser) truth() (node, error) {
	p.skip()
	start := p.at
	n, err := p.either()
	if err == nil && n.kind != boolType {
		p.at = start
		return n, p.errorf("%s is %s, not true or false", n.source, n.kind)
	}
	return n, err
}

// either parses one or more expressions with || between them.
func (p *parser) either() (node, error) {
	return p.chain("||", p.both, func(left, right node) node {
		return node{typed: typed{kind: boolType}, source: left.source + " || " + right.source,
			value: func(s []thing) any { return left.value(s).(bool) || right.value(s).(bool) },
			why:   func(s []thing) string { return left.why(s) + " and " + right.why(s) }}
	})
}

// both parses one or more expressions with && between them.
func (p *parser) both() (node, error) {
	return p.chain("&&", p.comparison, func(left, right node) node {
		return node{typed: typed{kind: boolType}, source: left.source + " && " + right.source,
			value: func(s []thing) any { return left.value(s).(bool) && right.value(s).(bool) },
			why: func(s []thing) string {
				if !left.value(s).(bool) {
					return left.why(s)
				}
				return right.why(s)
			}}
	})
}

func (p *parser) chain(operator string, operand func() (node, error), join func(left, right node) node) (node, error) {
	left, err := operand()
	for err == nil && p.takes(operator) != "" {
		var right node
		if right, err = operand(); err != nil {
			break
		}
		for _, n := range []node{left, right} {
			if n.kind != boolType {
				return node{}, p.errorf("%s is %s, not true or false, as %s needs", n.source, n.kind, operator)
			}
		}
		left = join(left, right)
	}
	return left, err
}

// comparison parses an expression, or two that are compared.
func (p *parser) comparison() (node, error) {
	left, err := p.operand()
	if err != nil {
		return node{}, err
	}
	operator := p.takes("==", "!=", "<=", ">=", "<", ">")
	switch {
	case operator == "" && p.takes("=") != "":
		return node{}, p.errorf("= does not compare; use ==")
	case operator == "":
		return left, nil
	}
	right, err := p.operand()
	if err != nil {
		return node{}, err
	}
	ordered := left.kind == textType || left.kind == numberType
	switch {
	case left.kind != right.kind:
		return node{}, p.errorf("%s is %s, and %s is %s: they can't be compared", left.source, left.kind, right.source, right.kind)
	case !ordered && (left.kind != boolType || operator != "==" && operator != "!="):
		return node{}, p.errorf("%s is %s, which %s does not compare", left.source, left.kind, operator)
	}
	return node{typed: typed{kind: boolType}, source: left.source + operator + right.source,
		value: func(s []thing) any { return compared(operator, left.value(s), right.value(s)) },
		why:   func(s []thing) string { return fmt.Sprintf("%s is %s", left.source, shown(left.value(s))) },
	}, nil
}

func compared(operator string, left, right any) bool {
	order := 0
	switch left := left.(type) {
	case string:
		order = strings.Compare(left, right.(string))
	case int:
		order = left - right.(int)
	case bool:
		if left != right {
			order = 1
		}
	}
	switch operator {
	case "==":
		return order == 0
	case "!=":
		return order != 0
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	}
	return order >= 0
}

func shown(value any) string {
	if text, ok := value.(string); ok {
		return strconv.Quote(text)
	}
	return fmt.Sprint(value)
}

// operand parses a text, a number, an attribute, a call of a function, or an expression in parentheses or after !.
func (p *parser) operand() (node, error) {
	if p.depth++; p.depth > maxDepth {
		return node{}, p.errorf("it is nested more than %d times", maxDepth)
	}
	defer func() { p.depth-- }()
	p.skip()
	if p.at == len(p.source) {
		return node{}, p.errorf("something is missing at the end")
	}
	switch c := p.source[p.at]; {
	case c == '(':
		p.at++
		n, err := p.either()
		if err != nil {
			return node{}, err
		}
		n.source = "(" + n.source + ")"
		return n, p.needs(")")
	case c == '!':
		p.at++
		n, err := p.operand()
		if err == nil && n.kind != boolType {
			err = p.errorf("%s is %s, not true or false, as ! needs", n.source, n.kind)
		}
		value, source := n.value, n.source
		return node{typed: n.typed, source: "!" + source, value: func(s []thing) any { return !value(s).(bool) },
			why: func([]thing) string { return source + " is true" }}, err
	case c == '"' || c == '\'' || c == '`':
		return p.text(c)
	case c >= '0' && c <= '9':
		return p.number()
	}
	return p.named()
}

// text parses a text in quotes. Within double quotes a backslash has the meaning that Go gives it.
func (p *parser) text(quote byte) (node, error) {
	end := p.at + 1
	for end < len(p.source) && p.source[end] != quote {
		if p.source[end] == '\\' && quote == '"' {
			end++
		}
		end++
	}
	if end >= len(p.source) {
		return node{}, p.errorf("the text %s does not end", p.rest())
	}
	source := p.source[p.at : end+1]
	value := source[1 : len(source)-1]
	if quote == '"' {
		var err error
		if value, err = strconv.Unquote(source); err != nil {
			return node{}, p.errorf("%s is not a text in double quotes", source)
		}
	}
	p.at = end + 1
	return node{typed: typed{kind: textType}, source: source, value: func([]thing) any { return value }}, nil
}

func (p *parser) number() (node, error) {
	digits := p.source[p.at:]
	digits = digits[:len(digits)-len(strings.TrimLeft(digits, "0123456789"))]
	value, err := strconv.Atoi(digits)
	if err != nil {
		return node{}, p.errorf("%s is too large", digits)
	}
	p.at += len(digits)
	return node{typed: typed{kind: numberType}, source: digits, value: func([]thing) any { return value }}, nil
}

// word consumes a name: letters, digits, - and _.
func (p *parser) word() (string, error) {
	p.skip()
	end := p.at
	for end < len(p.source) && (p.source[end] == '-' || p.source[end] == '_' || p.source[end] >= '0' &&
		p.source[end] <= '9' ||
		p.source[end]|0x20 >= 'a' && p.source[end]|0x20 <= 'z') {
		end++
	}
	if end == p.at {
		if p.at == len(p.source) {
			return "", p.errorf("a name is missing at the end")
		}
		return "", p.errorf("unexpected %q", p.rest())
	}
	word := p.source[p.at:end]
	p.at = end
	return word, nil
}

// named parses what begins with a name: a constant, a function's call, or an attribute.
func (p *parser) named() (node, error) {
	start := p.at
	word, err := p.word()
	if err != nil {
		return node{}, err
	}
	end := p.at
	if word == "true" || word == "false" {
		value := word == "true"
		return node{typed: typed{kind: boolType}, source: word, value: func([]thing) any { return value },
			why: func([]thing) string { return word }}, nil
	}
	if p.takes("(") != "" {
		call := functions[word]
		if call == nil {
			p.at = start
			return node{}, p.errorf("there is no function %q; there are %s", word, names(functions))
		}
		n, err := call(p)
		if err != nil {
			return node{}, err
		}
		return n, p.needs(")")
	}
	level := 0
	for i := len(p.lambdas) - 1; i > 0; i-- {
		if p.lambdas[i].name == word {
			if level = i; p.takes(".") == "" {
				return node{}, p.errorf("an attribute of %s is missing, such as %s.life", word, word)
			}
			if word, err = p.word(); err != nil {
				return node{}, err
			}
			end = p.at
			break
		}
	}
	attribute, ok := attributes[p.lambdas[level].kind][word]
	if !ok {
		p.at = start
		return node{}, p.errorf("no %s has %q; each has %s", p.lambdas[level].kind, word, names(attributes[p.lambdas[level].kind]))
	}
	n := node{typed: attribute.typed, source: p.source[start:end],
		value: func(s []thing) any { return attribute.value(s[level]) }}
	n.why = func([]thing) string { return n.source + " is false" }
	if level > 0 { // a message calls it by its name
		n.source = word
	}
	return n, nil
}

// Attributes lists the attributes of each kind, a line each, as help shows them.
func Attributes() string {
	var b strings.Builder
	for _, kind := range []Kind{Model, Application, Unit, Machine} {
		line := fmt.Sprintf("  %-11s ", kind)
		for i, name := range slices.Sorted(maps.Keys(attributes[kind])) {
			if i > 0 {
				line += ", "
			}
			if len(line)+len(name) > maxLine {
				b.WriteString(strings.TrimRight(line, " ") + "\n")
				line = strings.Repeat(" ", 14)
			}
			line += name
		}
		b.WriteString(line + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// maxLine is the width of help.
const maxLine = 88

func names[V any](of map[string]V) string {
	return strings.Join(slices.Sorted(maps.Keys(of)), ", ")
}
