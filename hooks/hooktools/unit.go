package hooktools

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/juju/loggo"
	"github.com/spf13/pflag"
)

var jujuLogInfo = commandInfo{
	args:    "<message>",
	purpose: "Write a message to the log.",
	details: `What a hook prints is logged anyway; this tool gives the message a level.
`,
	examples: []string{"juju-log cache is cold", `juju-log -l WARNING "certificate expires soon"`},
	shown:    true,
	make:     func() command { return &jujuLog{} },
}

type jujuLog struct {
	debug   bool
	level   string
	message string
}

func (t *jujuLog) flags(flags *pflag.FlagSet) {
	flags.BoolVar(&t.debug, "debug", false, "log at level DEBUG")
	flags.StringVarP(&t.level, "log-level", "l", "INFO",
		"log at this `level`: TRACE, DEBUG, INFO, WARNING, ERROR or CRITICAL")
	addIgnoredFormat(flags)
}

func (t *jujuLog) init(hook Context, args []string) error {
	if len(args) == 0 {
		return errors.New("no message specified")
	}
	t.message = strings.Join(args, " ")
	return nil
}

func (t *jujuLog) run(ctx context.Context, run *toolRun) error {
	level, ok := loggo.ParseLevel(t.level)
	if !ok || level == loggo.UNSPECIFIED {
		// A mistyped log level is no reason to fail the hook, or to lose the message.
		run.hook.Log(loggo.WARNING, fmt.Sprintf("log level %q is not known, INFO is taken", t.level))
		level = loggo.INFO
	}
	if t.debug {
		level = loggo.DEBUG
	}
	run.hook.Log(level, t.message)
	return nil
}

var unitGetInfo = commandInfo{
	args:    "private-address|public-address",
	purpose: "Print an address of the unit.",
	details: `Other units reach this unit at its private address, users at its public address.
`,
	examples: []string{"unit-get private-address"},
	make:     func() command { return &unitGet{} },
}

type unitGet struct {
	out outputFlags
	key string
}

func (t *unitGet) flags(flags *pflag.FlagSet) { t.out.add(flags) }

func (t *unitGet) init(hook Context, args []string) error {
	if err := t.out.check(); err != nil {
		return err
	}
	if len(args) == 0 {
		return errors.New("no setting specified")
	}
	t.key = args[0]
	if t.key != "private-address" && t.key != "public-address" {
		return fmt.Errorf("unknown setting %q", t.key)
	}
	return checkEmpty(args[1:])
}

func (t *unitGet) run(ctx context.Context, run *toolRun) error {
	info, err := run.hook.UnitInfo(ctx)
	if err != nil {
		return err
	}
	address := info.PrivateAddress
	if t.key == "public-address" {
		address = info.PublicAddress
	}
	if address == "" {
		return fmt.Errorf("unit %q has no %s yet", run.hook.UnitName(), t.key)
	}
	return t.out.write(run, address)
}

var configGetInfo = commandInfo{
	args:    "[<key>]",
	purpose: "Print the service's configuration.",
	details: `Without a key, print all options that have a value; with --all, those without one
too. A key that has no value, or is unknown, prints nothing; that is no error.
`,
	examples: []string{"config-get title", "config-get --all --format json"},
	make:     func() command { return &configGet{} },
}

type configGet struct {
	out outputFlags
	all bool
	key string
}

func (t *configGet) flags(flags *pflag.FlagSet) {
	flags.BoolVarP(&t.all, "all", "a", false, "print all options, also those without a value")
	t.out.add(flags)
}

func (t *configGet) init(hook Context, args []string) error {
	if err := t.out.check(); err != nil {
		return err
	}
	if len(args) > 0 {
		t.key, args = args[0], args[1:]
		if t.key != "" && t.all {
			return fmt.Errorf("cannot use argument --all together with key %q", t.key)
		}
	}
	return checkEmpty(args)
}

func (t *configGet) run(ctx context.Context, run *toolRun) error {
	options, err := run.hook.Config(ctx)
	if err != nil {
		return err
	}
	if t.key != "" {
		return t.out.write(run, options[t.key])
	}
	shown := map[string]any{}
	for name, value := range options {
		if t.all || value != nil {
			shown[name] = value
		}
	}
	return t.out.write(run, shown)
}
