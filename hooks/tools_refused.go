package hooks

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/spf13/pflag"

	"juju/state/entity"
)

// refusal is a tool that never works in the hooks there are. Charms know its error.
type refusal struct {
	why   func(hook *Context) error
	add   func(flags *pflag.FlagSet) // its flags; may be nil
	check func(args []string) error  // of its arguments; may be nil
}

func (t *refusal) flags(flags *pflag.FlagSet) {
	if t.add != nil {
		t.add(flags)
	}
}

func (t *refusal) init(_ *Context, args []string) error {
	if t.check != nil {
		return t.check(args)
	}
	return nil
}

func (t *refusal) run(_ context.Context, run *toolRun) error { return t.why(run.hook) }

func addOutput(flags *pflag.FlagSet) { new(outputFlags).add(flags) }

var credentialGetInfo = commandInfo{
	purpose: "Print the credential of the cloud.",
	details: `Only a service that is trusted may know it, and none is: this always fails.
`,
	examples: []string{"credential-get"},
	make: func() command {
		return &refusal{add: addOutput, check: checkEmpty, why: func(*Context) error {
			return entity.WithHint(fmt.Errorf("cannot access cloud credentials: permission denied"),
				"the service is not trusted with them")
		}}
	},
}

var jujuRebootInfo = commandInfo{
	purpose: "Restart the machine.",
	details: `The machine restarts after the hook has succeeded, or at once with --now; then the
hook runs again. It fails where the cloud can't restart a machine, as on the
cloud local, whose machines are the host.
`,
	examples: []string{"juju-reboot"},
	make: func() command {
		return &refusal{
			add:   func(flags *pflag.FlagSet) { flags.Bool("now", false, "restart at once, and run the hook again") },
			check: checkEmpty,
			why: func(hook *Context) error {
				return entity.WithHint(fmt.Errorf("cannot reboot machine %s: its cloud can't restart machines",
					hook.params.Machine),
					"restart it by hand, and then: juju resolved %s", hook.params.Unit)
			},
		}
	},
}

var addMetricInfo = commandInfo{
	args:    "<key>=<value> [<key>=<value> ...]",
	purpose: "Record a measurement.",
	details: `It works only in the hook collect-metrics, which never runs: nothing is metered.
`,
	examples: []string{"add-metric users=5"},
	make: func() command {
		return &refusal{
			add: func(flags *pflag.FlagSet) {
				flags.StringP("labels", "l", "", "what the measurements are about, as `key=value,...`")
			},
			check: checkMetrics,
			why: func(*Context) error {
				return fmt.Errorf("cannot record metric: metrics not allowed in this context")
			},
		}
	},
}

func checkMetrics(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("no metrics specified")
	}
	for _, arg := range args {
		key, value, ok := strings.Cut(arg, "=")
		switch {
		case !ok || key == "" || value == "":
			return fmt.Errorf(`expected "key=value", got %q`, arg)
		case strings.HasPrefix(key, "juju-"):
			return fmt.Errorf("metric key %q uses a reserved prefix", key)
		}
	}
	return nil
}

// actionTools are the tools for actions, which are also called function-get and so on.
func actionTools() map[string]commandInfo {
	tools := map[string]commandInfo{}
	for verb, info := range map[string]commandInfo{
		"get": {args: "[<key>[.<key> ...]]", purpose: "Print the action's parameters.",
			examples: []string{"NAME outfile.path"}},
		"set": {args: "<key>=<value> [<key>=<value> ...]", purpose: "Set results of the action.",
			examples: []string{"NAME size=5"}},
		"fail": {args: "[<message>]", purpose: "Make the action fail.", examples: []string{"NAME 'no space left'"}},
		"log":  {args: "<message>", purpose: "Tell how far the action is.", examples: []string{"NAME 'half done'"}},
	} {
		why := func(*Context) error { return fmt.Errorf("not running an action") }
		info.make = func() command { return &refusal{why: why} }
		if verb == "get" {
			info.make = func() command { return &refusal{why: why, add: addOutput} }
		}
		info.details = "It works only in an action.\n"
		for _, name := range []string{"action-" + verb, "function-" + verb} {
			named := info
			named.examples = []string{strings.Replace(info.examples[0], "NAME", name, 1)}
			tools[name] = named
		}
	}
	return tools
}

// withActionTools returns the table of tools with those for actions.
func withActionTools(tools map[string]commandInfo) map[string]commandInfo {
	maps.Copy(tools, actionTools())
	return tools
}
