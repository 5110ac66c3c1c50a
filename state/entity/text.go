package entity

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxNamed is how many bytes of a foreign name are logged.
const maxNamed = 100

// Cut returns the first max bytes of a longer text, as valid UTF-8, with a mark that says how
// much is missing.
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

// Named returns a name from an untrusted client in a form that is safe in a line of a log: it is cut,
// and quoted if it contains anything that could pass for another line.
func Named(name string) string {
	name = Cut(name, maxNamed)
	if strings.ContainsFunc(name, func(r rune) bool { return r == utf8.RuneError || !strconv.IsPrint(r) }) {
		return strconv.Quote(name)
	}
	return name
}
