package client

import (
	"context"

	"juju/apiserver/params"
	"juju/state/entity"
)

// ModelConfig returns all settings of the model, with where each value comes from.
func (c *Conn) ModelConfig(ctx context.Context) (entity.ModelConfig, error) {
	var result params.ModelConfigResults
	if err := c.call(ctx, "ModelConfig", 3, "ModelGet", nil, &result); err != nil {
		return nil, err
	}
	return result.ModelConfig()
}

// RetryHooks reports whether hooks that fail in the unit's model run again by themselves.
func (c *Conn) RetryHooks(ctx context.Context, unit entity.Tag) (bool, error) {
	var result params.RetryStrategy
	err := c.call(ctx, "RetryStrategy", 1, "RetryStrategy", agent(unit), &result)
	return result.ShouldRetry, err
}

// WatchRetryHooks fires when that may have changed.
func (c *Conn) WatchRetryHooks(ctx context.Context, unit entity.Tag) (<-chan struct{}, error) {
	return notify(ctx, c, "RetryStrategy", "WatchRetryStrategy", agent(unit))
}

// ProvisionerConfig returns all settings of the model, for a provisioner.
func (c *Conn) ProvisionerConfig(ctx context.Context) (entity.ModelConfig, error) {
	var result params.ModelConfigResults
	if err := c.call(ctx, "Provisioner", 1, "ModelConfig", nil, &result); err != nil {
		return nil, err
	}
	return result.ModelConfig()
}

// WatchProvisionerConfig fires when those may have changed.
func (c *Conn) WatchProvisionerConfig(ctx context.Context) (<-chan struct{}, error) {
	return notify(ctx, c, "Provisioner", "WatchForModelConfigChanges", nil)
}

// SetModelConfig changes settings of the model, all or none; values are as users write
// them.
func (c *Conn) SetModelConfig(ctx context.Context, config map[string]string) error {
	args := params.ModelSet{Config: map[string]any{}}
	for key, value := range config {
		args.Config[key] = value
	}
	return c.call(ctx, "ModelConfig", 3, "ModelSet", args, nil)
}

// ResetModelConfig gives settings of the model their defaults again, all or none.
func (c *Conn) ResetModelConfig(ctx context.Context, keys ...string) error {
	return c.call(ctx, "ModelConfig", 3, "ModelUnset", params.ModelUnset{Keys: keys}, nil)
}
