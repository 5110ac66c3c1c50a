package hooktools

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

// refusal is a tool that always fails in the supported hooks, with the error that charms expect.
type refusal struct {
	why   func(hook Context) error
	add   func(flags *pflag.FlagSet) // its flags; may be nil
	check func(args []string) error  // of its arguments; may be nil
}

func (t *refusal) flags(flags *pflag.FlagSet) {
	if t.add != nil {
		t.add(flags)
	}
}

func (t *refusal) init(_ Context, args []string) error {
	if t.check != nil {
		return t.check(args)
	}
	return nil
}

func (t *refusal) run(_ context.Context, run *toolRun) error { return t.why(run.hook) }

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
			why: func(Context) error {
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
