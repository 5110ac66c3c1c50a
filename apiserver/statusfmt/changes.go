package statusfmt

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"juju/state/entity"
)

// Changes remembers the cells of the tables of earlier statuses, so that Tabular marks those that have changed.
type Changes struct {
	now   time.Time
	began bool // there was an earlier status
	cells map[cellKey]remembered
}

// markTime is how long a change is marked.
const markTime = 10 * time.Second

type cellKey struct{ table, row, column string }

type remembered struct {
	text    string
	changed time.Time // zero if never
	seen    time.Time
}

// NewChanges returns the changes since no status.
func NewChanges() *Changes { return &Changes{cells: map[cellKey]remembered{}} }

// Next begins another status.
func (c *Changes) Next(now time.Time) {
	c.began = !c.now.IsZero()
	c.now = now
}

// isRecent reports whether a time is so recent that what changed then is marked.
func (c *Changes) isRecent(t time.Time) bool { return !t.IsZero() && c.now.Sub(t) < markTime }

// mark marks the cells of a table that have changed, and the new ones.
func (c *Changes) mark(t *table) {
	header := t.rows[0]
	for _, row := range t.rows[1:] {
		for i := range row {
			key := cellKey{header[0].text, t.nameOf(row), header[i].text}
			was, known := c.cells[key]
			if !known && c.began || known && was.text != row[i].text && key.column != "Timestamp" {
				was.changed = c.now
			}
			c.cells[key] = remembered{row[i].text, was.changed, c.now}
			row[i].marked = c.isRecent(was.changed)
		}
	}
}

// nameOf returns what a row is about.
func (t *table) nameOf(row []cell) string {
	name := strings.Trim(row[0].text, " *")
	if t.rows[0][0].text == "Provider" { // relations have no name
		name += " " + row[1].text
	}
	return name
}

// kinds are what the rows of tables are, where the header of names doesn't say so.
var kinds = map[string]string{"App": "service", "Provider": "relation"}

// Gone names the entities that have recently gone.
func (c *Changes) Gone() (names []string) {
	for key, cell := range c.cells {
		switch {
		case cell.seen.Equal(c.now):
		case c.now.Sub(cell.seen) >= markTime:
			delete(c.cells, key)
		case key.table == key.column && key.row != "":
			names = append(names, cmp.Or(kinds[key.table], strings.ToLower(key.table))+" "+key.row)
		}
	}
	slices.SortFunc(names, entity.CompareNatural)
	return names
}
