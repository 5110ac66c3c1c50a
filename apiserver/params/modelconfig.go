package params

import "juju/state/entity"

// A ModelConfigResults is what ModelConfig 3 ModelGet returns.
type ModelConfigResults struct {
	Config map[string]ModelConfigValue `json:"config"`
}

// A ModelConfigValue is the value of a setting, and where it comes from.
type ModelConfigValue struct {
	Value  any    `json:"value"`
	Source string `json:"source"`
}

// A ModelSet is what ModelSet takes: settings to change, all or none.
type ModelSet struct {
	Config map[string]any `json:"config"`
}

// A ModelUnset is what ModelUnset takes: settings that get their defaults again.
type ModelUnset struct {
	Keys []string `json:"keys"`
}

// A RetryStrategy tells a unit's agent whether failed hooks run again by themselves.
type RetryStrategy struct {
	ShouldRetry bool `json:"should-retry"`
}

// ModelConfigResultsOf writes a model's settings; a bool is true or false there.
func ModelConfigResultsOf(config entity.ModelConfig) ModelConfigResults {
	results := ModelConfigResults{Config: make(map[string]ModelConfigValue, len(config))}
	for _, s := range entity.ModelSettings {
		v := config[s.Key]
		results.Config[s.Key] = ModelConfigValue{Value: s.Plain(v.Value), Source: v.Source}
	}
	return results
}

// ModelConfig reads what ModelConfigResultsOf has written. Settings that this program
// does not know are passed over.
func (r ModelConfigResults) ModelConfig() (entity.ModelConfig, error) {
	config := entity.ModelConfig{}
	for _, s := range entity.ModelSettings {
		v, ok := r.Config[s.Key]
		if !ok {
			continue
		}
		text, ok := v.Value.(string)
		if b, isBool := v.Value.(bool); isBool {
			text, ok = "false", true
			if b {
				text = "true"
			}
		}
		if !ok {
			return nil, entity.Errorf(entity.Invalid, "setting %s has a value of type %T", s.Key, v.Value)
		}
		config[s.Key] = entity.ModelValue{Value: text, Source: v.Source}
	}
	return config, nil
}
