// Package display shows text that this program did not write itself: what charms,
// agents, other users and controllers have said. Shown as it is, such text could
// move the cursor, turn the direction of writing round, or pass for a line of
// somebody else's. What a terminal would act on, and what nobody can see, is shown
// as an escape, as in \x1b and \u202e.
package display

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// Line shows s within one line: newlines and tabs are escaped too.
func Line(s string) string { return escape(s, "") }

// Text shows s with its lines and tabs.
func Text(s string) string { return escape(s, "\n\t") }

// Message shows s with its lines and tabs. The indent stands before each line but
// the first, so that none can pass for the beginning of another message.
func Message(s, indent string) string {
	s = strings.TrimRight(strings.ReplaceAll(s, "\r\n", "\n"), "\n")
	return strings.ReplaceAll(Text(s), "\n", "\n"+indent)
}

// escape makes everything in s visible, except the characters in keep, which stay.
func escape(s, keep string) string {
	var b strings.Builder
	done := 0 // all before is in b already
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

// isVisible reports whether a character may reach a terminal. Letters, marks,
// numbers, punctuation, symbols and spaces may. Controls, characters of direction
// and of no width, and those that separate lines may not.
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

// Width is how many columns of a terminal a line takes.
func Width(line string) (n int) {
	for _, r := range line {
		switch {
		case r < utf8.RuneSelf:
			n++
		case unicode.In(r, unicode.Mn, unicode.Me): // it stands on the character before
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

// Cut returns as much of the beginning of a line as fits into so many columns.
func Cut(line string, columns int) string {
	for i, r := range line {
		if columns -= Width(string(r)); columns < 0 {
			return line[:i]
		}
	}
	return line
}

// A Writer shows what is written to it as Text does. Each write has whole
// characters.
type Writer struct{ w io.Writer }

// NewWriter returns a Writer in front of w, which is w if it is one already.
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

// Raw returns what is behind the writer, for text that holds controls of this
// program's own, like colours, and nothing foreign that is not escaped already.
func (w *Writer) Raw() io.Writer { return w.w }
