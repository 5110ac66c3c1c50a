package statusfmt

import (
	"io"
	"slices"
	"strings"

	"juju/apiserver/display"
	"juju/state/entity"
)

// A cell is a text with an optional color.
type cell struct {
	text   string
	color  string // a terminal's SGR parameter, "" for none
	marked bool   // as changed
}

func plain(texts ...string) []cell {
	row := make([]cell, len(texts))
	for i, t := range texts {
		row[i] = cell{text: t}
	}
	return row
}

type table struct {
	rows  [][]cell
	right map[int]bool // right-aligned columns
	marks bool         // each line begins with a mark or space for one
}

// add adds a row. Text is escaped, so that it stays in its cell.
func (t *table) add(row ...cell) {
	for i := range row {
		row[i].text = display.Line(row[i].text)
	}
	t.rows = append(t.rows, row)
}

// Rows writes rows of texts, the first of them a header, as a table, as write does.
func Rows(w io.Writer, rows [][]string, color bool, width int) error {
	t := &table{}
	for _, row := range rows {
		t.add(plain(row...)...)
	}
	return t.write(w, color, width)
}

// mark stands before a row with a cell that has changed.
const mark = "▸ "

// write writes the table, with or without colors, and fits it into the width unless that is 0. With colors, the header is
// bold and messages are dim.
func (t *table) write(w io.Writer, color bool, width int) error {
	if t.marks && width > 0 {
		width -= display.Width(mark)
	}
	widths, broken := t.fit(width)
	last := len(widths) - 1
	t.style()
	for n, row := range t.rows {
		var more []string // lines of the last column below the row
		if broken.room > 0 && len(row) > last {
			row = append([]cell{}, row...)
			switch lines := display.Wrap(row[last].text, broken.room); {
			case broken.below && n > 0 && row[last].text != "":
				more, row = lines, row[:last]
			case broken.below:
				row = row[:last]
			default:
				row[last].text, more = lines[0], lines[1:]
			}
		}
		begin, next := t.margin(t.rows[n])
		folded := t.lines(row, widths, broken.folds, color)
		lines := strings.TrimRight(begin+folded[0], " ") + "\n"
		for _, text := range folded[1:] {
			lines += next + strings.Repeat(" ", foldIndent) + text + "\n"
		}
		for _, text := range more {
			if color {
				text = display.Paint(text, t.rows[n][last].color)
			}
			lines += next + strings.Repeat(" ", broken.indent) + text + "\n"
		}
		if _, err := io.WriteString(w, lines); err != nil {
			return err
		}
	}
	return nil
}

// style gives the header and messages the styles that they have with colors.
func (t *table) style() {
	for n, row := range t.rows {
		for i := range row {
			switch {
			case n == 0:
				row[i].color = display.Bold
			case i < len(t.rows[0]) && messages[t.rows[0][i].text] && row[i].color == "":
				row[i].color = display.Dim
			}
		}
	}
}

// lines returns the lines of a row: one, and one for each of the columns folds, where it goes on unless nothing is left.
func (t *table) lines(row []cell, widths, folds []int, color bool) (lines []string) {
	var line strings.Builder
	end := func() {
		if text := strings.TrimRight(line.String(), " "); len(lines) == 0 || text != "" {
			lines = append(lines, text)
		}
		line.Reset()
	}
	for i, c := range row {
		pad := strings.Repeat(" ", widths[i]-display.Width(c.text))
		text := c.text
		if color {
			text = c.painted()
		}
		if t.right[i] {
			text = pad + text
		} else {
			text += pad
		}
		if slices.Contains(folds, i) {
			end()
		} else if i > 0 {
			line.WriteString(strings.Repeat(" ", gap))
		}
		line.WriteString(text)
	}
	end()
	return lines
}

// margin returns what stands before the first line of a row, and before its others.
func (t *table) margin(row []cell) (begin, next string) {
	if !t.marks {
		return "", ""
	}
	next = strings.Repeat(" ", display.Width(mark))
	if slices.ContainsFunc(row, func(c cell) bool { return c.marked }) {
		return mark, next
	}
	return next, next
}

// reverse is the SGR parameter of a changed cell.
const reverse = "7"

// painted returns the cell's text in its color.
func (c cell) painted() string {
	switch {
	case !c.marked:
		return display.Paint(c.text, c.color)
	case c.color == "":
		return display.Paint(c.text, reverse)
	}
	return display.Paint(c.text, c.color+";"+reverse)
}

// The colors of statuses.
const (
	good = display.Green
	busy = display.Yellow
	bad  = display.Red
)

var colors = map[entity.StatusWord]string{
	entity.StatusActive: good, entity.StatusIdle: good, entity.StatusStarted: good,
	"running": good, "available": good, "joined": good,
	entity.StatusMaintenance: busy, entity.StatusWaiting: busy, entity.StatusAllocating: busy,
	entity.StatusExecuting: busy, entity.StatusRebooting: busy, entity.StatusPending: busy, entity.StatusUnknown: busy, "destroying": busy,
	entity.StatusBlocked: bad, entity.StatusError: bad, entity.StatusFailed: bad,
	entity.StatusLost: bad, entity.StatusDown: bad,
}

func statusCell(s entity.Status) cell { return cell{text: string(s.Status), color: colors[s.Status]} }
