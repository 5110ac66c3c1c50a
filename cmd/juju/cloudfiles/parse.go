package cloudfiles

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"juju/charm/safeyaml"
	"juju/state/entity"
)

// wrong returns the error of a mistake at a line.
func wrong(n *yaml.Node, format string, args ...any) error {
	return entity.Errorf(entity.Invalid, "line %d: %w", n.Line, fmt.Errorf(format, args...))
}

// CheckName rejects a name of a cloud, a region or a credential that is not valid.
func CheckName(what, name string) error {
	if !entity.IsValidCloudName(name) {
		return entity.WithHint(entity.Errorf(entity.Invalid, "%s name %q not valid", what, name),
			"It may contain only letters, digits, hyphens and dots, and begins with a letter or digit.")
	}
	return nil
}

// sections calls each with the entries below the only key of a file.
func sections(text []byte, key string, each func(name string, n *yaml.Node) error) error {
	root, err := safeyaml.Parse(text, safeyaml.Default)
	if err != nil {
		return entity.Errorf(entity.Invalid, "%w", err)
	}
	if root == nil {
		return entity.Errorf(entity.Invalid, "it is empty; it should begin with %q", key+":")
	}
	return fields(root, map[string]func(*yaml.Node) error{key: func(n *yaml.Node) error { return pairs(n, each) }})
}

// pairs calls each with the keys and values of a map; an empty value is a map, too.
func pairs(n *yaml.Node, each func(key string, n *yaml.Node) error) error {
	n = safeyaml.Resolve(n)
	if n.Tag == "!!null" {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		return wrong(n, "expected a map")
	}
	for i := 0; i < len(n.Content); i += 2 {
		key, value := safeyaml.Resolve(n.Content[i]), safeyaml.Resolve(n.Content[i+1])
		if key.Kind != yaml.ScalarNode {
			return wrong(key, "expected a name")
		}
		if err := each(key.Value, value); err != nil {
			return err
		}
	}
	return nil
}

// fields is pairs for a map whose keys are known.
func fields(n *yaml.Node, known map[string]func(*yaml.Node) error) error {
	return pairs(n, func(key string, n *yaml.Node) error {
		read, ok := known[key]
		if !ok {
			return entity.WithHint(wrong(n, "unknown key %q", key), "Known keys here: %s",
				strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		}
		if err := read(n); err != nil && !errors.Is(err, entity.Invalid) {
			return wrong(n, "%q has another type than it should have", key) // the decoder's error can have the value
		} else if err != nil {
			return err
		}
		return nil
	})
}

// texts returns a function that reads a text.
func texts(to *string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		if n.Kind != yaml.ScalarNode {
			return wrong(n, "expected a text")
		}
		*to = n.Value
		return nil
	}
}
