package hooks

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"juju/state/entity"
	"juju/state/limits"
)

// A stateBuffer is a hook's view of the charm's state in the controller, with the hook's changes.
type stateBuffer struct {
	now  entity.CharmState // as if the buffer were committed
	size int               // of now, as the limit counts it
	set  entity.CharmState
	drop map[string]bool

	changed *changed
}

func newStateBuffer(kept entity.CharmState, c *changed) stateBuffer {
	b := stateBuffer{now: entity.CharmState{}, set: entity.CharmState{}, drop: map[string]bool{}, changed: c}
	maps.Copy(b.now, kept)
	for k, v := range b.now {
		b.size += limits.SettingSize(k, v)
	}
	return b
}

// put sets all keys or none. It checks the controller's limits immediately: at commit time the hook has
// exited, and can't report errors.
func (b *stateBuffer) put(values entity.CharmState) error {
	if err := limits.CheckCharmState(values); err != nil {
		return err
	}
	size := b.size
	for k, v := range values {
		if old, ok := b.now[k]; ok {
			size -= limits.SettingSize(k, old)
		}
		size += limits.SettingSize(k, v)
	}
	if size > b.size { // what exceeds the limit already may shrink
		if err := limits.CharmState.Check(size); err != nil {
			return err
		}
	}
	if err := b.changed.replace(b.set, values); err != nil {
		return err
	}
	b.size = size
	for k, v := range values {
		b.now[k], b.set[k] = v, v
		delete(b.drop, k)
	}
	return nil
}

// remove deletes a key, if it exists.
func (b *stateBuffer) remove(key string) {
	old, ok := b.now[key]
	if !ok {
		return
	}
	b.size -= limits.SettingSize(key, old)
	delete(b.now, key)
	if v, ok := b.set[key]; ok {
		b.changed.forget(key, v)
		delete(b.set, key)
	}
	b.drop[key] = true
}

func (b *stateBuffer) addTo(changes *entity.HookChanges) {
	if len(b.set) > 0 {
		changes.CharmState = maps.Clone(b.set)
	}
	changes.DropState = slices.Sorted(maps.Keys(b.drop))
}

// withState calls f with the charm's state.
func (c *Context) withState(ctx context.Context, f func(*stateBuffer) error) error {
	return c.kept.use(ctx, func(ctx context.Context) (stateBuffer, error) {
		kept, err := c.backend.CharmState(ctx, c.unit)
		if err != nil {
			return stateBuffer{}, fmt.Errorf("cannot read the charm's state: %w", err)
		}
		return newStateBuffer(kept, &c.changed), nil
	}, f)
}

func (c toolContext) CharmState(ctx context.Context) (kept entity.CharmState, err error) {
	err = c.withState(ctx, func(b *stateBuffer) error {
		kept = maps.Clone(b.now)
		return nil
	})
	return kept, err
}

func (c toolContext) SetCharmState(ctx context.Context, values entity.CharmState) error {
	return c.withState(ctx, func(b *stateBuffer) error { return b.put(values) })
}

func (c toolContext) DeleteCharmState(ctx context.Context, key string) error {
	return c.withState(ctx, func(b *stateBuffer) error {
		b.remove(key)
		return nil
	})
}
