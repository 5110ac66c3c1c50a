package hooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strings"

	"github.com/spf13/pflag"

	"juju/state/entity"
)

// withActionTools returns the table of tools with those for actions, which are also called
// function-get and so on.
func withActionTools(tools map[string]commandInfo) map[string]commandInfo {
	for verb, info := range map[string]commandInfo{
		"get": {args: "[<key>[.<key> ...]]", purpose: "Print the action's parameters.",
			details:  "With a key, print what is there, in maps within maps too; nothing if there is nothing.\n",
			examples: []string{"NAME outfile.path"}, make: func() command { return &actionGet{} }},
		"set": {args: "<key>=<value> [<key>=<value> ...]", purpose: "Set results of the action.",
			details: `A key with dots sets a value in a map within the results. Keys have lowercase
letters, digits and hyphens.
`,
			examples: []string{"NAME size=5", "NAME outfile.size=10G"}, make: func() command { return &actionSet{} }},
		"fail": {args: "[<message>]", purpose: "Make the action fail.",
			details:  "The action has failed once it ends, whatever its exit code. The last message counts.\n",
			examples: []string{"NAME 'no space left'"}, shown: true,
			make: func() command { return &actionFail{} }},
		"log": {args: "<message>", purpose: "Tell how far the action is.",
			details:  "Users see the message at once: juju show-task.\n",
			examples: []string{"NAME 'half done'"}, shown: true, make: func() command { return &actionLog{} }},
	} {
		info.details += "\nIt works only in an action.\n"
		for _, name := range []string{"action-" + verb, "function-" + verb} {
			named := info
			named.examples = nil
			for _, example := range info.examples {
				named.examples = append(named.examples, strings.Replace(example, "NAME", name, 1))
			}
			tools[name] = named
		}
	}
	return tools
}

var errNoAction = errors.New("not running an action")

type actionGet struct {
	output outputFlags
	path   []string
}

func (t *actionGet) flags(flags *pflag.FlagSet) { t.output.add(flags) }

func (t *actionGet) init(_ *Context, args []string) error {
	if len(args) > 0 && args[0] != "" {
		t.path = strings.Split(args[0], ".")
		args = args[1:]
	}
	if err := checkEmpty(args); err != nil {
		return err
	}
	return t.output.check()
}

func (t *actionGet) run(_ context.Context, run *toolRun) error {
	task := run.hook.params.Task
	if !run.hook.isTask() {
		return errNoAction
	}
	var value any = task.Params
	for _, key := range t.path {
		m, _ := value.(map[string]any)
		value = m[key]
	}
	return t.output.write(run, value)
}

// resultKey is the form of the keys of results, dots included.
var resultKey = regexp.MustCompile(`^[a-z0-9](([a-z0-9-.]+)?[a-z0-9])?$`)

// reservedResults are the results that the agent sets.
var reservedResults = map[string]bool{
	"stdout": true, "stdout-encoding": true, "stderr": true, "stderr-encoding": true,
}

// maxResults bounds what an action sets, in bytes of JSON.
const maxResults = 512 << 10

type actionSet struct{ values [][2]string }

func (t *actionSet) flags(*pflag.FlagSet) {}

func (t *actionSet) init(_ *Context, args []string) error {
	for _, arg := range args {
		key, value, ok := strings.Cut(arg, "=")
		switch {
		case !ok:
			return fmt.Errorf("argument %q must be of the form key...=value", arg)
		case reservedResults[key]:
			return fmt.Errorf("cannot set reserved action key %q", key)
		}
		for _, part := range strings.Split(key, ".") {
			if !resultKey.MatchString(part) {
				return fmt.Errorf("key %q must start and end with lowercase alphanumeric, "+
					"and contain only lowercase alphanumeric, hyphens and periods", key)
			}
		}
		t.values = append(t.values, [2]string{key, value})
	}
	return nil
}

func (t *actionSet) run(_ context.Context, run *toolRun) error {
	c := run.hook
	if !c.isTask() {
		return errNoAction
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	results := c.results
	for _, v := range t.values {
		results = withResult(results, strings.Split(v[0], "."), v[1])
	}
	text, err := json.Marshal(results)
	if err != nil {
		return err
	}
	if len(text) > maxResults {
		return fmt.Errorf("cannot set results of more than %d bytes", maxResults)
	}
	c.results = results
	return nil
}

// withResult returns a copy of m with the value at a path, where it replaces what is not a map.
func withResult(m map[string]any, path []string, value string) map[string]any {
	out := maps.Clone(m)
	if out == nil {
		out = map[string]any{}
	}
	if len(path) == 1 {
		out[path[0]] = value
		return out
	}
	inner, _ := out[path[0]].(map[string]any)
	out[path[0]] = withResult(inner, path[1:], value)
	return out
}

type actionFail struct{ message string }

func (t *actionFail) flags(*pflag.FlagSet) {}

func (t *actionFail) init(_ *Context, args []string) error {
	t.message = "action failed without reason given, check action for errors"
	if len(args) > 0 && args[0] != "" {
		t.message = args[0]
		args = args[1:]
	}
	if err := checkEmpty(args); err != nil {
		return err
	}
	return entity.LimitStatusMessage.CheckText(t.message)
}

func (t *actionFail) run(_ context.Context, run *toolRun) error {
	c := run.hook
	if !c.isTask() {
		return errNoAction
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failure = t.message
	return nil
}

type actionLog struct{ message string }

func (t *actionLog) flags(*pflag.FlagSet) {}

func (t *actionLog) init(_ *Context, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("no message specified")
	}
	t.message = entity.LimitTaskMessage.Cut(strings.Join(args, " "))
	return nil
}

func (t *actionLog) run(ctx context.Context, run *toolRun) error {
	c := run.hook
	if !c.isTask() {
		return errNoAction
	}
	return c.backend.LogTask(ctx, c.unit, c.params.Task.ID, t.message)
}
