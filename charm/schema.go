package charm

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// schema is a JSON Schema of draft 4, ready to be used. Formats are not checked,
// as the draft leaves open, and references do not exist here.
type schema struct {
	types    []string
	enum     []any
	hasEnum  bool
	rules    []func(at string, v any) error // everything about numbers, strings and counts
	required []string

	properties        map[string]*schema
	patternProperties []patternSchema
	additional        *schema // of the properties that neither of them names
	noAdditional      bool
	dependencies      map[string][]string

	items        *schema   // of every element, or
	tuple        []*schema // one for each position, then
	moreItems    *schema
	noMoreItems  bool
	dependent    map[string]*schema
	allOf, anyOf []*schema
	oneOf        []*schema
	not          *schema
}

type patternSchema struct {
	pattern *regexp.Regexp
	schema  *schema
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// compileSchema checks the keywords of a schema and makes it usable. Words that
// it does not know say nothing.
func compileSchema(m map[string]any) (*schema, error) {
	s := &schema{}
	for _, key := range sortedKeys(m) {
		if err := s.keyword(key, m[key], m); err != nil {
			return nil, invalidf("%s: %w", key, err)
		}
	}
	return s, nil
}

func (s *schema) keyword(key string, v any, all map[string]any) (err error) {
	switch key {
	case "type":
		s.types, err = oneOrMoreStrings(v)
		for _, t := range s.types {
			if !slices.Contains([]string{"array", "boolean", "integer", "null", "number", "object", "string"}, t) {
				return fmt.Errorf("unknown type %q", t)
			}
		}
	case "enum":
		list, ok := v.([]any)
		if !ok || len(list) == 0 {
			return wanted("a list of values", v)
		}
		s.enum, s.hasEnum = list, true
	case "required":
		s.required, err = stringList(v)
	case "properties":
		s.properties, err = schemaMap(v)
	case "patternProperties":
		var byPattern map[string]*schema
		byPattern, err = schemaMap(v)
		for _, p := range sortedKeys(byPattern) {
			re, err := regexp.Compile(p)
			if err != nil {
				return err
			}
			s.patternProperties = append(s.patternProperties, patternSchema{re, byPattern[p]})
		}
	case "additionalProperties":
		s.additional, s.noAdditional, err = schemaOrBool(v)
	case "dependencies":
		err = s.dependency(v)
	case "items":
		if _, ok := v.([]any); ok {
			s.tuple, err = schemaList(v)
		} else {
			s.items, err = subschema(v)
		}
	case "additionalItems":
		s.moreItems, s.noMoreItems, err = schemaOrBool(v)
	case "allOf":
		s.allOf, err = schemaList(v)
	case "anyOf":
		s.anyOf, err = schemaList(v)
	case "oneOf":
		s.oneOf, err = schemaList(v)
	case "not":
		s.not, err = subschema(v)
	default:
		var rule func(string, any) error
		if rule, err = compileRule(key, v, all); rule != nil {
			s.rules = append(s.rules, rule)
		}
	}
	return err
}

func (s *schema) dependency(v any) error {
	m, ok := v.(map[string]any)
	if !ok {
		return wanted("a map", v)
	}
	s.dependencies, s.dependent = map[string][]string{}, map[string]*schema{}
	for _, name := range sortedKeys(m) {
		var err error
		if _, isSchema := m[name].(map[string]any); isSchema {
			s.dependent[name], err = subschema(m[name])
		} else {
			s.dependencies[name], err = stringList(m[name])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func wanted(what string, v any) error { return fmt.Errorf("expected %s, got %s", what, shown(v)) }

func stringList(v any) ([]string, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, wanted("a list of strings", v)
	}
	ss := make([]string, len(list))
	for i, item := range list {
		if ss[i], ok = item.(string); !ok {
			return nil, wanted("a string", item)
		}
	}
	return ss, nil
}

func oneOrMoreStrings(v any) ([]string, error) {
	if s, ok := v.(string); ok {
		return []string{s}, nil
	}
	return stringList(v)
}

func subschema(v any) (*schema, error) {
	m, ok := v.(map[string]any)
	if !ok {
		return nil, wanted("a schema", v)
	}
	return compileSchema(m)
}

func schemaOrBool(v any) (s *schema, none bool, err error) {
	if b, ok := v.(bool); ok {
		return nil, !b, nil
	}
	s, err = subschema(v)
	return s, false, err
}

func schemaMap(v any) (map[string]*schema, error) {
	m, ok := v.(map[string]any)
	if !ok {
		return nil, wanted("a map of schemas", v)
	}
	out := make(map[string]*schema, len(m))
	for _, name := range sortedKeys(m) {
		s, err := subschema(m[name])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out[name] = s
	}
	return out, nil
}

func schemaList(v any) ([]*schema, error) {
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		return nil, wanted("a list of schemas", v)
	}
	out := make([]*schema, len(list))
	for i, item := range list {
		s, err := subschema(item)
		if err != nil {
			return nil, err
		}
		out[i] = s
	}
	return out, nil
}

// number returns a JSON number as float64.
func number(v any) (float64, bool) {
	if f, ok := v.(float64); ok {
		return f, true
	}
	i, ok := wholeNumber(v)
	return float64(i), ok
}

func typeOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	case float64:
		if v == math.Trunc(v) {
			return "integer"
		}
		return "number"
	}
	return "integer"
}

