package charm

import (
	"math"
	"regexp"
	"strings"
	"unicode/utf8"
)

// compileRule returns the check for a keyword about numbers, strings or counts, or nil for a
// keyword without a rule.
func compileRule(key string, v any, all map[string]any) (func(at string, v any) error, error) {
	switch key {
	case "minimum", "maximum":
		return boundRule(key, v, all)
	case "multipleOf":
		step, ok := number(v)
		if !ok || step <= 0 {
			return nil, wanted("a number above 0", v)
		}
		return func(at string, v any) error {
			if n, ok := number(v); ok && math.Trunc(n/step) != n/step {
				return disallowed(at, "expected a multiple of %v, got %v", step, n)
			}
			return nil
		}, nil
	case "exclusiveMinimum", "exclusiveMaximum", "uniqueItems":
		flag, ok := v.(bool)
		if !ok {
			return nil, wanted("true or false", v)
		}
		if key == "uniqueItems" && flag {
			return uniqueRule, nil
		}
		return nil, nil
	case "pattern":
		text, ok := v.(string)
		if !ok {
			return nil, wanted("a regular expression", v)
		}
		re, err := regexp.Compile(text)
		if err != nil {
			return nil, err
		}
		return func(at string, v any) error {
			if s, ok := v.(string); ok && !re.MatchString(s) {
				return disallowed(at, "expected text that matches %q, got %s", text, shown(v))
			}
			return nil
		}, nil
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties":
		return countRule(key, v)
	}
	return nil, nil
}

func boundRule(key string, v any, all map[string]any) (func(string, any) error, error) {
	bound, ok := number(v)
	if !ok {
		return nil, wanted("a number", v)
	}
	sign, words, flag := 1.0, "at least", "exclusiveMinimum"
	if key == "maximum" {
		sign, words, flag = -1, "at most", "exclusiveMaximum"
	}
	exclusive, _ := all[flag].(bool)
	if exclusive {
		words = map[string]string{"minimum": "more than", "maximum": "less than"}[key]
	}
	return func(at string, v any) error {
		n, ok := number(v)
		if over := (n - bound) * sign; ok && (over < 0 || exclusive && over == 0) {
			return disallowed(at, "expected %s %v, got %v", words, bound, n)
		}
		return nil
	}, nil
}

func countRule(key string, v any) (func(string, any) error, error) {
	bound, ok := wholeNumber(v)
	if !ok || bound < 0 {
		return nil, wanted("a count", v)
	}
	return func(at string, v any) error {
		n := -1
		var of string
		switch v := v.(type) {
		case string:
			n, of = utf8.RuneCountInString(v), "Length"
		case []any:
			n, of = len(v), "Items"
		case map[string]any:
			n, of = len(v), "Properties"
		}
		if n < 0 || key[3:] != of {
			return nil
		}
		if key[:3] == "min" && int64(n) < bound {
			return disallowed(at, "expected %s of at least %d, got %d", strings.ToLower(of), bound, n)
		}
		if key[:3] == "max" && int64(n) > bound {
			return disallowed(at, "expected %s of at most %d, got %d", strings.ToLower(of), bound, n)
		}
		return nil
	}, nil
}

func uniqueRule(at string, v any) error {
	list, _ := v.([]any)
	for i, a := range list {
		for _, b := range list[:i] {
			if equalJSON(a, b) {
				return disallowed(at, "%s is there twice", shown(a))
			}
		}
	}
	return nil
}
