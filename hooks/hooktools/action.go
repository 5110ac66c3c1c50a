package hooktools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/pflag"

	"juju/state/limits"
)

// withActionTools returns the table of tools with those for actions, which are also called
// function-get and so on.
func withActionTools(tools map[string]commandInfo) map[string]commandInfo {
	for verb, info := range map[string]commandInfo{
		"get": {args: "[<key>[.<key> ...]]", purpose: "Print the action's parameters.",
			details:  "With a key, print only that parameter; dots separate the keys of nested maps. Print\nnothing if it is not set.\n",
			examples: []string{"NAME outfile.path"}, make: func() command { return &actionGet{} }},
		"set": {args: "<key>=<value> [<key>=<value> ...]", purpose: "Set results of the action.",
			details: `A key with dots sets a value in a map within the results. Keys have lowercase
letters, digits and hyphens. The keys stdout, stderr, stdout-encoding and
stderr-encoding are reserved for the output.
`,
			examples: []string{"NAME size=5", "NAME outfile.size=10G"}, make: func() command { return &actionSet{} }},
		"fail": {args: "[<message>]", purpose: "Make the action fail.",
			details:  "The action fails when it ends, whatever its exit code, with the last message given.\n",
			examples: []string{"NAME 'no space left'"}, shown: true,
			make: func() command { return &actionFail{} }},
		"log": {args: "<message>", purpose: "Report the progress of the action.",
			details:  "Users see the message immediately, with juju show-task.\n",
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

func (t *actionGet) init(_ Context, args []string) error {
	if len(args) > 0 {
		t.path = strings.Split(args[0], ".")
		args = args[1:]
	}
	if err := checkEmpty(args); err != nil {
		return err
	}
	return t.output.check()
}

func (t *actionGet) run(_ context.Context, run *toolRun) error {
	params, ok := run.hook.ActionParams()
	if !ok {
		return errNoAction
	}
	var value any = params
	for _, key := range t.path {
		m, _ := value.(map[string]any)
		value = m[key]
	}
	return t.output.write(run, value)
}

// resultKey is the form of the keys of results; those of nested maps are separated by dots.
var resultKey = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)

// reservedResults are the keys that no map of the results may have. The agent sets them, and return-code, which an action
// may set in vain.
var reservedResults = map[string]bool{"stdout": true, "stdout-encoding": true, "stderr": true, "stderr-encoding": true}

// A Result is a value that an action sets, and its path in maps within maps.
type Result struct {
	Path  []string
	Value string
}

type actionSet struct{ values []Result }

func (t *actionSet) flags(*pflag.FlagSet) {}

func (t *actionSet) init(_ Context, args []string) error {
	for _, arg := range args {
		key, value, ok := strings.Cut(arg, "=")
		if !ok {
			return fmt.Errorf("argument %q must be of the form key...=value", arg)
		}
		path := strings.Split(key, ".")
		for _, part := range path {
			if !resultKey.MatchString(part) {
				return fmt.Errorf("key %q must start and end with lowercase alphanumeric, "+
					"and contain only lowercase alphanumeric and hyphens", part)
			}
			if reservedResults[part] {
				return fmt.Errorf("cannot set reserved action key %q", part)
			}
		}
		t.values = append(t.values, Result{path, value})
	}
	return nil
}

func (t *actionSet) run(_ context.Context, run *toolRun) error {
	if _, ok := run.hook.ActionParams(); !ok {
		return errNoAction
	}
	return run.hook.SetResults(t.values)
}

type actionFail struct{ message string }

func (t *actionFail) flags(*pflag.FlagSet) {}

func (t *actionFail) init(_ Context, args []string) error {
	t.message = "action failed without reason given, check action for errors"
	if len(args) > 0 {
		t.message = cmp.Or(args[0], t.message)
		args = args[1:]
	}
	if err := checkEmpty(args); err != nil {
		return err
	}
	return limits.StatusMessage.CheckText(t.message)
}

func (t *actionFail) run(_ context.Context, run *toolRun) error {
	if _, ok := run.hook.ActionParams(); !ok {
		return errNoAction
	}
	run.hook.Fail(t.message)
	return nil
}

type actionLog struct{ message string }

func (t *actionLog) flags(*pflag.FlagSet) {}

func (t *actionLog) init(_ Context, args []string) error {
	if len(args) == 0 {
		return errors.New("no message specified")
	}
	t.message = limits.TaskMessage.Cut(strings.Join(args, " "))
	return nil
}

func (t *actionLog) run(ctx context.Context, run *toolRun) error {
	if _, ok := run.hook.ActionParams(); !ok {
		return errNoAction
	}
	return run.hook.LogProgress(ctx, t.message)
}
