package statusfmt

import (
	"io"
	"strings"

	"juju/apiserver/display"
	"juju/state/entity"
)

// A cell is a text with an optional color.
type cell struct {
	text  string
	color string // a terminal's SGR parameter, "" for none
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
}

// add adds a row. Text is escaped, so that it stays in its cell.
func (t *table) add(row ...cell) {
	for i := range row {
		row[i].text = display.Line(row[i].text)
	}
	t.rows = append(t.rows, row)
}

// Rows writes rows of texts as a table.
func Rows(w io.Writer, rows [][]string) error {
	t := &table{}
	for _, row := range rows {
		t.add(plain(row...)...)
	}
	return t.write(w, false, 0)
}

// write writes the table, with or without colors, and fits it into the width unless that is 0.
func (t *table) write(w io.Writer, color bool, width int) error {
	widths, broken := t.fit(width)
	last := len(widths) - 1
	for n, row := range t.rows {
		var more []string // lines of the last column below the row
		if broken.room > 0 && len(row) > last {
			row = append([]cell{}, row...)
			switch lines := wrap(row[last].text, broken.room); {
			case broken.below && n > 0 && row[last].text != "":
				more, row = lines, row[:last]
			case broken.below:
				row = row[:last]
			default:
				row[last].text, more = lines[0], lines[1:]
			}
		}
		var line strings.Builder
		for i, c := range row {
			text := c.text
			pad := strings.Repeat(" ", widths[i]-display.Width(text))
			if color && c.color != "" && text != "" {
				text = "\x1b[" + c.color + "m" + text + "\x1b[0m"
			}
			if t.right[i] {
				text = pad + text
			} else {
				text += pad
			}
			if i > 0 {
				line.WriteString(strings.Repeat(" ", gap))
			}
			line.WriteString(text)
		}
		lines := strings.TrimRight(line.String(), " ") + "\n"
		for _, text := range more {
			lines += strings.Repeat(" ", broken.indent) + text + "\n"
		}
		if _, err := io.WriteString(w, lines); err != nil {
			return err
		}
	}
	return nil
}

// The colors of statuses.
const (
	good = "32"
	busy = "33"
	bad  = "31"
)

var colors = map[entity.StatusWord]string{
	entity.StatusActive: good, entity.StatusIdle: good, entity.StatusStarted: good,
	"running": good, "available": good, "joined": good,
	entity.StatusMaintenance: busy, entity.StatusWaiting: busy, entity.StatusAllocating: busy,
	entity.StatusExecuting: busy, entity.StatusRebooting: busy, entity.StatusPending: busy, entity.StatusUnknown: busy, "destroying": busy,
	entity.StatusBlocked: bad, entity.StatusError: bad, entity.StatusFailed: bad,
	entity.StatusLost: bad, entity.StatusDown: bad,
}

func statusCell(s entity.Status) cell { return cell{string(s.Status), colors[s.Status]} }
