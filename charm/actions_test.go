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
	if err := a.Specs["list"].ValidateParams(nil); err != nil {
		t.Errorf("no params are needed, but: %v", err)
	}
	if none, err := charm.ParseActions("backup", nil); err != nil || len(none.Specs) != 0 {
		t.Errorf("an empty file: %v, %v", none, err)
	}
}

func TestParseActionsRefuses(t *testing.T) {
	for _, test := range []struct{ about, yaml, want string }{
		{"a list", "[a]", `actions.yaml:1: expected map, got ["a"]`},
		{"bad name", "Snap:\n", "actions.yaml:1: Snap: bad action name Snap"},
		{"reserved name", "juju-run:\n", `actions.yaml:1: juju-run: charm "backup" using a reserved action name: "juju-run"`},
		{"reference", "a:\n  params:\n    b:\n      $ref: http://x\n",
			`actions.yaml:2: a: schema key "$ref" not compatible with this version of juju`},
		{"schema of its own", "a: {$schema: x}\n",
			`actions.yaml:1: a: schema key "$schema" not compatible with this version of juju`},
		{"params is a list", "a:\n  params: [b]\n", `actions.yaml:2: a.params: expected map, got ["b"]`},
		{"a param is text", "a: {params: {b: text}}\n", `actions.yaml:1: a: properties: b: expected a schema, got "text"`},
		{"unknown type", "a: {params: {b: {type: text}}}\n", `actions.yaml:1: a: properties: b: type: unknown type "text"`},
		{"required is a truth", "a: {params: {b: {required: true}}}\n",
			`actions.yaml:1: a: properties: b: required: expected a list of strings, got true`},
		{"minimum is text", "a: {params: {b: {minimum: x}}}\n",
			`actions.yaml:1: a: properties: b: minimum: expected a number, got "x"`},
		{"negative length", "a: {params: {b: {minLength: -1}}}\n",
			`actions.yaml:1: a: properties: b: minLength: expected a count, got -1`},
		{"no pattern", "a: {params: {b: {pattern: '('}}}\n",
			"actions.yaml:1: a: properties: b: pattern: error parsing regexp: missing closing ): `(`"},
		{"params and properties", "a:\n  params: {}\n  properties: {}\n",
			`actions.yaml:3: a.properties: given beside params, which means the same`},
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
		`{}`:                           "outfile: required",
		`{"outfile": 5}`:               "outfile: expected string, got 5",
		`{"outfile": "A"}`:             `outfile: expected text that matches "^[a-z.0-9]+$", got "A"`,
		`{"outfile": "abcdefghijklm"}`: "outfile: expected length of at most 12, got 13",
		`{"outfile": "a", "nope": 1}`:  "nope: unknown parameter",
		`{"outfile": "a", "quality": {"level": 9}}`:     "",
		`{"outfile": "a", "quality": {"level": 9.0}}`:   "",
		`{"outfile": "a", "quality": {"level": 10}}`:    "quality.level: expected at most 9, got 10",
		`{"outfile": "a", "quality": {"level": 0}}`:     "quality.level: expected at least 1, got 0",
		`{"outfile": "a", "quality": {"level": 1.5}}`:   "quality.level: expected integer, got 1.5",
		`{"outfile": "a", "quality": {"mode": 3.0}}`:    "",
		`{"outfile": "a", "quality": {"mode": "x"}}`:    `quality.mode: expected one of [fast slow 3], got "x"`,
		`{"outfile": "a", "quality": {"x": 1}}`:         "quality.x: unknown parameter",
		`{"outfile": "a", "tags": ["x", "y"]}`:          "",
		`{"outfile": "a", "tags": []}`:                  "tags: expected items of at least 1, got 0",
		`{"outfile": "a", "tags": ["x", 1]}`:            "tags.1: expected string, got 1",
		`{"outfile": "a", "tags": ["x", "x"]}`:          `tags: "x" is there twice`,
		`{"outfile": "a", "ratio": 1.5, "tags": ["x"]}`: "",
		`{"outfile": "a", "ratio": 1.5}`:                "tags: required with ratio",
		`{"outfile": "a", "ratio": 0, "tags": ["x"]}`:   "ratio: expected more than 0, got 0",
		`{"outfile": "a", "ratio": 0.7, "tags": ["x"]}`: "ratio: expected a multiple of 0.5, got 0.7",
		`{"outfile": "a", "target": "x"}`:               "",
		`{"outfile": "a", "target": 1}`:                 "",
		`{"outfile": "a", "target": 0}`: "target: fits 0 of the forms of which it has to fit one, " +
			"got 0",
		`{"outfile": "a", "pair": ["x", 1]}`:                   "",
		`{"outfile": "a", "pair": ["x", "y"]}`:                 `pair.1: expected integer, got "y"`,
		`{"outfile": "a", "pair": ["x", 1, 2]}`:                "pair: expected at most 2 items, got 3",
		`{"outfile": null}`:                                    "outfile: expected string, got <nil>",
		`{"outfile": "a", "tags": {"0": "not a list at all"}}`: `tags: expected array, got {"0":"not a list at all"}`,
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
