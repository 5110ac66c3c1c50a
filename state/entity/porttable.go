package entity

import (
	"cmp"
	"slices"
)

// A PortTable is a sorted set of port ranges that don't overlap, so that each lookup is a binary
// search: a unit may open its ports one by one. Ranges stay as they were opened, even adjacent
// ones, because they are closed as they were opened.
type PortTable struct {
	ranges []PortRange // by protocol, then by port
	looked int         // how many ranges were compared, for tests
}

// NewPortTable makes a table of ranges in any order.
func NewPortTable(ranges []PortRange) *PortTable {
	return &PortTable{ranges: slices.SortedFunc(slices.Values(ranges), ComparePorts)}
}

// Ranges returns them in the order of ComparePorts. The caller must not change the list.
func (t *PortTable) Ranges() []PortRange { return t.ranges }

// find returns the index of the first range that ends at r's first port or later.
func (t *PortTable) find(r PortRange) int {
	i, _ := slices.BinarySearchFunc(t.ranges, r, func(one, r PortRange) int {
		t.looked++
		return cmp.Or(cmp.Compare(one.Protocol, r.Protocol), cmp.Compare(one.To, r.From))
	})
	return i
}

// Conflict returns the first range that shares a port with r.
func (t *PortTable) Conflict(r PortRange) (PortRange, bool) {
	if i := t.find(r); i < len(t.ranges) && t.ranges[i].Conflicts(r) {
		return t.ranges[i], true
	}
	return PortRange{}, false
}

// Has reports whether exactly r is in the table.
func (t *PortTable) Has(r PortRange) bool {
	with, conflict := t.Conflict(r)
	return conflict && with == r
}

// Add adds a range that conflicts with none.
func (t *PortTable) Add(r PortRange) {
	t.ranges = slices.Insert(t.ranges, t.find(r), r)
}

// Remove removes exactly r, and reports whether it was there.
func (t *PortTable) Remove(r PortRange) bool {
	if !t.Has(r) {
		return false
	}
	i := t.find(r)
	t.ranges = slices.Delete(t.ranges, i, i+1)
	return true
}
