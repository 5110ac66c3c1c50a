package statusfmt

import "juju/apiserver/display"

const (
	gap = 2 // spaces between columns
	// minLast is the minimum width of the last column. If less is available, its texts go on lines of their own.
	minLast = 20
	// minWrapped is the minimum width of such a line.
	minWrapped = 6
)

// fit fits the table into a terminal: it drops empty columns, and wraps messages in the last column between words, below
// the rows if necessary. Other columns have names and addresses, which users copy, so they stay whole: those for which a
// line has no room go on the next. It returns the widths of the columns, and how to break rows.
func (t *table) fit(width int) (widths []int, broken breaking) {
	widths = t.widths()
	if width <= 0 || len(t.rows) == 0 || sum(widths) <= width {
		return widths, breaking{}
	}
	for i := len(widths) - 2; i >= 0 && sum(widths) > width; i-- {
		if t.isEmpty(i) {
			t.drop(i)
			widths = t.widths()
		}
	}
	last := len(widths) - 1
	if last < 1 || !messages[t.rows[0][last].text] {
		return widths, breaking{folds: folds(widths, width)}
	}
	if sum(widths) <= width {
		return widths, breaking{}
	}
	others := sum(widths[:last])
	if room := width - others - gap; room >= minLast {
		widths[last] = room
		return widths, breaking{indent: others + gap, room: room}
	}
	return widths, breaking{indent: foldIndent, room: max(width-foldIndent, minWrapped), below: true, folds: folds(widths[:last], width)}
}

// foldIndent is how far lines that continue a row are indented.
const foldIndent = 4

// folds returns the columns with which a row goes on in another line.
func folds(widths []int, width int) (columns []int) {
	used := 0
	for i, w := range widths {
		if used += w; i > 0 {
			used += gap
		}
		if i > 0 && used > width {
			columns = append(columns, i)
			used = foldIndent + w
		}
	}
	return columns
}

// messages are the headers of columns with free text.
var messages = map[string]bool{"Message": true, "Notes": true}

// A breaking is how to break rows, and the texts of a table's last column. With room 0 these are not wrapped.
type breaking struct {
	folds        []int // the columns with which a row goes on in another line
	indent, room int
	below        bool // all lines go below the row, including the first
}

// widths returns the width of the widest text in each column.
func (t *table) widths() (widths []int) {
	for _, row := range t.rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], display.Width(c.text))
		}
	}
	return widths
}

// sum returns the width of a row.
func sum(widths []int) int {
	n := gap * max(len(widths)-1, 0)
	for _, w := range widths {
		n += w
	}
	return n
}

// isEmpty reports whether a column is empty below its header.
func (t *table) isEmpty(column int) bool {
	for _, row := range t.rows[1:] {
		if column < len(row) && row[column].text != "" {
			return false
		}
	}
	return true
}

func (t *table) drop(column int) {
	for r, row := range t.rows {
		if column < len(row) {
			t.rows[r] = append(append([]cell{}, row[:column]...), row[column+1:]...)
		}
	}
	right := map[int]bool{}
	for i := range t.right {
		switch {
		case i < column:
			right[i] = true
		case i > column:
			right[i-1] = true
		}
	}
	t.right = right
}
