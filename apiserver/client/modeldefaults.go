package client

import (
	"context"

	"juju/apiserver/params"
	"juju/state/entity"
)

// ModelDefaults returns the defaults of the settings of new models. The connection must be to the controller itself, as
// for all methods in this file.
func (c *Conn) ModelDefaults(ctx context.Context) (map[string]entity.ModelDefault, error) {
	clouds, err := c.Clouds(ctx)
	if err != nil {
		return nil, err
	}
	var result params.ModelDefaultsResults
	if err := c.call(ctx, "ModelManager", 10, "ModelDefaultsForClouds", cloudTags(clouds...), &result); err != nil {
		return nil, err
	}
	all := map[string]entity.ModelDefault{}
	for _, r := range result.Results {
		if r.Error != nil {
			return nil, params.FromError(r.Error)
		}
		for key, one := range r.Config {
			all[key] = entity.ModelDefault(one)
		}
	}
	return all, nil
}

// SetModelDefaults changes settings that new models get. The values are as users write them.
func (c *Conn) SetModelDefaults(ctx context.Context, config map[string]string) error {
	one := params.ModelDefaultValues{Config: map[string]any{}}
	for key, value := range config {
		one.Config[key] = value
	}
	var result params.ErrorResults
	err := c.call(ctx, "ModelManager", 10, "SetModelDefaults",
		params.SetModelDefaults{Config: []params.ModelDefaultValues{one}}, &result)
	if err != nil {
		return err
	}
	return only(result.Results)
}

// ResetModelDefaults makes new models get the programs' own defaults of settings.
func (c *Conn) ResetModelDefaults(ctx context.Context, keys ...string) error {
	var result params.ErrorResults
	err := c.call(ctx, "ModelManager", 10, "UnsetModelDefaults",
		params.UnsetModelDefaults{Keys: []params.ModelUnsetKeys{{Keys: keys}}}, &result)
	if err != nil {
		return err
	}
	return only(result.Results)
}

// ControllerConfig returns the settings of the controller.
func (c *Conn) ControllerConfig(ctx context.Context) (map[string]any, error) {
	var result params.ControllerConfigResult
	err := c.call(ctx, "Controller", 12, "ControllerConfig", nil, &result)
	return result.Config, err
}

// SetControllerConfig changes settings of the controller.
func (c *Conn) SetControllerConfig(ctx context.Context, config map[string]any) error {
	return c.call(ctx, "Controller", 12, "ConfigSet", params.ControllerConfigSet{Config: config}, nil)
}
