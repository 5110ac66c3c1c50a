package params

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"juju/state/entity"
	"juju/state/modelconfig"
)

// A ModelConfigResults is the result of ModelConfig 3 ModelGet.
type ModelConfigResults struct {
	Config ModelConfig `json:"config"`
}

// A ModelConfig is a modelconfig.Config. In JSON a boolean setting is a bool.
type ModelConfig modelconfig.Config

// modelConfigValue is a setting in JSON.
type modelConfigValue struct {
	Value  any    `json:"value"`
	Source string `json:"source"`
}

// A ModelSet is the parameter of ModelSet: settings to change atomically.
type ModelSet struct {
	Config map[string]any `json:"config" limit:"file"`
}

// A ModelUnset is the parameter of ModelUnset: settings to reset to their defaults.
type ModelUnset struct {
	Keys []string `json:"keys"`
}

// settingsSent are the settings that a ModelConfig has in JSON.
var settingsSent = slices.Concat(modelconfig.All, []modelconfig.Setting{modelconfig.AgentVersion})

// MarshalJSON writes every known setting that is present.
func (c ModelConfig) MarshalJSON() ([]byte, error) {
	values := make(map[string]modelConfigValue, len(c))
	for _, s := range settingsSent {
		if v, ok := c[s.Key]; ok {
			values[s.Key] = modelConfigValue{Value: s.Plain(v.Value), Source: v.Source}
		}
	}
	return json.Marshal(values)
}

// UnmarshalJSON reads what MarshalJSON writes. It ignores unknown settings.
func (c *ModelConfig) UnmarshalJSON(text []byte) error {
	var values map[string]modelConfigValue
	if err := json.Unmarshal(text, &values); err != nil {
		return err
	}
	*c = ModelConfig{}
	for _, s := range settingsSent {
		v, ok := values[s.Key]
		if !ok {
			continue
		}
		text, ok := v.Value.(string)
		if b, isBool := v.Value.(bool); isBool {
			text, ok = strconv.FormatBool(b), true
		}
		if !ok {
			return entity.Errorf(entity.Invalid, "setting %s has a value of type %T", s.Key, v.Value)
		}
		(*c)[s.Key] = modelconfig.Value{Value: text, Source: v.Source}
	}
	return nil
}

// A ModelConfigSchemaArgs is the parameter of Cloud 8 ModelConfigSchema: a kind of cloud, "" for the controller's.
type ModelConfigSchemaArgs struct {
	ProviderType string `json:"provider-type"`
}

// A ModelConfigSchemaResult is what can be set of models on a cloud, by key, or an error.
type ModelConfigSchemaResult struct {
	Schema map[string]ModelConfigSchemaField `json:"schema,omitempty"`
	Error  *Error                            `json:"error,omitempty"`
}

// A ModelConfigSchemaField describes a setting.
type ModelConfigSchemaField struct {
	Description string   `json:"description"`
	Type        string   `json:"type"` // "bool" or "string"
	Group       string   `json:"group,omitempty"`
	Mandatory   bool     `json:"mandatory,omitempty"` // a new model needs it
	Immutable   bool     `json:"immutable,omitempty"` // it can be set for a new model only
	Values      []string `json:"values,omitempty"`    // the valid ones, if only these are valid
}

// ModelConfigSchema returns the fields of all settings, and of the names of a model that clients look for among them.
func ModelConfigSchema() map[string]ModelConfigSchemaField {
	fields := map[string]ModelConfigSchemaField{
		"name": {Description: "the name of the model", Type: "string", Group: "juju", Mandatory: true, Immutable: true},
		"uuid": {Description: "the UUID of the model, which the controller chooses", Type: "string", Group: "juju", Immutable: true},
		"type": {Description: "the kind of the model's cloud", Type: "string", Group: "juju", Immutable: true},
	}
	for _, s := range modelconfig.Shown {
		f := ModelConfigSchemaField{Description: s.Doc, Type: "string", Group: "environ", Immutable: s.Fixed, Values: s.Values}
		if s.Type == "bool" {
			f.Type = s.Type
		}
		fields[s.Key] = f
	}
	return fields
}

// A ModelSequencesResult has the next number of each sequence of a model.
type ModelSequencesResult struct {
	Sequences map[string]int `json:"sequences"`
}

// Sequences returns sequences under the names that they have for clients.
func Sequences(next map[string]int) map[string]int {
	named := make(map[string]int, len(next))
	for name, n := range next {
		if service, of := strings.CutPrefix(name, "service-"); of {
			name = "application-" + service
		}
		named[name] = n
	}
	return named
}
