package charm

import (
	"encoding/json"
	"fmt"

	"gopkg.in/yaml.v3"
)

// Actions is the content of actions.yaml.
type Actions struct {
	Specs    map[string]ActionSpec // by name
	Warnings []string              // about content without effect
}

// ActionSpec is one action.
type ActionSpec struct {
	Description    string
	Parallel       bool   // may run concurrently with the unit's other actions
	ExecutionGroup string // actions in one group never run concurrently
	// Schema is the JSON Schema (draft 4) of the parameters object, as JSON decodes it, except
	// that whole numbers are int64.
	Schema map[string]any
}

// ParseActions parses and checks the actions.yaml of the named charm, including the schemas.
func ParseActions(charmName string, data []byte) (*Actions, error) {
	root, err := parseYAML(actionsFile, data)
	if err != nil {
		return nil, err
	}
	entries, err := root.entries()
	if err != nil {
		return nil, err
	}
	a := &Actions{Specs: make(map[string]ActionSpec, len(entries))}
	for _, e := range entries {
		if !actionPattern.MatchString(e.key) {
			return nil, e.value.refuse(actionRule, "bad action name %s", e.key)
		}
		if isReserved(charmName, e.key) {
			return nil, e.value.errorf("charm %q using a reserved action name: %q", charmName, e.key)
		}
		if a.Specs[e.key], err = parseAction(e); err != nil {
			return nil, err
		}
	}
	a.Warnings = root.log.texts()
	return a, nil
}

// actionKeys are the keys of an action that are not about its parameters as a whole.
var actionKeys = []string{"description", "parallel", "execution-group", "params"}

func parseAction(e entry) (spec ActionSpec, err error) {
	fs, err := e.value.fields()
	if err != nil {
		return spec, err
	}
	must := func(key, kind string) error {
		return fs.get(key).errorf("value for schema key %q must be a %s", key, kind)
	}
	if spec.Description, err = fs.get("description").optionalText(); err != nil {
		return spec, must("description", "string")
	}
	if spec.Parallel, err = fs.get("parallel").boolean(); err != nil {
		return spec, must("parallel", "bool")
	}
	if spec.ExecutionGroup, err = fs.get("execution-group").optionalText(); err != nil {
		return spec, must("execution-group", "string")
	}
	// Top-level keys other than these describe the parameters as a whole.
	spec.Schema = map[string]any{"title": e.key, "type": "object", "properties": map[string]any{}}
	if spec.Description != "" {
		spec.Schema["description"] = spec.Description
	}
	for _, key := range sortedKeys(fs.keys) {
		f := fs.keys[key]
		switch key {
		case "description", "parallel", "execution-group":
			continue
		case "params":
			if _, err := f.entries(); err != nil {
				return spec, err
			}
			key = "properties"
		case "type":
			if kind, err := f.text(); err != nil || kind != "object" {
				return spec, f.errorf(`expected "object"`)
			}
		case "properties":
			if _, ok := fs.keys["params"]; ok {
				return spec, f.errorf("cannot be combined with params, which means the same")
			}
		}
		if f.empty() {
			continue
		}
		if spec.Schema[key], err = keyword(entry{key, f}, false); err != nil {
			return spec, err
		}
	}
	// Charms have this, which requires nothing, though the draft does not allow it.
	if list, ok := spec.Schema["required"].([]any); ok && len(list) == 0 {
		delete(spec.Schema, "required")
	}
	if err := checkSchema(e.value, spec.Schema); err != nil {
		return spec, err
	}
	return spec, warnOfSchema(e.value, actionKeys...)
}

// schemaOf returns a schema.
func schemaOf(f field) (any, error) {
	if f.empty() || f.node.Kind != yaml.MappingNode {
		return f.value()
	}
	fs, err := f.fields()
	if err != nil {
		return nil, err
	}
	kind := fs.get("type")
	isString := !kind.empty() && kind.node.Value == string(OptionString)
	return mapped(f, func(e entry) (any, error) { return keyword(e, isString) })
}

