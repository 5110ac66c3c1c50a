package charm

import (
	"slices"

	"gopkg.in/yaml.v3"
)

// schemaKeys are the keywords of draft 4 of JSON Schema, and those that are for people.
var schemaKeys = []string{
	"additionalItems", "additionalProperties", "allOf", "anyOf", "default", "definitions", "dependencies", "enum",
	"exclusiveMaximum", "exclusiveMinimum", "format", "id", "items", "maximum", "maxItems", "maxLength",
	"maxProperties", "minimum", "minItems", "minLength", "minProperties", "multipleOf", "not", "oneOf", "pattern",
	"patternProperties", "properties", "required", "type", "uniqueItems",

	"$comment", "description", "example", "examples", "title",
}

// laterSchemaKeys are keywords of later drafts that restrict values.
var laterSchemaKeys = func() map[string]string {
	keys := map[string]string{}
	for _, key := range []string{"const", "contains", "dependentRequired", "dependentSchemas", "else", "if",
		"maxContains", "minContains", "prefixItems", "propertyNames", "then", "unevaluatedItems",
		"unevaluatedProperties"} {
		keys[key] = "it is not in draft 4 of JSON Schema, and is not checked"
	}
	return keys
}()

// warnOfSchema warns of what has no effect in a schema that was found to be valid, and of defaults
// that contradict it. More keys than those of schemas can be known.
func warnOfSchema(f field, more ...string) error {
	if f.node == nil || f.node.Kind != yaml.MappingNode {
		return nil
	}
	fs, err := f.fields()
	if err != nil {
		return err
	}
	fs.only(slices.Concat(schemaKeys, more), laterSchemaKeys)
	for _, e := range fs.order {
		var schemas []field
		switch e.key {
		case "items", "additionalItems", "additionalProperties", "not":
			schemas = append(schemas, e.value)
		case "params":
			if !slices.Contains(more, e.key) {
				continue
			}
			fallthrough
		case "properties":
			if err := warnOfDefaults(e.value); err != nil {
				return err
			}
			fallthrough
		case "patternProperties", "definitions", "dependencies":
			entries, err := e.value.entries()
			if err != nil {
				return err
			}
			for _, inner := range entries {
				schemas = append(schemas, inner.value)
			}
		}
		if e.value.node != nil && e.value.node.Kind == yaml.SequenceNode && slices.Contains(
			[]string{"items", "allOf", "anyOf", "oneOf"}, e.key) {
			if schemas, err = e.value.items(); err != nil {
				return err
			}
		}
		for _, schema := range schemas {
			if err := warnOfSchema(schema); err != nil {
				return err
			}
		}
	}
	return nil
}

// warnOfDefaults warns of the properties whose default contradicts their own schema.
func warnOfDefaults(properties field) error {
	entries, err := properties.entries()
	if err != nil {
		return err
	}
	for _, e := range entries {
		value, err := e.value.value()
		if err != nil {
			return err
		}
		schema, _ := value.(map[string]any)
		def, ok := schema["default"]
		if !ok {
			continue
		}
		alone := ActionSpec{Schema: map[string]any{"properties": map[string]any{e.key: schema}}}
		if err := alone.ValidateParams(map[string]any{e.key: def}); err != nil {
			e.value.child("default", nil).warn("it does not fit its own schema (%v); the action gets it anyway", err)
		}
	}
	return nil
}
