package hooktools

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

var addMetricInfo = commandInfo{
	args:    "<key>=<value> [<key>=<value> ...]",
	purpose: "Record a measurement.",
	details: `Nothing is metered: it warns of that in the log, and succeeds.
`,
	examples: []string{"add-metric users=5"},
	make:     func() command { return &addMetric{} },
}

type addMetric struct{}

func (t *addMetric) flags(flags *pflag.FlagSet) {
	flags.StringP("labels", "l", "", "what the measurements are about, as `key=value,...`")
}

func (t *addMetric) init(_ Context, args []string) error {
	if len(args) == 0 {
		return errors.New("no metrics specified")
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

func (t *addMetric) run(_ context.Context, run *toolRun) error {
	run.hook.Warn("add-metric records nothing: measurements are not kept")
	return nil
}