// keyword returns the value of a schema keyword. A string's default and enum values are taken as
// written: to YAML, 01182252 is a number.
func keyword(e entry, isString bool) (any, error) {
	f := e.value
	switch {
	case f.empty():
		return f.value()
	case e.key == "properties" && f.node.Kind == yaml.MappingNode:
		return mapped(f, func(e entry) (any, error) { return schemaOf(e.value) })
	case e.key == "items":
		return schemaOf(f)
	case isString && e.key == "default":
		return Option{Type: OptionString}.value(f)
	case isString && e.key == "enum" && f.node.Kind == yaml.SequenceNode:
		items, err := f.items()
		list := make([]any, len(items))
		for i := range items {
			if list[i], err = (Option{Type: OptionString}).value(items[i]); err != nil {
				return nil, err
			}
		}
		return list, err
	}
	return f.value()
}

// checkSchema reports an error in the schema, with the line of the action.
func checkSchema(f field, schema map[string]any) error {
	if key, ok := prohibitedKey(schema); ok {
		return f.errorf("schema key %q not compatible with this version of juju", key)
	}
	if _, err := compileSchema(schema); err != nil {
		return f.errorf("%w", err)
	}
	return nil
}

// prohibitedKey finds keys that could refer to external schemas.
func prohibitedKey(v any) (string, bool) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range sortedKeys(v) {
			if key == "$ref" || key == "$schema" {
				return key, true
			}
			if found, ok := prohibitedKey(v[key]); ok {
				return found, true
			}
		}
	case []any:
		for _, item := range v {
			if found, ok := prohibitedKey(item); ok {
				return found, true
			}
		}
	}
	return "", false
}

// ValidateParams returns an error for the first violation of the action's schema in params, which are
// values decoded from JSON or YAML, or Go values.
func (spec ActionSpec) ValidateParams(params map[string]any) error {
	s, err := compileSchema(spec.Schema)
	if err != nil {
		return err
	}
	value, err := plain(params)
	if err != nil {
		return err
	}
	if err := s.Validate(value); err != nil {
		return mismatch(err)
	}
	return nil
}

// InsertDefaults returns params with the schema's defaults for missing keys, also in nested
// maps. The given params are not changed.
func (spec ActionSpec) InsertDefaults(params map[string]any) (map[string]any, error) {
	value, err := plain(params)
	if err != nil {
		return nil, err
	}
	out := value.(map[string]any) // as params are
	if err := insertDefaults(spec.Schema, out); err != nil {
		return nil, err
	}
	return out, nil
}

func insertDefaults(schema, into map[string]any) error {
	properties, _ := schema["properties"].(map[string]any)
	for _, name := range sortedKeys(properties) {
		property, _ := properties[name].(map[string]any)
		if _, given := into[name]; !given {
			if def, ok := property["default"]; ok {
				value, err := plain(def)
				if err != nil {
					return err
				}
				into[name] = value
				continue
			}
			// Create a missing map if anything in it has a default.
			nested := map[string]any{}
			if err := insertDefaults(property, nested); err != nil {
				return err
			}
			if len(nested) > 0 {
				into[name] = nested
			}
			continue
		}
		if nested, ok := into[name].(map[string]any); ok {
			if err := insertDefaults(property, nested); err != nil {
				return err
			}
		}
	}
	return nil
}

// plain returns a copy of v as JSON decodes it, with int64 for whole numbers.
func plain(v any) (any, error) {
	switch v := v.(type) {
	case nil, string, bool:
		return v, nil
	case map[string]any:
		m := make(map[string]any, len(v))
		for key, item := range v {
			p, err := plain(item)
			if err != nil {
				return nil, err
			}
			m[key] = p
		}
		return m, nil
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			p, err := plain(item)
			if err != nil {
				return nil, err
			}
			list[i] = p
		}
		return list, nil
	case json.Number:
		if i, ok := wholeNumber(v); ok {
			return i, nil
		}
		f, err := v.Float64()
		if err != nil {
			return nil, invalidf("cannot use %s as a parameter", v)
		}
		return f, nil
	case float32, float64:
		f, _ := v.(float64)
		if small, ok := v.(float32); ok {
			f = float64(small)
		}
		if i, ok := wholeNumber(f); ok {
			return i, nil
		}
		if !isFinite(f) {
			return nil, invalidf("cannot use %v as a parameter", f)
		}
		return f, nil
	}
	if i, ok := wholeNumber(v); ok {
		return i, nil
	}
	return nil, invalidf("cannot use %s as a parameter", fmt.Sprintf("%T", v))
}
