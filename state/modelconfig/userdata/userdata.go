// Package userdata reads the model setting cloudinit-userdata, and adds it to what cloud-init is told about a new machine.
package userdata

import (
	"gopkg.in/yaml.v3"

	"juju/charm/safeyaml"
	"juju/state/entity"
	"juju/state/limits"
)

// Key is the setting, a text of YAML: keys of cloud-init, and lists of commands that run before and after Juju's own.
const Key = "cloudinit-userdata"

// Commands before and after Juju's own, and cloud-init's key for all. Each is a shell command or a list of words.
const (
	before = "preruncmd"
	after  = "postruncmd"
	run    = "runcmd"
)

// refused are the keys of cloud-init that are Juju's own, with its errors.
var refused = map[string]string{
	"users":   "users not allowed",
	"bootcmd": "bootcmd not allowed",
	run:       "runcmd not allowed, use preruncmd or postruncmd instead",
}

// Check returns an Invalid error unless the text can be a value of the setting.
func Check(text string) error {
	_, err := parse(text)
	return err
}

// Merge returns the user data with which cloud-init configures a machine as text says, and runs script, a POSIX shell script, as
// root. The error is that of Check.
func Merge(text, script string) (string, error) {
	given, err := parse(text)
	if err != nil || len(given) == 0 {
		return script, err
	}
	commands := append(items(given[before]), []string{"sh", "-c", script})
	all := map[string]any{run: append(commands, items(given[after])...)}
	for key, value := range given {
		if key != before && key != after {
			all[key] = value
		}
	}
	data, err := safeyaml.Marshal(all, 2)
	return "#cloud-config\n" + string(data), err
}

// items returns the elements of a list, none for nil.
func items(list *yaml.Node) (all []any) {
	if list != nil {
		for _, n := range list.Content {
			all = append(all, n)
		}
	}
	return all
}

// parse returns the values by key.
func parse(text string) (map[string]*yaml.Node, error) {
	fail := func(n *yaml.Node, format string, args ...any) error {
		err := entity.Errorf(entity.Invalid, format, args...)
		if n != nil {
			err = entity.Errorf(entity.Invalid, "line %d: %w", n.Line, err)
		}
		return entity.Errorf(entity.Invalid, "%s: %w", Key, err)
	}
	if err := limits.UserData.CheckText(text); err != nil {
		return nil, err
	}
	root, err := safeyaml.Parse([]byte(text), safeyaml.Default)
	switch {
	case err != nil:
		return nil, fail(nil, "%w", err)
	case root == nil || root.ShortTag() == "!!null":
		return nil, nil
	case root.Kind != yaml.MappingNode:
		return nil, fail(root, "expected keys of cloud-init and their values")
	}
	all := map[string]*yaml.Node{}
	for i := 0; i < len(root.Content); i += 2 {
		key, value := safeyaml.Resolve(root.Content[i]), safeyaml.Resolve(root.Content[i+1])
		switch why := refused[key.Value]; {
		case key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str":
			return nil, fail(key, "expected the name of a key of cloud-init")
		case why != "":
			return nil, fail(nil, "%s", why)
		case key.Value == "packages" && !isList(value, isText):
			return nil, fail(nil, "packages must be a list of strings")
		case (key.Value == before || key.Value == after) && !isList(value, isCommand):
			return nil, fail(value, "%s must be a list of commands, each a string or a list of strings", key.Value)
		}
		all[key.Value] = value
	}
	return all, nil
}

// isList reports whether n is a list whose elements all are as they must be.
func isList(n *yaml.Node, element func(*yaml.Node) bool) bool {
	for _, e := range n.Content {
		if !element(safeyaml.Resolve(e)) {
			return false
		}
	}
	return n.Kind == yaml.SequenceNode
}

func isText(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" }

func isCommand(n *yaml.Node) bool { return isText(n) || len(n.Content) > 0 && isList(n, isText) }
