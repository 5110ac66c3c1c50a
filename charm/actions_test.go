package charm_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"juju/charm"
)

const backupActions = `
snapshot:
  description: Take a snapshot.
  parallel: true
  execution-group: disk
  params:
    outfile: {type: string, default: out.bz2, pattern: "^[a-z.0-9]+$", maxLength: 12}
    quality:
      type: object
      properties:
        level: {type: integer, minimum: 1, maximum: 9, default: 5}
        mode: {enum: [fast, slow, 3]}
      additionalProperties: false
    tags: {type: array, items: {type: string}, minItems: 1, uniqueItems: true}
    ratio: {type: number, minimum: 0, exclusiveMinimum: true, multipleOf: 0.5}
    target:
      oneOf:
        - {type: string}
        - {type: integer, not: {enum: [0]}}
    pair: {items: [{type: string}, {type: integer}], additionalItems: false}
  required: [outfile]
  additionalProperties: false
  dependencies: {ratio: [tags]}
list:
  required: []
old:
  params:
    flag: {type: boolean, default: yes}
    sure: {enum: [on, "on", off]}
  additionalProperties: no
`

func TestParseActions(t *testing.T) {
	a, err := charm.ParseActions("backup", []byte(backupActions))
	if err != nil {
		t.Fatal(err)
	}
	snapshot := a.Specs["snapshot"]
	if snapshot.Description != "Take a snapshot." || !snapshot.Parallel || snapshot.ExecutionGroup != "disk" {
		t.Errorf("got %+v", snapshot)
	}
	want := map[string]any{"title": "list", "type": "object", "properties": map[string]any{}}
	if diff := cmp.Diff(want, a.Specs["list"].Schema); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	old := a.Specs["old"]
	want = map[string]any{"title": "old", "type": "object", "additionalProperties": false, "properties": map[string]any{
		"flag": map[string]any{"type": "boolean", "default": true},
		"sure": map[string]any{"enum": []any{true, "on", false}},
	}}
	if diff := cmp.Diff(want, old.Schema); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if len(a.Warnings) > 0 {
		t.Errorf("unexpected warnings %q", a.Warnings)
	}
	// Parameters that the charm does not declare are accepted, as in Juju before 4.
	for _, params := range []map[string]any{nil, {"undeclared": 1}} {
		if err := a.Specs["list"].ValidateParams(params); err != nil {
			t.Errorf("an action without params gets %v: %v", params, err)
		}
	}
	if none, err := charm.ParseActions("backup", nil); err != nil || len(none.Specs) != 0 {
		t.Errorf("an empty file: %v, %v", none, err)
	}
}

func TestParseActionsRejects(t *testing.T) {
	for _, test := range []struct{ about, yaml, want string }{
		{"a list", "[a]", `actions.yaml:1: expected map, got ["a"]`},
		{"bad name", "Snap:\n", "actions.yaml:1: Snap: bad action name Snap"},
		{"reserved name", "juju-run:\n", `actions.yaml:1: juju-run: charm "backup" using a reserved action name: "juju-run"`},
		{"reference", "a:\n  params:\n    b:\n      $ref: http://x\n",
			`actions.yaml:2: a: schema key "$ref" not compatible with this version of juju`},
		{"other schema", "a: {$schema: x}\n",
			`actions.yaml:1: a: schema key "$schema" not compatible with this version of juju`},
		{"params is a list", "a:\n  params: [b]\n", `actions.yaml:2: a.params: expected map, got ["b"]`},
		{"a param is text", "a: {params: {b: text}}\n", "actions.yaml:1: a: properties.b: got string, want object"},
		{"unknown type", "a: {params: {b: {type: text}}}\n", "actions.yaml:1: a: properties.b.type: 'anyOf' failed: " +
			"got string, want array; value must be one of 'array', 'boolean', 'integer', 'null', 'number', 'object', 'string'"},
		{"required is a boolean", "a: {params: {b: {required: true}}}\n",
			"actions.yaml:1: a: properties.b.required: got boolean, want array"},
		{"minimum is text", "a: {params: {b: {minimum: x}}}\n",
			"actions.yaml:1: a: properties.b.minimum: got string, want number"},
		{"negative length", "a: {params: {b: {minLength: -1}}}\n",
			"actions.yaml:1: a: properties.b.minLength: minimum: got -1, want 0"},
		{"bad pattern", "a: {params: {b: {pattern: '('}}}\n",
			"actions.yaml:1: a: properties.b.pattern: '(' is not valid regex: error parsing regexp: missing closing ): `(`"},
		{"params and properties", "a:\n  params: {}\n  properties: {}\n",
			`actions.yaml:3: a.properties: cannot be combined with params, which means the same`},
		{"description is a list", "a: {description: [b]}\n", `actions.yaml:1: a.description: value for schema key "description" must be a string`},
		{"parallel is text", "a: {parallel: maybe}\n", `actions.yaml:1: a.parallel: value for schema key "parallel" must be a bool`},
		{"a list of groups", "a: {execution-group: [b]}\n",
			`actions.yaml:1: a.execution-group: value for schema key "execution-group" must be a string`},
		{"params of a number", "a: {type: integer}\n", `actions.yaml:1: a.type: expected "object"`},
	} {
		t.Run(test.about, func(t *testing.T) {
			_, err := charm.ParseActions("backup", []byte(test.yaml))
			if err == nil {
				t.Fatal("accepted")
			}
			if err.Error() != test.want {
				t.Errorf("got  %s\nwant %s", err, test.want)
			}
			if !errors.Is(err, charm.ErrInvalid) {
				t.Error("not an ErrInvalid")
			}
		})
	}
}

