package query

import (
	"fmt"
	"strings"
)

// functions parse the arguments of the functions of the language.
var functions map[string]func(*parser) (node, error)

func init() { // they call the parser, which calls them
	functions = map[string]func(*parser) (node, error){
		"len":        length,
		"forEach":    forEach,
		"startsWith": func(p *parser) (node, error) { return p.ofTexts("startsWith", strings.HasPrefix) },
		"endsWith":   func(p *parser) (node, error) { return p.ofTexts("endsWith", strings.HasSuffix) },
	}
}

// length parses the argument of len, which is the number of things in a list, or of characters in a text.
func length(p *parser) (node, error) {
	of, err := p.either()
	if err != nil {
		return node{}, err
	}
	n := node{typed: typed{kind: numberType}, source: "len(" + of.source + ")"}
	switch of.kind {
	case listType:
		n.value = func(s []thing) any { return len(of.value(s).([]thing)) }
	case textType:
		n.value = func(s []thing) any { return len([]rune(of.value(s).(string))) }
	default:
		return node{}, p.errorf("%s is %s, which has no length", of.source, of.kind)
	}
	return n, nil
}

// forEach parses the arguments of forEach: a list, and NAME => EXPRESSION. It is true if the expression is true of all
// things in the list, and so if the list is empty.
func forEach(p *parser) (node, error) {
	all, err := p.either()
	if err != nil {
		return node{}, err
	}
	if all.kind != listType {
		return node{}, p.errorf("%s is %s, not a list, as forEach needs", all.source, all.kind)
	}
	if err := p.needs(","); err != nil {
		return node{}, err
	}
	name, err := p.word()
	if err != nil {
		return node{}, err
	}
	if err := p.needs("=>"); err != nil {
		return node{}, err
	}
	p.lambdas = append(p.lambdas, lambda{name, all.of})
	each, err := p.truth()
	p.lambdas = p.lambdas[:len(p.lambdas)-1]
	if err != nil {
		return node{}, err
	}
	first := func(s []thing) ([]thing, bool) { // the scope of the first for which it is false
		for _, one := range all.value(s).([]thing) {
			if inner := append(s[:len(s):len(s)], one); !each.value(inner).(bool) {
				return inner, true
			}
		}
		return nil, false
	}
	return node{typed: typed{kind: boolType}, source: fmt.Sprintf("forEach(%s, %s => %s)", all.source, name, each.source),
		value: func(s []thing) any { _, failed := first(s); return !failed },
		why: func(s []thing) string {
			inner, _ := first(s)
			return inner[len(inner)-1].name() + ": " + each.why(inner)
		}}, nil
}

// ofTexts parses two texts, for a function of that name.
func (p *parser) ofTexts(name string, holds func(text, part string) bool) (node, error) {
	text, err := p.operand()
	if err != nil {
		return node{}, err
	}
	if err := p.needs(","); err != nil {
		return node{}, err
	}
	part, err := p.operand()
	if err != nil {
		return node{}, err
	}
	for _, n := range []node{text, part} {
		if n.kind != textType {
			return node{}, p.errorf("%s is %s, not a text, as %s needs", n.source, n.kind, name)
		}
	}
	return node{typed: typed{kind: boolType}, source: fmt.Sprintf("%s(%s, %s)", name, text.source, part.source),
		value: func(s []thing) any { return holds(text.value(s).(string), part.value(s).(string)) },
		why:   func(s []thing) string { return fmt.Sprintf("%s is %s", text.source, shown(text.value(s))) }}, nil
}
