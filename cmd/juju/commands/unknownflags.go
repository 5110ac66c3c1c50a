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
	{"container remote operator", "", "there is no Kubernetes cloud"},
	{"background", "run-action", "it does not wait unless --wait is given"},
	{"max-output", "", "the output is always shown in full"},
	{"disks", "add-machine", "the size of the disk is a constraint, as in --constraints root-disk=20G"},
	{"public-key", "add-machine", "the public key is read from the private one: --private-key"},
	{"clouds regions", "bootstrap", "see juju clouds and juju regions"},
	{"controller", "add-cloud update-cloud remove-cloud", "a controller has one cloud, on which it was bootstrapped"},
	{"agent-version agent-stream build-agent metadata-source auto-upgrade", "", "agents run the binaries that are installed next to juju"},
	{"summary", "wait-for", "it prints what it waits for as it goes; use juju status"},
	{"model-timeout", "destroy-environment", "use --timeout, which is for all models together"},
	{"to", "bootstrap enable-ha", "the cloud chooses where a controller's machine is"},
	{"storage-pool", "bootstrap", "to create a pool in a model: juju create-storage-pool"},
	{"force", "bootstrap", "it skips no check"},
	{"bootstrap-image controller-charm-path db-snap db-snap-asserts", "bootstrap", "a controller is one program, on the image that the cloud gives its machine"},
	{"reset-previous-upgrade ignore-agent-versions upload-tools", "upgrade-model upgrade-controller", "an upgrade that has failed does not hinder the next, and agents of two versions work together"},
	{"user", "models", "to see whom a model is shared with: juju users MODEL"},
	{"list", "switch", "to list the models: juju models; the controllers: juju controllers"},
	{"no-download keep-copy notes", "create-backup", "the backup is in your file only"},
	{"color no-color", "", "its output has no colors"},
	{"max-wait", "", "how long it waits says --wait, or for commands --timeout"},
	{"base series", "upgrade-charm", "a service keeps its base; on another one, deploy it again under another name"},
	{"trust", "upgrade-charm", "to trust a service: juju trust SERVICE"},
	{"controller", "offer offers", "the controller is part of the model, as in -m CONTROLLER:MODEL"},
	{"include-labels include-label exclude-labels exclude-label", "debug-log", "its lines have no labels; --include-module is for what logs them"},
	{"offset", "operations", "the newest come first, and --limit says how many"},
	{"to-default", "", "to reset an option to its default: juju config SERVICE --reset KEY, or juju unset"},
	{"cloud region", "model-config model-defaults", "all models of a controller are in one region of one cloud"},
	{"show-password", "show-controller", "this client keeps your password in a file that only you can read, accounts.yaml"},
	{"split no-index out url discourse-ids", "documentation", "it prints one page; -o writes it to a file, and --man writes manual pages"},
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
