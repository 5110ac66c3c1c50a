package hooks

import (
	"maps"
	"slices"

	"juju/state/entity"
)

// A portBuffer is what a hook sees of its machine's ports, and what it has
// opened and closed of its unit's.
type portBuffer struct {
	known  bool                          // the backend has been asked
	others map[string][]entity.PortRange // open for the machine's other units
	mine   []entity.PortRange            // open for this unit, as if the buffer were committed; sorted
	open   []entity.PortRange            // to be opened: in mine, not in state
	close  []entity.PortRange            // to be closed: in state, not in mine
}

func newPortBuffer(unit string, opened map[string][]entity.PortRange) portBuffer {
	b := portBuffer{known: true, others: map[string][]entity.PortRange{}}
	for name, ranges := range opened {
		if name == unit {
			b.mine = slices.SortedFunc(slices.Values(ranges), entity.ComparePorts)
		} else {
			b.others[name] = ranges
		}
	}
	return b
}

// openRange opens r, unless it overlaps with what this unit or another of the
// machine has open. Opening what is open is nothing.
func (b *portBuffer) openRange(r entity.PortRange) error {
	if slices.Contains(b.mine, r) {
		return nil
	}
	if with, conflict := conflicting(r, b.mine); conflict {
		err := entity.Errorf(entity.InUse, "cannot open %v: port ranges %v and %v conflict", r, r, with)
		return entity.WithHint(err, "%v is open for this unit; close it first", with)
	}
	for _, unit := range slices.Sorted(maps.Keys(b.others)) {
		if with, conflict := conflicting(r, b.others[unit]); conflict {
			err := entity.Errorf(entity.InUse, "cannot open %v: port ranges %v and %v conflict", r, r, with)
			return entity.WithHint(err, "%v is open for unit %q on the same machine", with, unit)
		}
	}
	if i := slices.Index(b.close, r); i >= 0 {
		b.close = slices.Delete(b.close, i, i+1)
	} else {
		b.open = append(b.open, r)
	}
	b.mine = append(b.mine, r)
	slices.SortFunc(b.mine, entity.ComparePorts)
	return nil
}

// closeRange closes r, which must be a range as it was opened. Closing what is
// not open is nothing; other units' ports are not this unit's to close.
func (b *portBuffer) closeRange(r entity.PortRange) error {
	i := slices.Index(b.mine, r)
	if i < 0 {
		if with, conflict := conflicting(r, b.mine); conflict {
			err := entity.Errorf(entity.Invalid, "cannot close %v: port ranges %v and %v conflict", r, r, with)
			return entity.WithHint(err, "a range is closed as it was opened: close %v", with)
		}
		return nil
	}
	b.mine = slices.Delete(b.mine, i, i+1)
	if i := slices.Index(b.open, r); i >= 0 {
		b.open = slices.Delete(b.open, i, i+1)
	} else {
		b.close = append(b.close, r)
	}
	return nil
}

// conflicting returns the first of ranges that shares a port with r.
func conflicting(r entity.PortRange, ranges []entity.PortRange) (entity.PortRange, bool) {
	i := slices.IndexFunc(ranges, r.Conflicts)
	if i < 0 {
		return entity.PortRange{}, false
	}
	return ranges[i], true
}
