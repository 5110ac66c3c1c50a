package modeldb

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/mgo.v2/bson"
)

// The keys of maps that users and agents choose may contain what MongoDB forbids or
// truncates in a field's name. Only this file escapes and unescapes them: every string is
// restored unchanged, and no two share a field.
//
// "." and "$" are stored as their full-width forms, as in the first version. Everything
// else that needs escaping, including those full-width forms, is stored as its bytes in hex,
// each after a mark that no text contains (U+FDD0 is not a character).
const (
	wideDot    = "\uff0e"
	wideDollar = "\uff04"
	keyMark    = "\ufdd0"
)

// EscapeKey returns the field name of a key.
func EscapeKey(key string) string {
	if key == "" {
		return keyMark
	}
	if isPlainKey(key) {
		return key
	}
	var b strings.Builder
	for i := 0; i < len(key); {
		r, n := utf8.DecodeRuneInString(key[i:])
		part := key[i : i+n]
		switch {
		case part == ".":
			b.WriteString(wideDot)
		case part == "$":
			b.WriteString(wideDollar)
		case part == wideDot || part == wideDollar || part == keyMark || r == 0 || r == utf8.RuneError && n == 1:
			for _, c := range []byte(part) {
				b.WriteString(keyMark)
				b.WriteString(strconv.FormatUint(uint64(c)+0x100, 16)[1:])
			}
		default:
			b.WriteString(part)
		}
		i += n
	}
	return b.String()
}

// UnescapeKey returns the key of a field name. Names that EscapeKey never returns are
// returned unchanged.
func UnescapeKey(field string) string {
	if field == keyMark {
		return ""
	}
	if isPlainKey(field) {
		return field
	}
	var b strings.Builder
	for i := 0; i < len(field); {
		rest := field[i:]
		switch {
		case strings.HasPrefix(rest, wideDot):
			b.WriteByte('.')
			i += len(wideDot)
		case strings.HasPrefix(rest, wideDollar):
			b.WriteByte('$')
			i += len(wideDollar)
		case strings.HasPrefix(rest, keyMark) && len(rest) >= len(keyMark)+2:
			c, err := strconv.ParseUint(rest[len(keyMark):len(keyMark)+2], 16, 8)
			if err != nil {
				b.WriteString(keyMark)
				i += len(keyMark)
				continue
			}
			b.WriteByte(byte(c))
			i += len(keyMark) + 2
		default:
			b.WriteByte(rest[0])
			i++
		}
	}
	return b.String()
}

// isPlainKey reports whether a key needs no escaping, which is true of nearly all keys.
func isPlainKey(key string) bool {
	for i := range len(key) {
		if c := key[i]; c == 0 || c == '.' || c == '$' || c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func EscapeKeys[V any](m map[string]V) map[string]V { return mapKeys(m, EscapeKey) }

func UnescapeKeys[V any](m map[string]V) map[string]V { return mapKeys(m, UnescapeKey) }

// mapKeys applies f to the keys of a map, and of the maps in it.
func mapKeys[V any](m map[string]V, f func(string) string) map[string]V {
	out := make(map[string]V, len(m))
	for k, v := range m {
		if inner, ok := WithKeys(v, f).(V); ok {
			v = inner
		}
		out[f(k)] = v
	}
	return out
}

func WithKeys(v any, f func(string) string) any {
	switch v := v.(type) {
	case map[string]any:
		return mapKeys(v, f)
	case bson.M:
		return mapKeys(map[string]any(v), f)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = WithKeys(v[i], f)
		}
		return out
	}
	return v
}
