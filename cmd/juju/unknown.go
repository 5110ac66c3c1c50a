package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"juju/charm/spelling"
	"juju/cmd/juju/cli"
)

// An absence is a set of commands, of any version of Juju, that this program lacks.
type absence struct {
	names string // separated by spaces
	use   string // what to use instead, or ""
	why   string // an explanation, or ""
}

const (
	noCredentials = `The clouds are "local", this host, and "lxd", configured by juju bootstrap --cloud-config.`
	noSpaces      = "Spaces and subnets are not implemented."
	noCrossModel  = "Relations across models are not implemented."
	noBranches    = "Branches of a model are not implemented."
	noSecrets     = "Secrets are not implemented."
	noBackups     = "juju create-backup writes a backup to a file of yours, and juju restore-backup reads it from there."
	noToolsStore  = "juju upgrade-controller upgrades a controller to the binaries installed next to juju."
	noHub         = "There is no charm store: juju deploy takes a directory or a file."
)

// absent lists the commands that Juju users know and this program lacks.
var absent = []absence{
	{names: "controllers list-controllers show-controller list-systems systems",
		use: "juju whoami, which shows the selected controller"},
	{names: "controller-config get-controller-config"},
	{names: "destroy-env destroy-system kill-system", use: "juju destroy-environment"},
	{names: "generate-config init", use: "juju bootstrap, which needs no configuration file"},
	{names: "use-environment use-env use-model", use: "juju switch"},
	{names: "environments list-environments", use: "juju models"},
	{names: "create-environment", use: "juju add-model"},
	{names: "get-environment set-environment unset-environment", use: "juju model-config"},
	{names: "share-environment share-model", use: "juju grant"},
	{names: "unshare-environment unshare-model", use: "juju revoke"},
	{names: "dump-model", use: "juju dump-db"},
	{names: "machine", use: "juju machines"},
	{names: "show-application show-unit", use: "juju status NAME"},
	{names: "service", use: "juju status, and juju help for the commands about services"},
	{names: "user", use: "juju users, and juju help for the commands about users"},
	{names: "api-endpoints api-info"},
	{names: "enable-ha ensure-availability"},
	{names: "sync-tools sync-agent-binary sync-agent-binaries", why: noToolsStore},
	{names: "model-defaults model-default get-model-defaults set-model-defaults unset-model-defaults list-model-defaults"},
	{names: "migrate"},
	{names: "add-branch branch branches list-branches track commit abort diff commits list-commits show-commit",
		why: noBranches},
	{names: "bind"},
	{names: "set-application-base set-series upgrade-machine upgrade-series"},
	{names: "trust"},
	{names: "scale-application add-k8s update-k8s remove-k8s", why: "There is no Kubernetes cloud."},
	{names: "charm-resources list-charm-resources", why: noHub},
	{names: "payloads list-payloads"},
	{names: "suspend-relation resume-relation", why: noCrossModel},
	{names: "offer offers list-offers find-offers show-offer remove-offer consume remove-saas remove-consumed-application",
		why: noCrossModel},
	{names: "firewall-rules list-firewall-rules set-firewall-rule"},
	{names: "action", use: "juju run-action, juju actions and juju show-task"},
	{names: "debug-code", why: "juju debug-hooks opens a shell in place of a hook."},
	{names: "spaces list-spaces space add-space show-space rename-space remove-space reload-spaces move-to-space " +
		"subnets list-subnets subnet add-subnet", why: noSpaces},
	{names: "authorized-keys", use: "juju ssh-keys and juju add-ssh-key"},
	{names: "clouds list-clouds regions list-regions show-cloud add-cloud update-cloud update-clouds " +
		"update-public-clouds remove-cloud " +
		"default-region set-default-region grant-cloud revoke-cloud", why: noCredentials},
	{names: "credentials list-credentials add-credential update-credential update-credentials remove-credential " +
		"show-credential " +
		"show-credentials autoload-credentials default-credential set-default-credential set-credential", why: noCredentials},
	{names: "download-backup list-backups backups show-backup upload-backup remove-backup restore", why: noBackups},
	{names: "help-hook-commands help-action-commands",
		why: "To show the help of a hook tool: juju help-tool TOOL"},
	{names: "metrics collect-metrics set-meter-status sla budget budgets wallets plans agree agreements list-agreements"},
	{names: "dashboard gui upgrade-gui upgrade-dashboard"},
	{names: "info find download charm publish", why: noHub},
	{names: "secrets list-secrets show-secret add-secret update-secret remove-secret grant-secret revoke-secret " +
		"secret-backends " +
		"list-secret-backends add-secret-backend update-secret-backend remove-secret-backend show-secret-backend " +
		"model-secret-backend", why: noSecrets},
	{names: "cached-images list-cached-images remove-cached-images metadata"},
}

