package hooktools

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/spf13/pflag"
)

var stateGetInfo = commandInfo{
	args:    "[<key>|-]",
	purpose: "Print the values that the charm has stored in the controller for the unit.",
	details: `Print the value of the key or, if the key is - or not given, all of them. A key that
was not set prints nothing; with --strict, that is an error.
`,
	examples: []string{"state-get", "state-get schema --strict"},
	make:     func() command { return &stateGet{} },
}

type stateGet struct {
	out    outputFlags
	strict bool
	key    string
}

func (t *stateGet) flags(flags *pflag.FlagSet) {
	flags.BoolVar(&t.strict, "strict", false, "fail if the key was not set")
	t.out.add(flags)
}

func (t *stateGet) init(_ Context, args []string) error {
	if err := t.out.check(); err != nil {
		return err
	}
	if len(args) == 0 {
		return nil
	}
	if args[0] != "-" {
		t.key = args[0]
	}
	return checkEmpty(args[1:])
}

func (t *stateGet) run(ctx context.Context, run *toolRun) error {
	kept, err := run.hook.CharmState(ctx)
	if err != nil {
		return err
	}
	if t.key == "" {
		return t.out.write(run, kept)
	}
	value, ok := kept[t.key]
	if !ok && t.strict {
		return fmt.Errorf("%q not found", t.key)
	}
	return t.out.write(run, value)
}

var stateSetInfo = commandInfo{
	args:    "<key>=<value> [<key>=<value> ...]",
	purpose: "Store values for the unit in the controller.",
	details: `Only this unit's hooks can read it, and it goes with the unit. Arguments override
what is in the file, a YAML map of texts.

The values are stored when the hook succeeds. If the hook fails, nothing changes. A unit
can store 2 MiB.
`,
	examples: []string{"state-set schema=3", `echo "user: wp" | state-set --file -`},
	make:     func() command { return &stateSet{} },
}

type stateSet struct {
	file   string
	values map[string]string
}

func (t *stateSet) flags(flags *pflag.FlagSet) {
	flags.StringVar(&t.file, "file", "", "read keys and values from this YAML `file`, or - for the standard input")
}

func (t *stateSet) init(_ Context, args []string) (err error) {
	t.values, err = keyValues(args)
	return err
}

func (t *stateSet) run(ctx context.Context, run *toolRun) error {
	values, err := settingsFile(run, t.file)
	if err != nil {
		return err
	}
	maps.Copy(values, t.values)
	if len(values) == 0 {
		return nil
	}
	if err := run.hook.SetCharmState(ctx, values); err != nil {
		return fmt.Errorf("cannot set the charm's state: %w", err)
	}
	return nil
}

var stateDeleteInfo = commandInfo{
	args:    "<key>",
	purpose: "Delete a value that the charm has stored in the controller.",
	details: `It is deleted once the hook has succeeded. A key that was not set is no error.
`,
	examples: []string{"state-delete schema"},
	make:     func() command { return &stateDelete{} },
}

type stateDelete struct{ key string }

func (t *stateDelete) flags(*pflag.FlagSet) {}

func (t *stateDelete) init(_ Context, args []string) error {
	if len(args) == 0 {
		return errors.New("no key specified")
	}
	t.key = args[0]
	return checkEmpty(args[1:])
}

func (t *stateDelete) run(ctx context.Context, run *toolRun) error {
	return run.hook.DeleteCharmState(ctx, t.key)
}
