package hooks

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"juju/state/entity"
	"juju/state/limits"
)

// A payloadBuffer is a hook's view of the unit's payloads, with the hook's changes.
type payloadBuffer struct {
	now     map[string]entity.Payload // by class, as if the buffer were committed
	changed map[string]bool           // by class
}

func (b *payloadBuffer) all() []entity.Payload {
	all := []entity.Payload{}
	for _, class := range slices.Sorted(maps.Keys(b.now)) {
		all = append(all, b.now[class])
	}
	return all
}

func (b *payloadBuffer) addTo(changes *entity.HookChanges) {
	for _, class := range slices.Sorted(maps.Keys(b.changed)) {
		if p, ok := b.now[class]; ok {
			changes.Payloads = append(changes.Payloads, p)
		} else {
			changes.DropPayloads = append(changes.DropPayloads, class)
		}
	}
}

// withPayloads calls f with the unit's payloads.
func (c *Context) withPayloads(ctx context.Context, f func(*payloadBuffer) error) error {
	return c.payloads.use(ctx, func(ctx context.Context) (payloadBuffer, error) {
		all, err := c.backend.Payloads(ctx, c.unit)
		if err != nil {
			return payloadBuffer{}, fmt.Errorf("cannot read the unit's payloads: %w", err)
		}
		b := payloadBuffer{map[string]entity.Payload{}, map[string]bool{}}
		for _, p := range all {
			b.now[p.Class] = p
		}
		return b, nil
	}, f)
}

// SetPayload checks the controller's limits immediately: at commit time the hook has exited, and can't report errors.
func (c toolContext) SetPayload(ctx context.Context, p entity.Payload) error {
	return c.withPayloads(ctx, func(b *payloadBuffer) error {
		old, had := b.now[p.Class]
		b.now[p.Class] = p
		if err := limits.CheckPayloads(b.all()); err != nil {
			if delete(b.now, p.Class); had {
				b.now[p.Class] = old
			}
			return err
		}
		b.changed[p.Class] = true
		return nil
	})
}

func (c toolContext) SetPayloadStatus(ctx context.Context, class, id, status string) error {
	return c.withPayloads(ctx, func(b *payloadBuffer) error {
		p, ok := b.now[class]
		if !ok || p.ID != id {
			return entity.WithHint(entity.Errorf(entity.NotFound, "payload %q not found", class+"/"+id),
				"register it first: payload-register TYPE %s %s", class, id)
		}
		p.Status = status
		b.now[class], b.changed[class] = p, true
		return nil
	})
}

func (c toolContext) DropPayload(ctx context.Context, class, id string) error {
	return c.withPayloads(ctx, func(b *payloadBuffer) error {
		if p, ok := b.now[class]; ok && p.ID == id {
			delete(b.now, class)
			b.changed[class] = true
		}
		return nil
	})
}