func TestValidateParams(t *testing.T) {
	a, err := charm.ParseActions("backup", []byte(backupActions))
	if err != nil {
		t.Fatal(err)
	}
	spec := a.Specs["snapshot"]
	for params, want := range map[string]string{
		`{"outfile": "a"}`:             "",
		`{}`:                           "parameters: missing property 'outfile'",
		`{"outfile": 5}`:               "outfile: got number, want string",
		`{"outfile": "A"}`:             "outfile: 'A' does not match pattern '^[a-z.0-9]+$'",
		`{"outfile": "abcdefghijklm"}`: "outfile: maxLength: got 13, want 12",
		`{"outfile": "a", "nope": 1}`:  "parameters: additional properties 'nope' not allowed",
		`{"outfile": "a", "quality": {"level": 9}}`:     "",
		`{"outfile": "a", "quality": {"level": 9.0}}`:   "",
		`{"outfile": "a", "quality": {"level": 10}}`:    "quality.level: maximum: got 10, want 9",
		`{"outfile": "a", "quality": {"level": 0}}`:     "quality.level: minimum: got 0, want 1",
		`{"outfile": "a", "quality": {"level": 1.5}}`:   "quality.level: got number, want integer",
		`{"outfile": "a", "quality": {"mode": 3.0}}`:    "",
		`{"outfile": "a", "quality": {"mode": "x"}}`:    "quality.mode: value must be one of 'fast', 'slow', 3",
		`{"outfile": "a", "quality": {"x": 1}}`:         "quality: additional properties 'x' not allowed",
		`{"outfile": "a", "tags": ["x", "y"]}`:          "",
		`{"outfile": "a", "tags": []}`:                  "tags: minItems: got 0, want 1",
		`{"outfile": "a", "tags": ["x", 1]}`:            "tags.1: got number, want string",
		`{"outfile": "a", "tags": ["x", "x"]}`:          "tags: items at 0 and 1 are equal",
		`{"outfile": "a", "ratio": 1.5, "tags": ["x"]}`: "",
		`{"outfile": "a", "ratio": 1.5}`:                "parameters: properties 'tags' required, if 'ratio' exists",
		`{"outfile": "a", "ratio": 0, "tags": ["x"]}`:   "ratio: exclusiveMinimum: got 0, want 0",
		`{"outfile": "a", "ratio": 0.7, "tags": ["x"]}`: "ratio: multipleOf: got 0.7, want 0.5",
		`{"outfile": "a", "target": "x"}`:               "",
		`{"outfile": "a", "target": 1}`:                 "",
		`{"outfile": "a", "target": 0}`: "target: 'oneOf' failed, none matched: 'not' failed; " +
			"got number, want string",
		`{"outfile": "a", "pair": ["x", 1]}`:                   "",
		`{"outfile": "a", "pair": ["x", "y"]}`:                 "pair.1: got string, want integer",
		`{"outfile": "a", "pair": ["x", 1, 2]}`:                "pair: last 1 additionalItem(s) not allowed",
		`{"outfile": null}`:                                    "outfile: got null, want string",
		`{"outfile": "a", "tags": {"0": "not a list at all"}}`: "tags: got object, want array",
	} {
		var m map[string]any
		if err := json.Unmarshal([]byte(params), &m); err != nil {
			t.Fatal(err)
		}
		err := spec.ValidateParams(m)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s\n got %q\nwant %q", params, got, want)
		}
		if err != nil && !errors.Is(err, charm.ErrInvalid) {
			t.Errorf("%s: not an ErrInvalid", params)
		}
	}
}

func TestInsertDefaults(t *testing.T) {
	a, err := charm.ParseActions("backup", []byte(backupActions))
	if err != nil {
		t.Fatal(err)
	}
	spec := a.Specs["snapshot"]
	given := map[string]any{"quality": map[string]any{"mode": "fast"}}
	got, err := spec.InsertDefaults(given)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"outfile": "out.bz2", "quality": map[string]any{"mode": "fast", "level": int64(5)}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{"quality": map[string]any{"mode": "fast"}}, given); diff != "" {
		t.Errorf("the caller's params were changed:\n%s", diff)
	}
	got, err = spec.InsertDefaults(nil)
	want = map[string]any{"outfile": "out.bz2", "quality": map[string]any{"level": int64(5)}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
}

// The default and enum of a string are kept as written, even if YAML reads them as another type. The
// same goes for nested schemas.
func TestActionStringsAreAsWritten(t *testing.T) {
	for _, written := range []string{"01182252", "0755", "1_000", "1:30", "2.50", "yes", "Off", "2012-04-26"} {
		a, err := charm.ParseActions("backup", []byte("a:\n  params:\n"+
			"    s: {type: string, default: "+written+", enum: ["+written+"]}\n"+
			"    o: {type: object, properties: {type: {type: string, default: "+written+"}}}\n"+
			"    l: {type: array, items: {type: string, default: "+written+"}}\n"))
		if err != nil {
			t.Fatal(err)
		}
		text := map[string]any{"type": "string", "default": written}
		want := map[string]any{
			"s": map[string]any{"type": "string", "default": written, "enum": []any{written}},
			"o": map[string]any{"type": "object", "properties": map[string]any{"type": text}},
			"l": map[string]any{"type": "array", "items": text},
		}
		if diff := cmp.Diff(want, a.Specs["a"].Schema["properties"]); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", written, diff)
		}
	}
	a, err := charm.ParseActions("backup", []byte("a: {params: {n: {type: integer, default: 0755}, s: {type: string, default: null}}}"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"n": map[string]any{"type": "integer", "default": int64(0755)},
		"s": map[string]any{"type": "string", "default": nil}}
	if diff := cmp.Diff(want, a.Specs["a"].Schema["properties"]); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
