package hooks

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"juju/state/entity"
	"juju/state/limits"
)

// A stateBuffer is what a hook sees of what the charm keeps in the controller, and how the hook has
// changed that.
type stateBuffer struct {
	now  entity.CharmState // as if the buffer were committed; nil until it was read
	size int               // of now, as the limit counts it
	set  entity.CharmState
	drop map[string]bool
}

func newStateBuffer(kept entity.CharmState) stateBuffer {
	b := stateBuffer{now: entity.CharmState{}, set: entity.CharmState{}, drop: map[string]bool{}}
	maps.Copy(b.now, kept)
	for k, v := range b.now {
		b.size += limits.SettingSize(k, v)
	}
	return b
}

// put sets keys, all or none. What the controller would not take is refused at once: at the
// commit the hook is over, and can't say what was wrong.
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
	b.size = size
	for k, v := range values {
		b.now[k], b.set[k] = v, v
		delete(b.drop, k)
	}
	return nil
}

// remove deletes a key; one that is not there is no error.
func (b *stateBuffer) remove(key string) {
	old, ok := b.now[key]
	if !ok {
		return
	}
	b.size -= limits.SettingSize(key, old)
	delete(b.now, key)
	delete(b.set, key)
	b.drop[key] = true
}

func (b *stateBuffer) addTo(changes *entity.HookChanges) {
	if len(b.set) > 0 {
		changes.CharmState = maps.Clone(b.set)
	}
	changes.DropState = slices.Sorted(maps.Keys(b.drop))
}

// withState calls f with what the charm keeps, after reading it.
func (c *Context) withState(ctx context.Context, f func(*stateBuffer) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept.now == nil {
		ctx, cancel := context.WithTimeout(ctx, backendTimeout)
		defer cancel()
		kept, err := c.backend.CharmState(ctx, c.unit)
		if err != nil {
			return fmt.Errorf("cannot read the charm's state: %w", err)
		}
		c.kept = newStateBuffer(kept)
	}
	return f(&c.kept)
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
