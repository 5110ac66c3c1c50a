package hooks

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"juju/state/entity"
	"juju/state/limits"
	"juju/state/porttable"
)

// A portBuffer is a hook's view of its machine's ports, with the hook's own changes.
type portBuffer struct {
	known  bool                        // the backend has been asked
	others *porttable.Table            // the ports that the machine's other units have open
	units  map[entity.PortRange]string // which of them
	mine   *porttable.Table            // open for this unit, as if the buffer were committed
	open   map[entity.PortRange]bool   // to be opened: in mine, not in state
	close  map[entity.PortRange]bool   // to be closed: in state, not in mine
}

func newPortBuffer(unit string, opened map[string][]entity.PortRange) portBuffer {
	b := portBuffer{
		known: true, units: map[entity.PortRange]string{}, mine: porttable.New(opened[unit]),
		open: map[entity.PortRange]bool{}, close: map[entity.PortRange]bool{},
	}
	for name, ranges := range opened {
		for _, r := range ranges {
			if name != unit {
				b.units[r] = name
			}
		}
	}
	b.others = porttable.New(slices.Collect(maps.Keys(b.units)))
	return b
}

// openRange opens r, unless it conflicts with an open range on the machine. Opening a range twice has no
// effect.
func (b *portBuffer) openRange(r entity.PortRange) error {
	if with, conflict := b.mine.Conflict(r); conflict {
		if with == r {
			return nil
		}
		err := entity.Errorf(entity.InUse, "cannot open %v: port ranges %v and %v conflict", r, r, with)
		return entity.WithHint(err, "%v is open for this unit; close it first", with)
	}
	if with, conflict := b.others.Conflict(r); conflict {
		err := entity.Errorf(entity.InUse, "cannot open %v: port ranges %v and %v conflict", r, r, with)
		return entity.WithHint(err, "%v is open for unit %q on the same machine", with, b.units[with])
	}
	if err := limits.UnitPorts.Check(len(b.mine.Ranges()) + 1); err != nil {
		err = entity.Errorf(entity.Invalid, "cannot open %v: %w", r, err)
		return entity.WithHint(err, "open ports that follow each other as one range: open-port 8000-8099")
	}
	if b.close[r] {
		delete(b.close, r)
	} else {
		b.open[r] = true
	}
	b.mine.Add(r)
	return nil
}

// closeRange closes r, which must equal a range that was opened. Closing a range that is not
// open has no effect, and a unit can't close other units' ports.
func (b *portBuffer) closeRange(r entity.PortRange) error {
	if !b.mine.Remove(r) {
		if with, conflict := b.mine.Conflict(r); conflict {
			err := entity.Errorf(entity.Invalid, "cannot close %v: port ranges %v and %v conflict", r, r, with)
			return entity.WithHint(err, "a range is closed as it was opened: close %v", with)
		}
		return nil
	}
	if b.open[r] {
		delete(b.open, r)
	} else {
		b.close[r] = true
	}
	return nil
}

// withPorts loads the open ports if needed and calls f with the buffer.
func (c *Context) withPorts(ctx context.Context, f func(*portBuffer) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ports.known {
		ctx, cancel := context.WithTimeout(ctx, backendTimeout)
		defer cancel()
		ports, err := c.backend.OpenedPorts(ctx, c.unit)
		if err != nil {
			return fmt.Errorf("cannot read the machine's open ports: %w", err)
		}
		c.ports = newPortBuffer(c.params.Unit, ports)
	}
	return f(&c.ports)
}

func (c toolContext) OpenPorts(ctx context.Context, r entity.PortRange) error {
	return c.withPorts(ctx, func(b *portBuffer) error { return b.openRange(r) })
}

func (c toolContext) ClosePorts(ctx context.Context, r entity.PortRange) error {
	return c.withPorts(ctx, func(b *portBuffer) error { return b.closeRange(r) })
}

func (c toolContext) OpenedPorts(ctx context.Context) (ranges []entity.PortRange, err error) {
	err = c.withPorts(ctx, func(b *portBuffer) error {
		ranges = slices.Clone(b.mine.Ranges())
		return nil
	})
	return ranges, err
}

// inOrder returns the ranges sorted, as they are committed.
func inOrder(ranges map[entity.PortRange]bool) []entity.PortRange {
	return slices.SortedFunc(maps.Keys(ranges), entity.ComparePorts)
}
