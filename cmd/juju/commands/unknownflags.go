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
	{"controller-charm-channel controller-charm-path", "bootstrap", "the controller is a program, and no charm"},
	{"channel revision", "", "it chooses a charm of a store, which deploy and refresh get, and juju download"},
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
	{"color no-color", "", "its output has colors on terminals only, and NO_COLOR turns them off"},
	{"max-wait", "", "how long it waits says --wait, or for commands --timeout"},
	{"base series", "upgrade-charm", "a service keeps its base; on another one, deploy it again under another name"},
	{"trust", "upgrade-charm", "to trust a service: juju trust SERVICE"},
	{"controller", "offer offers", "the controller is part of the model, as in -m CONTROLLER:MODEL"},
	{"include-labels include-label exclude-labels exclude-label", "debug-log", "its lines have no labels; --include-module is for what logs them"},
	{"offset", "operations", "the newest come first, and --limit says how many"},
	{"to-default", "", "to reset an option to its default: juju config SERVICE --reset KEY, or juju unset"},
	{"cloud region", "model-config model-defaults", "all models of a controller are in one region of one cloud"},
	{"show-password", "show-controller", "this client keeps your password in a file that only you can read, accounts.yaml"},
	{"B no-browser-login", "", "a login takes a password, and opens no browser"},
	{"credential force", "add-cloud", "to add a credential: juju add-credential; a definition is only checked, not tried"},
	{"c", "add-cloud update-cloud remove-cloud", "a controller has one cloud, on which it was bootstrapped"},
	{"target-controller", "", "a definition is this client's: a controller has one cloud, on which it was bootstrapped"},
	{"region", "add-credential update-credential", "a credential is for all regions of a cloud"},
	{"c controller", "autoload-credentials", "to give a credential to a controller: juju update-credential"},
	{"bootstrap-series", "bootstrap", "the controller's base is its host's"},
	{"c controller all", "clouds", "it lists all clouds that this client knows; that of a controller shows juju show-controller"},
	{"file", "controller-config", "it takes KEY=VALUE, and shows without arguments all that is set"},
	{"ignore-read-only-fields", "", "give only the settings to change"},
	{"managed", "controllers", "every controller is of its own cloud, and none is hosted for others"},
	{"m model", "create-backup dashboard find-offers", "it is about a controller, which -c names"},
	{"hide-credential port", "dashboard", "the controller serves the pages itself, and a browser logs in there"},
	{"pty proxy no-host-key-checks", "debug-hooks", "it has a terminal, goes the way that juju ssh goes, and knows the keys of the machines"},
	{"retry-delay", "debug-log", "it tries again at once, and then ever more slowly"},
	{"t", "destroy-environment destroy-model", "it has no short form: --timeout"},
	{"m model", "charm-resources", "it asks a charm store, and no model"},
	{"series", "download info", "a store has bases: --base"},
	{"arch base series", "diff-bundle", "these choose a charm of a store, and deploy takes files"},
	{"format output o", "enable-ha", "it changes something, and prints only messages"},
	{"app", "exec", "it has another name: --application"},
	{"include-series", "export-bundle", "a bundle has bases and not series"},
	{"force", "import-filesystem", "it takes only what no model has: detach and release it first"},
	{"no-prompt trust", "login", "a password can be piped into it, and a controller is known by its registration"},
	{"exact-time utc", "", "times for programs are in --format json"},
	{"c controller", "offer offers remove-offer", "the controller is part of the model or the URL, as in CONTROLLER:MODEL"},
	{"force-base", "upgrade-charm", "a service keeps its base; on another one, deploy it again under another name"},
	{"num-units", "destroy-unit", "it takes the names of units"},
	{"rename", "rename-space", "the new name is the second argument"},
	{"include-config", "show-cloud", "it shows the settings that the definition has"},
	{"timeout", "upgrade-controller upgrade-model", "it ends when the upgrade has, or with Ctrl-C, which does not stop the upgrade"},
	{"split no-index out url discourse-ids", "documentation", "it prints one page; -o writes it to a file, and --man writes manual pages"},
}

// whyAbsent returns why a command lacks a flag that it has in Juju, or what to do instead; "" if the flag is no such one.
func whyAbsent(cmd *cobra.Command, name string) string {
	for _, a := range absentFlags {
		if slices.Contains(strings.Fields(a.names), name) &&
			(a.commands == "" || slices.Contains(strings.Fields(a.commands), cmd.Name())) {
			return a.why
		}
	}
	return ""
}

// dashed returns a flag as it is typed: -t, --trust.
func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// unknownFlag adds to the error of an unknown flag what to do instead, for a flag of Juju, or else similar flags.
func unknownFlag(cmd *cobra.Command, err error) error {
	name, ok := strings.CutPrefix(err.Error(), "unknown flag: --")
	if letter, rest := strings.CutPrefix(err.Error(), "unknown shorthand flag: '"); rest {
		name, _, _ = strings.Cut(letter, "'")
	} else if !ok {
		return err
	}
	if why := whyAbsent(cmd, name); why != "" {
		return cli.Usagef("juju %s has no flag %s: %s", cmd.CalledAs(), dashed(name), why)
	}
	if !ok {
		return err
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
