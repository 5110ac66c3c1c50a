package client

import (
	"context"

	"juju/apiserver/params"
	"juju/state/modelconfig"
)

// ModelConfig returns all settings of the model, with the source of each value.
func (c *Conn) ModelConfig(ctx context.Context) (modelconfig.Config, error) {
	var result params.ModelConfigResults
	err := c.call(ctx, "ModelConfig", 3, "ModelGet", nil, &result)
	return modelconfig.Config(result.Config), err
}

// Sequences returns the next number of each sequence by which the model numbers what it has: "machine", "application-NAME" for
// its units, and others.
func (c *Conn) Sequences(ctx context.Context) (map[string]int, error) {
	var result params.ModelSequencesResult
	err := c.call(ctx, "ModelConfig", 3, "Sequences", nil, &result)
	return result.Sequences, err
}

// SetModelConfig changes settings of the model, atomically. Values are as users write them.
func (c *Conn) SetModelConfig(ctx context.Context, config map[string]string) error {
	args := params.ModelSet{Config: map[string]any{}}
	for key, value := range config {
		args.Config[key] = value
	}
	return c.call(ctx, "ModelConfig", 3, "ModelSet", args, nil)
}

// ResetModelConfig resets settings of the model to their defaults, atomically.
func (c *Conn) ResetModelConfig(ctx context.Context, keys ...string) error {
	return c.call(ctx, "ModelConfig", 3, "ModelUnset", params.ModelUnset{Keys: keys}, nil)
}
