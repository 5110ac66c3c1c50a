// Package display makes untrusted text safe to show, from charms, agents, other users and controllers. Unescaped, it
// could move the cursor, change the writing direction, or pass for another line of output. Control characters and
// invisible characters are shown as escapes such as \x1b and \u202e.
package display

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// Line escapes s, including newlines and tabs.
func Line(s string) string { return escape(s, "") }

// Text escapes s, except newlines and tabs.
func Text(s string) string { return escape(s, "\n\t") }

// Continued prefixes the continuation lines of a log message, so that none can pass for an entry.
const Continued = "    | "

// Message escapes s, except newlines and tabs. It prefixes continuation lines with indent, so that none can pass for
// another message.
func Message(s, indent string) string {
	s = strings.TrimRight(strings.ReplaceAll(s, "\r\n", "\n"), "\n")
	return strings.ReplaceAll(Text(s), "\n", "\n"+indent)
}

// escape escapes all invisible characters in s, except those in keep.
func escape(s, keep string) string {
	var b strings.Builder
	done := 0 // s[:done] is in b
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		invalid := r == utf8.RuneError && size == 1
		if invalid || !isVisible(r) && !strings.ContainsRune(keep, r) {
			b.WriteString(s[done:i])
			if invalid {
				r = rune(s[i])
			}
			b.WriteString(escaped(r))
			done = i + size
		}
		i += size
	}
	if done == 0 {
		return s
	}
	b.WriteString(s[done:])
	return b.String()
}

// isVisible reports whether a character needs no escape: letters, marks, numbers, punctuation, symbols and spaces don't;
// control characters, direction marks, zero-width characters and line separators do.
func isVisible(r rune) bool {
	return unicode.IsGraphic(r) && !unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r)
}

func escaped(r rune) string {
	switch {
	case r == '\n':
		return `\n`
	case r == '\r':
		return `\r`
	case r == '\t':
		return `\t`
	case r < 0x100:
		return fmt.Sprintf(`\x%02x`, r)
	case r < 0x10000:
		return fmt.Sprintf(`\u%04x`, r)
	}
	return fmt.Sprintf(`\U%08x`, r)
}

// Width returns the number of terminal columns that a line takes.
func Width(line string) (n int) {
	for _, r := range line {
		switch {
		case r < utf8.RuneSelf:
			n++
		case unicode.In(r, unicode.Mn, unicode.Me): // combining characters
		default:
			switch width.LookupRune(r).Kind() {
			case width.EastAsianWide, width.EastAsianFullwidth:
				n += 2
			default:
				n++
			}
		}
	}
	return n
}

// Cut returns the longest prefix of a line that fits into a number of columns.
func Cut(line string, columns int) string {
	for i, r := range line {
		if columns -= Width(string(r)); columns < 0 {
			return line[:i]
		}
	}
	return line
}

// Wrap breaks a text between words into lines of at most that many columns. A longer word is a line of its own: it may be
// a name or a path, which users copy.
func Wrap(text string, columns int) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && Width(line)+1+Width(word) <= columns {
			line += " " + word
			continue
		}
		if line != "" {
			lines = append(lines, line)
		}
		line = word
	}
	return append(lines, line)
}

// Fold wraps those lines of a text that take more than a number of columns. Where a line goes on, it is indented a little
// more than it began. Lines with several spaces between words are left as they are: they are aligned with others.
func Fold(text string, columns int) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		words := strings.TrimLeft(line, " ")
		if Width(line) <= columns || strings.Contains(strings.TrimRight(words, " "), "  ") {
			continue
		}
		indent := line[:len(line)-len(words)]
		first, rest, more := strings.Cut(strings.Join(Wrap(words, columns-len(indent)), "\n"), "\n")
		if lines[i] = indent + first; more {
			indent += "  "
			rest = strings.Join(Wrap(rest, columns-len(indent)), "\n"+indent)
			lines[i] += "\n" + indent + rest
		}
	}
	return strings.Join(lines, "\n")
}

// A Writer escapes what is written to it, as Text does. Writes must not split characters.
type Writer struct{ w io.Writer }

// NewWriter returns a Writer to w, or w itself if it is a Writer.
func NewWriter(w io.Writer) *Writer {
	if own, ok := w.(*Writer); ok {
		return own
	}
	return &Writer{w}
}

func (w *Writer) Write(p []byte) (int, error) {
	if _, err := io.WriteString(w.w, Text(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Raw returns the underlying writer, for text with control sequences such as colors. Untrusted text must already be
// escaped.
func (w *Writer) Raw() io.Writer { return w.w }
