package facades

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"juju/apiserver/params"
	"juju/state/entity"
	"juju/state/modelconfig"
)

func modelConfigModelGet(ctx context.Context, c *Caller, _ None) (params.ModelConfigResults, error) {
	config, err := c.Model.Settings().Config(ctx)
	if err != nil {
		return params.ModelConfigResults{}, err
	}
	config[modelconfig.AgentVersion.Key] = modelconfig.Value{Value: entity.JujuVersion, Source: modelconfig.FromModel}
	return params.ModelConfigResults{Config: params.ModelConfig(config)}, nil
}

func modelConfigModelSet(ctx context.Context, c *Caller, p params.ModelSet) error {
	if err := fixedSettings(c, p.Config); err != nil {
		return err
	}
	config, err := modelConfigOf(ctx, c, p.Config)
	if err != nil {
		return fmt.Errorf("cannot change model config: %w", err)
	}
	return c.Model.Settings().SetConfig(ctx, config, nil)
}

func modelConfigModelUnset(ctx context.Context, c *Caller, p params.ModelUnset) error {
	if slices.Contains(p.Keys, modelconfig.AgentVersion.Key) {
		return fixedVersion()
	}
	return c.Model.Settings().SetConfig(ctx, nil, p.Keys)
}

func modelConfigSequences(ctx context.Context, c *Caller, _ None) (params.ModelSequencesResult, error) {
	next, err := c.Model.Settings().Sequences(ctx)
	return params.ModelSequencesResult{Sequences: params.Sequences(next)}, err
}

func fixedVersion() error {
	return entity.WithHint(entity.Errorf(entity.Invalid, "agent-version cannot be changed"),
		"To upgrade the model's agents: juju upgrade-juju")
}

// fixedSettings rejects, with Juju's errors, settings that Juju lists but that can't be changed. It removes a version
// that is already the model's, as in the output of ModelGet.
func fixedSettings(c *Caller, given map[string]any) error {
	if version, ok := given[modelconfig.AgentVersion.Key]; ok {
		if version != entity.JujuVersion {
			return fixedVersion()
		}
		delete(given, modelconfig.AgentVersion.Key)
	}
	fixed := map[string]string{"name": c.Model.Name(), "uuid": c.Model.UUID(), "type": c.Controller.Cloud()}
	for _, key := range slices.Sorted(maps.Keys(fixed)) {
		if value, ok := given[key]; ok {
			return entity.Errorf(entity.Invalid, "cannot change %s from %q to %s", key, fixed[key], shown(value))
		}
	}
	return nil
}

// shown returns a value of JSON for an error: a scalar as it is, or what else it is.
func shown(value any) string {
	switch value := value.(type) {
	case nil:
		return "null"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	default:
		return fmt.Sprintf("%#v", value)
	}
}

// modelConfigOf parses settings from a request, and checks that the cloud supports the default series.
func modelConfigOf(ctx context.Context, c *Caller, given map[string]any) (map[string]string, error) {
	words := make(map[string]string, len(given))
	for key, value := range given {
		switch value.(type) {
		case string, bool, float64:
			words[key] = fmt.Sprint(value)
		default:
			return nil, entity.Errorf(entity.Invalid, "%s: the value can't be %s", key, shown(value))
		}
	}
	config, err := modelconfig.Parse(words)
	if err != nil {
		return nil, err
	}
	for _, word := range modelconfig.Words(words) {
		logger.Warningf("%s: %s", c.Request, word)
	}
	series, ok := config[modelconfig.DefaultSeries]
	if !ok {
		return config, nil
	}
	return config, c.askCloud(ctx, func(ctx context.Context, cloud Cloud) error {
		have, err := cloud.Series(ctx)
		if err != nil || lacksUbuntu(have, series) { // each machine and service that would have it gets a warning
			return err
		}
		return checkAvailable(modelconfig.DefaultSeries, series, have)
	})
}

func modelManagerModelDefaults(
	ctx context.Context, c *Caller, p params.CloudTags,
) (params.ModelDefaultsResults, error) {
	set, err := c.Controller.ModelDefaults(ctx)
	if err != nil {
		return params.ModelDefaultsResults{}, err
	}
	all := map[string]params.ModelDefaults{}
	settings := modelconfig.New(set, c.Series)
	maps.Copy(settings, modelconfig.New(nil, c.Series)) // the defaults, and what is set without an effect
	for key, value := range settings {
		if key == modelconfig.AuthorizedKeys {
			continue // each model has its own
		}
		setting, err := modelconfig.Find(key)
		if err != nil {
			return params.ModelDefaultsResults{}, err
		}
		one := params.ModelDefaults{Default: setting.Plain(value.Value)}
		if setting.Unused != "" {
			one.Default = setting.Plain(setting.Here)
		}
		if value, ok := set[key]; ok {
			one.Controller = setting.Plain(value)
		}
		all[key] = one
	}
	return params.ModelDefaultsResults{Results: each(c, "ModelDefaultsForClouds", p.Entities,
		func(e *params.Error) params.ModelDefaultsResult { return params.ModelDefaultsResult{Error: e} },
		func(e params.CloudEntity) (params.ModelDefaultsResult, error) {
			return params.ModelDefaultsResult{Config: all}, c.isCloudTag(e.Tag)
		})}, nil
}

// areDefaultsOf rejects defaults of another cloud, or of a single region.
func (c *Caller) areDefaultsOf(cloudTag, region string) error {
	if region != "" {
		return entity.WithHint(entity.Errorf(entity.NotSupported, "cannot change model defaults of region %q alone", region),
			"A cloud has one region. Leave it out.")
	}
	if cloudTag == "" {
		return nil
	}
	return c.isCloudTag(cloudTag)
}

func modelManagerSetModelDefaults(
	ctx context.Context, c *Caller, p params.SetModelDefaults,
) (params.ErrorResults, error) {
	return outcomes(c, "SetModelDefaults", p.Config, func(one params.ModelDefaultValues) error {
		if err := c.areDefaultsOf(one.CloudTag, one.CloudRegion); err != nil {
			return err
		}
		config, err := modelConfigOf(ctx, c, one.Config)
		if err != nil {
			return err
		}
		return c.Controller.SetModelDefaults(ctx, config, nil)
	}), nil
}

func modelManagerUnsetModelDefaults(
	ctx context.Context, c *Caller, p params.UnsetModelDefaults,
) (params.ErrorResults, error) {
	return outcomes(c, "UnsetModelDefaults", p.Keys, func(one params.ModelUnsetKeys) error {
		if err := c.areDefaultsOf(one.CloudTag, one.CloudRegion); err != nil {
			return err
		}
		return c.Controller.SetModelDefaults(ctx, nil, one.Keys)
	}), nil
}