// unknownCommand returns the error for an unknown command, with the replacement for a command of Juju, or else similar
// commands.
func unknownCommand(root *cobra.Command, name string) error {
	for _, a := range absent {
		if !slices.Contains(strings.Fields(a.names), name) {
			continue
		}
		if a.use != "" {
			return cli.WithHint(cli.Usagef("juju %s does not exist here; use %s", name, a.use), "To list all commands: juju help")
		}
		return cli.WithHint(cli.Usagef("juju %s is not implemented", name),
			strings.TrimSpace(a.why+"\nTo list all commands: juju help"))
	}
	hint := "To list all commands: juju help"
	if like := spelling.Near(name, commandNames(root)); len(like) > 0 {
		hint = "Did you mean: " + cli.OneOf(like) + "\n" + hint
	}
	return cli.WithHint(cli.Usagef("unrecognized command: juju %s", name), hint)
}

// commandNames returns the names and aliases of all commands.
func commandNames(root *cobra.Command) (names []string) {
	for _, cmd := range root.Commands() {
		if !cmd.Hidden {
			names = append(names, append([]string{cmd.Name()}, cmd.Aliases...)...)
		}
	}
	return names
}

// unknownIn returns the unknown command in a command line, "" if there is none. It runs before flags are parsed, since
// the flags of an unknown command are unknown too.
func unknownIn(root *cobra.Command, args []string) string {
	root.InitDefaultHelpCmd()
	if cmd, _, err := root.Find(args); err == nil && cmd != root || len(args) > 0 &&
		strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		return ""
	}
	for i := 0; i < len(args); i++ {
		name, isFlag := strings.CutPrefix(args[i], "--")
		switch {
		case name == "" && isFlag:
			return ""
		case isFlag:
			if f := root.PersistentFlags().Lookup(name); f != nil && f.NoOptDefVal == "" {
				i++ // skip the flag's value
			}
		case !strings.HasPrefix(args[i], "-") && args[i] != "":
			return args[i]
		}
	}
	return ""
}

// absentFlags are flags of Juju's commands that this program lacks: their names, separated by spaces, the commands that
// have them in Juju, all if "", and what to do instead.
var absentFlags = []struct{ names, commands, why string }{
	{"bind", "", "endpoints' spaces are not supported yet"},
	{"base bootstrap-base", "", "specify the series of the base, as in --series jammy"},
	{"channel revision controller-charm-channel", "", "there is no charm store"},
	{"device", "", "devices are not supported yet"},
	{"no-prompt", "", "it does not ask for confirmation"},
	{"dry-run", "destroy-unit destroy-service destroy-machine", "juju explain NAME shows what must be removed first"},
	{"keep-instance", "", "destroying a machine stops its instance"},
	{"proxy", "", "it connects to machines directly"},
	{"container remote operator", "", "there is no Kubernetes cloud"},
	{"background", "run-action", "it does not wait unless --wait is given"},
	{"max-output", "", "the output is always shown in full"},
	{"wait", "run", "it waits up to --timeout, unless --background is given"},
	{"via", "", "relations across models are not supported yet"},
	{"endpoints to-spaces to-cidrs", "", "a service is exposed as a whole, to everyone"},
	{"disks", "add-machine", "the size of the disk is a constraint, as in --constraints root-disk=20G"},
	{"public-key", "add-machine", "the public key is read from the private one: --private-key"},
	{"credential clouds regions", "", "there are no credentials: the clouds are local, and lxd with --cloud-config"},
	{"agent-version agent-stream build-agent metadata-source auto-upgrade", "", "agents run the binaries that are installed next to juju"},
	{"query summary", "wait-for", "use --status or --gone"},
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
