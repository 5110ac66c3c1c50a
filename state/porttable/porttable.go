// Package porttable finds open ports that conflict.
package porttable

import (
	"cmp"
	"slices"

	"juju/state/entity"
)

// A Table is a sorted set of port ranges that don't overlap. Sorting makes each lookup a binary
// search: a unit may open its ports one by one. Adjacent ranges aren't merged, because each is
// closed as it was opened.
type Table struct {
	ranges []entity.PortRange // by protocol, then by port
	looked int                // how many ranges were compared, for tests
}

// New makes a table of ranges in any order.
func New(ranges []entity.PortRange) *Table {
	return &Table{ranges: slices.SortedFunc(slices.Values(ranges), entity.ComparePorts)}
}

// Ranges returns the ranges in the order of entity.ComparePorts. The caller must not modify the
// slice.
func (t *Table) Ranges() []entity.PortRange { return t.ranges }

// find returns the index of the first range that ends at r's first port or later.
func (t *Table) find(r entity.PortRange) int {
	i, _ := slices.BinarySearchFunc(t.ranges, r, func(one, r entity.PortRange) int {
		t.looked++
		return cmp.Or(cmp.Compare(one.Protocol, r.Protocol), cmp.Compare(one.To, r.From))
	})
	return i
}

// Conflict returns the first range that shares a port with r.
func (t *Table) Conflict(r entity.PortRange) (entity.PortRange, bool) {
	if i := t.find(r); i < len(t.ranges) && t.ranges[i].Conflicts(r) {
		return t.ranges[i], true
	}
	return entity.PortRange{}, false
}

// Has reports whether exactly r is in the table.
func (t *Table) Has(r entity.PortRange) bool {
	with, conflict := t.Conflict(r)
	return conflict && with == r
}

// Add adds a range that doesn't conflict with any other.
func (t *Table) Add(r entity.PortRange) {
	t.ranges = slices.Insert(t.ranges, t.find(r), r)
}

// Remove removes exactly r, and reports whether the table had it.
func (t *Table) Remove(r entity.PortRange) bool {
	if !t.Has(r) {
		return false
	}
	i := t.find(r)
	t.ranges = slices.Delete(t.ranges, i, i+1)
	return true
}