// validate reports the first thing about v, the value at that dotted path, that
// the schema does not allow.
func (s *schema) validate(at string, v any) error {
	kind := typeOf(v)
	if len(s.types) > 0 && !slices.Contains(s.types, kind) &&
		!(kind == "integer" && slices.Contains(s.types, "number")) {
		return disallowed(at, "expected %s, got %s", strings.Join(s.types, " or "), shown(v))
	}
	if s.hasEnum && !slices.ContainsFunc(s.enum, func(e any) bool { return equalJSON(e, v) }) {
		return disallowed(at, "expected one of %v, got %s", s.enum, shown(v))
	}
	for _, rule := range s.rules {
		if err := rule(at, v); err != nil {
			return err
		}
	}
	var err error
	switch v := v.(type) {
	case map[string]any:
		err = s.validateObject(at, v)
	case []any:
		err = s.validateArray(at, v)
	}
	if err != nil {
		return err
	}
	return s.validateCombined(at, v)
}

func disallowed(at, format string, args ...any) error {
	if at == "" {
		at = "parameters"
	}
	return invalidf("%s: %w", at, fmt.Errorf(format, args...))
}

func below(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}

func (s *schema) validateObject(at string, m map[string]any) error {
	for _, name := range s.required {
		if _, ok := m[name]; !ok {
			return disallowed(below(at, name), "required")
		}
	}
	for _, name := range sortedKeys(m) {
		var known []*schema
		if p, ok := s.properties[name]; ok {
			known = append(known, p)
		}
		for _, p := range s.patternProperties {
			if p.pattern.MatchString(name) {
				known = append(known, p.schema)
			}
		}
		if known == nil {
			if s.noAdditional {
				return disallowed(below(at, name), "unknown parameter")
			}
			if s.additional != nil {
				known = append(known, s.additional)
			}
		}
		for _, p := range known {
			if err := p.validate(below(at, name), m[name]); err != nil {
				return err
			}
		}
		for _, other := range s.dependencies[name] {
			if _, ok := m[other]; !ok {
				return disallowed(below(at, other), "required with %s", below(at, name))
			}
		}
		if d := s.dependent[name]; d != nil {
			if err := d.validate(at, m); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *schema) validateArray(at string, list []any) error {
	for i, item := range list {
		one := s.items
		if s.tuple != nil {
			if i < len(s.tuple) {
				one = s.tuple[i]
			} else if s.noMoreItems {
				return disallowed(at, "expected at most %d items, got %d", len(s.tuple), len(list))
			} else {
				one = s.moreItems
			}
		}
		if one != nil {
			if err := one.validate(below(at, fmt.Sprint(i)), item); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *schema) validateCombined(at string, v any) error {
	for _, sub := range s.allOf {
		if err := sub.validate(at, v); err != nil {
			return err
		}
	}
	count := func(subs []*schema) (n int) {
		for _, sub := range subs {
			if sub.validate(at, v) == nil {
				n++
			}
		}
		return n
	}
	if s.anyOf != nil && count(s.anyOf) == 0 {
		return disallowed(at, "fits none of the forms allowed, got %s", shown(v))
	}
	if n := count(s.oneOf); s.oneOf != nil && n != 1 {
		return disallowed(at, "fits %d of the forms of which it has to fit one, got %s", n, shown(v))
	}
	if s.not != nil && s.not.validate(at, v) == nil {
		return disallowed(at, "of a form that is not allowed, got %s", shown(v))
	}
	return nil
}

// equalJSON compares as JSON does: 1 and 1.0 are one number.
func equalJSON(a, b any) bool {
	if x, ok := number(a); ok {
		y, ok := number(b)
		return ok && x == y
	}
	switch a := a.(type) {
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equalJSON)
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, equalJSON)
	}
	return reflect.DeepEqual(a, b)
}
