package commands

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"juju/charm/spelling"
	"juju/cmd/juju/cli"
)

// absentFlags are flags of Juju's commands that this program lacks: their names, separated by spaces, the commands that
// have them in Juju, all if "", and what to do instead.
var absentFlags = []struct{ names, commands, why string }{
	{"base bootstrap-base", "bootstrap", "charms and add-machine choose the base; the controller's own is its host's"},
	{"channel revision controller-charm-channel", "", "there is no charm store"},
	{"device", "", "devices are not supported yet"},
	{"keep-instance", "", "destroying a machine stops its instance"},
	{"proxy", "", "it connects to machines directly"},
	{"scope", "trust", "it is for Kubernetes clouds, and there is none"},
	{"container remote operator", "", "there is no Kubernetes cloud"},
	{"background", "run-action", "it does not wait unless --wait is given"},
	{"max-output", "", "the output is always shown in full"},
	{"via", "", "relations across models are not supported yet"},
	{"disks", "add-machine", "the size of the disk is a constraint, as in --constraints root-disk=20G"},
	{"public-key", "add-machine", "the public key is read from the private one: --private-key"},
	{"clouds regions", "bootstrap", "see juju clouds and juju regions"},
	{"controller", "add-cloud update-cloud remove-cloud", "a controller has one cloud, on which it was bootstrapped"},
	{"agent-version agent-stream build-agent metadata-source auto-upgrade", "", "agents run the binaries that are installed next to juju"},
	{"summary", "wait-for", "it prints what it waits for as it goes; use juju status"},
	{"model-timeout", "", "use --timeout"},
}

// unknownFlag adds to the error of an unknown flag what to do instead, for a flag of Juju, or else similar flags.
func unknownFlag(cmd *cobra.Command, err error) error {
	name, ok := strings.CutPrefix(err.Error(), "unknown flag: --")
	if !ok {
		return err
	}
	for _, a := range absentFlags {
		if slices.Contains(strings.Fields(a.names), name) && (a.commands == "" || slices.Contains(strings.Fields(a.commands), cmd.Name())) {
			return cli.Usagef("juju %s has no flag --%s: %s", cmd.CalledAs(), name, a.why)
		}
	}
	var flags []string
	note := func(f *pflag.Flag) {
		if !f.Hidden {
			flags = append(flags, f.Name)
		}
	}
	cmd.Flags().VisitAll(note)
	cmd.InheritedFlags().VisitAll(note)
	like := spelling.Near(name, flags)
	if len(like) == 0 {
		return err
	}
	for i := range like {
		like[i] = "--" + like[i]
	}
	return cli.WithHint(err, "Did you mean: "+cli.OneOf(like)+fmt.Sprintf("\nFor usage: %s help %s", cmd.Root().Name(),
		cmd.Name()))
}
