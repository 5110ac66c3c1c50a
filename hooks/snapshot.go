package hooks

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"juju/charm"
	"juju/state/entity"
	"juju/state/limits"
)

// The methods below are the hook's view of the model.

func (c toolContext) UnitInfo(ctx context.Context) (entity.UnitInfo, error) {
	return c.info.get(ctx, func(ctx context.Context) (entity.UnitInfo, error) {
		info, err := c.backend.Unit(ctx, c.unit)
		if err != nil {
			err = fmt.Errorf("cannot read unit %q: %w", c.params.Unit, err)
		}
		return info, err
	})
}

// Config returns all options of the charm. The map is not to be written to.
func (c toolContext) Config(ctx context.Context) (map[string]any, error) {
	return c.config.get(ctx, func(ctx context.Context) (map[string]any, error) {
		config, err := c.backend.Config(ctx, c.unit)
		if err != nil {
			return nil, fmt.Errorf("cannot read the configuration: %w", err)
		}
		return config, nil
	})
}

// RelationSettings returns the settings of a unit or service in a relation, with what this
// hook has written to its own. The map is the caller's.
func (c toolContext) RelationSettings(ctx context.Context, relation int, of string) (map[string]string, error) {
	key := settingsKey{relation, of}
	settings, err := c.settingsOf(key).get(ctx, func(ctx context.Context) (map[string]string, error) {
		settings, err := c.backend.RelationSettings(ctx, c.unit, relation, of)
		if err != nil {
			kind := "unit"
			if entity.IsValidService(of) {
				kind = "application"
			}
			err = fmt.Errorf("cannot read settings of %s %q in relation %q: %w", kind, of, c.relationID(relation), err)
		}
		return settings, err
	})
	if err != nil {
		return nil, err
	}
	view := make(map[string]string, len(settings))
	maps.Copy(view, settings)
	c.mu.Lock()
	defer c.mu.Unlock()
	for k, v := range c.writes[key] {
		if v == "" {
			delete(view, k)
		} else {
			view[k] = v
		}
	}
	return view, nil
}

func (c *Context) settingsOf(key settingsKey) *fact[map[string]string] {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.settings[key] == nil {
		c.settings[key] = &fact[map[string]string]{}
	}
	return c.settings[key]
}

// SetServiceRelationSettings is writeSettings for settings of the unit's service, which only its leader
// can write.
func (c toolContext) SetServiceRelationSettings(ctx context.Context, relation int, settings map[string]string) error {
	epoch, err := c.leads(ctx)
	if err != nil {
		return fmt.Errorf("cannot determine leadership status: %w", err)
	}
	if epoch == 0 {
		return errors.New("cannot write relation settings")
	}
	c.mu.Lock()
	if c.epoch == 0 {
		c.epoch = epoch
	}
	c.mu.Unlock()
	return c.writeSettings(relation, entity.UnitService(c.params.Unit), settings)
}

// SetRelationSettings is writeSettings for the unit's own.
func (c toolContext) SetRelationSettings(relation int, settings map[string]string) error {
	return c.writeSettings(relation, c.params.Unit, settings)
}

// writeSettings buffers settings of the unit or its service; "" deletes a key. It checks the controller's
// limits immediately: at commit time the hook has exited, and can't report errors.
func (c *Context) writeSettings(relation int, of string, settings map[string]string) error {
	key := settingsKey{relation, of}
	if len(settings) == 0 {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	size := c.written[key]
	for k, v := range settings {
		if old, ok := c.writes[key][k]; ok {
			size -= limits.SettingSize(k, old)
		}
		size += limits.SettingSize(k, v)
	}
	err := limits.CheckRelationSettings(settings)
	if err == nil {
		err = limits.RelationSettings.Check(size)
	}
	if err == nil {
		err = c.changed.replace(c.writes[key], settings)
	}
	if err != nil {
		return fmt.Errorf("cannot set %s: %w", c.relationID(relation), err)
	}
	if c.writes[key] == nil {
		c.writes[key] = map[string]string{}
	}
	maps.Copy(c.writes[key], settings)
	c.written[key] = size
	return nil
}

func (c toolContext) GoalState(ctx context.Context) (entity.GoalState, error) {
	return c.goal.get(ctx, func(ctx context.Context) (entity.GoalState, error) { return c.backend.GoalState(ctx, c.unit) })
}

// CloudSpec is not kept: the secrets in it are in memory no longer than the tool that prints them.
func (c toolContext) CloudSpec(ctx context.Context) (entity.CloudSpec, error) {
	ctx, cancel := context.WithTimeout(ctx, backendTimeout)
	defer cancel()
	return c.backend.CloudSpec(ctx, c.unit)
}

// CharmMeta returns the metadata of the deployed charm.
func (c toolContext) CharmMeta() (*charm.Meta, error) {
	return c.meta.get(context.Background(), func(context.Context) (*charm.Meta, error) {
		dir, err := charm.ReadDir(c.charmDir)
		if err != nil {
			return nil, err
		}
		return dir.Meta, nil
	})
}
