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
	others *porttable.Table               // the ports that the machine's other units have open
	units  map[entity.PortRange]string    // which of them
	mine   *porttable.Table               // open for this unit, as if the buffer were committed
	open   map[entity.PortRange]endpoints // those in mine
	before map[entity.PortRange]endpoints // those that state has
}

// endpoints are those that a range is open for, sorted; nil stands for all.
type endpoints []string

func newPortBuffer(unit string, opened map[string][]entity.EndpointPorts) portBuffer {
	b := portBuffer{
		units: map[entity.PortRange]string{}, mine: porttable.New(nil),
		open: map[entity.PortRange]endpoints{}, before: map[entity.PortRange]endpoints{},
	}
	for name, ranges := range opened {
		for _, r := range ranges {
			if name != unit {
				b.units[r.PortRange] = name
			} else {
				b.mine.Add(r.PortRange)
				b.open[r.PortRange], b.before[r.PortRange] = r.Endpoints, r.Endpoints
			}
		}
	}
	b.others = porttable.New(slices.Collect(maps.Keys(b.units)))
	return b
}

// openRange opens r for some endpoints, or for all if there are none. It stays open for those for which it was. It must
// not conflict with an open range on the machine.
func (b *portBuffer) openRange(r entity.PortRange, these endpoints) error {
	if with, conflict := b.mine.Conflict(r); conflict {
		if with == r {
			if has := b.open[r]; len(has) > 0 && len(these) > 0 {
				b.open[r] = sorted(append(slices.Clone(has), these...))
			} else {
				b.open[r] = nil
			}
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
	b.mine.Add(r)
	b.open[r] = sorted(these)
	return nil
}

// closeRange closes r, which must equal a range that was opened, for some endpoints, or for all if there are none. A range
// that is open for all of the charm's endpoints stays open for the others. Closing a range that is not open has no
// effect, and a unit can't close other units' ports.
func (b *portBuffer) closeRange(r entity.PortRange, these, charm endpoints) error {
	if !b.mine.Has(r) {
		if with, conflict := b.mine.Conflict(r); conflict {
			err := entity.Errorf(entity.Invalid, "cannot close %v: port ranges %v and %v conflict", r, r, with)
			return entity.WithHint(err, "a range is closed as it was opened: close %v", with)
		}
		return nil
	}
	var left endpoints
	if len(these) > 0 {
		if left = slices.Clone(b.open[r]); len(left) == 0 {
			left = sorted(charm)
		}
		left = slices.DeleteFunc(left, func(name string) bool { return slices.Contains(these, name) })
	}
	if len(left) > 0 {
		b.open[r] = left
		return nil
	}
	b.mine.Remove(r)
	delete(b.open, r)
	return nil
}

func sorted(names endpoints) endpoints { return slices.Compact(slices.Sorted(slices.Values(names))) }

// addTo adds the hook's changes.
func (b *portBuffer) addTo(changes *entity.HookChanges) {
	for _, r := range slices.SortedFunc(maps.Keys(b.open), entity.ComparePorts) {
		switch was, is := b.before[r], b.open[r]; {
		case has(b.before, r) && slices.Equal(was, is):
		case len(is) == 0:
			changes.OpenPorts = append(changes.OpenPorts, r)
		default:
			changes.EndpointPorts = append(changes.EndpointPorts, entity.EndpointPorts{PortRange: r, Endpoints: is})
		}
	}
	for _, r := range slices.SortedFunc(maps.Keys(b.before), entity.ComparePorts) {
		if !has(b.open, r) {
			changes.ClosePorts = append(changes.ClosePorts, r)
		}
	}
}

func has(ranges map[entity.PortRange]endpoints, r entity.PortRange) bool {
	_, ok := ranges[r]
	return ok
}

// withPorts calls f with the machine's open ports.
func (c *Context) withPorts(ctx context.Context, f func(*portBuffer) error) error {
	return c.ports.use(ctx, func(ctx context.Context) (portBuffer, error) {
		ports, err := c.backend.OpenedPorts(ctx, c.unit)
		if err != nil {
			return portBuffer{}, fmt.Errorf("cannot read the machine's open ports: %w", err)
		}
		return newPortBuffer(c.params.Unit, ports), nil
	}, f)
}

func (c toolContext) OpenPorts(ctx context.Context, r entity.EndpointPorts) error {
	return c.withPorts(ctx, func(b *portBuffer) error { return b.openRange(r.PortRange, r.Endpoints) })
}

func (c toolContext) ClosePorts(ctx context.Context, r entity.EndpointPorts) error {
	var all endpoints
	if len(r.Endpoints) > 0 {
		meta, err := c.CharmMeta()
		if err != nil {
			return err
		}
		all = meta.Endpoints()
	}
	return c.withPorts(ctx, func(b *portBuffer) error { return b.closeRange(r.PortRange, r.Endpoints, all) })
}

func (c toolContext) OpenedPorts(ctx context.Context) (ranges []entity.EndpointPorts, err error) {
	err = c.withPorts(ctx, func(b *portBuffer) error {
		for _, r := range b.mine.Ranges() {
			ranges = append(ranges, entity.EndpointPorts{PortRange: r, Endpoints: b.open[r]})
		}
		return nil
	})
	return ranges, err
}
