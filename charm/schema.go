package charm

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// schemaURL identifies the schema to the library. Nothing is loaded from it.
const schemaURL = "file:///actions.yaml"

// compileSchema checks and compiles the draft 4 schema of an action's parameters.
func compileSchema(schema map[string]any) (*jsonschema.Schema, error) {
	doc, err := plain(schema)
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft4)
	compiler.UseLoader(jsonschema.SchemeURLLoader{}) // it loads nothing
	if err := compiler.AddResource(schemaURL, doc); err != nil {
		return nil, invalidf("%w", err)
	}
	compiled, err := compiler.Compile(schemaURL)
	var bad *jsonschema.SchemaValidationError
	if errors.As(err, &bad) {
		return nil, mismatch(bad.Err)
	} else if err != nil {
		return nil, invalidf("%w", err)
	}
	return compiled, nil
}

// mismatch returns the first schema violation by path.
func mismatch(err error) error {
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return invalidf("%w", err)
	}
	first := slices.MinFunc(complaints(invalid), func(a, b complaint) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.text, b.text))
	})
	return invalidf("%s: %s", cmp.Or(first.at, "parameters"), first.text)
}

// A complaint is one schema violation.
type complaint struct{ at, text string } // at is a dotted path

var english = message.NewPrinter(language.English)

// complaints returns the leaves of an error. What fits none of several forms is one leaf.
func complaints(e *jsonschema.ValidationError) (all []complaint) {
	for _, cause := range e.Causes {
		all = append(all, complaints(cause)...)
	}
	text := e.ErrorKind.LocalizedString(english)
	switch e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf:
		var each []string
		for _, c := range all {
			each = append(each, c.text)
		}
		slices.Sort(each)
		if len(each) > 0 {
			text += ": " + strings.Join(slices.Compact(each), "; ")
		}
		all = nil
	}
	if all == nil {
		all = []complaint{{strings.Join(e.InstanceLocation, "."), text}}
	}
	return all
}
