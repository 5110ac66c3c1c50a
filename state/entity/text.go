package entity

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxNamed is how many bytes of an untrusted name are logged.
const maxNamed = 100

// Cut shortens a text that is longer than max bytes, keeping it valid UTF-8, and appends how many bytes
// were cut.
func Cut(text string, max int) string {
	if len(text) <= max {
		return text
	}
	kept := max
	for kept > 0 && !utf8.RuneStart(text[kept]) {
		kept--
	}
	return fmt.Sprintf("%s [%d bytes cut]", text[:kept], len(text)-kept)
}

// Named returns a name from an untrusted client in a form that is safe to log: shortened, and quoted if
// it contains unprintable characters, which could fake another log line.
func Named(name string) string {
	name = Cut(name, maxNamed)
	if strings.ContainsFunc(name, func(r rune) bool { return r == utf8.RuneError || !strconv.IsPrint(r) }) {
		return strconv.Quote(name)
	}
	return name
}
