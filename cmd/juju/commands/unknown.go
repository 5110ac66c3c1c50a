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

// An absence is a set of commands, of any version of Juju, that this program lacks.
type absence struct {
	names string // separated by spaces
	use   string // what to use instead, or ""
	why   string // an explanation, or ""
}

const (
	noBranches   = "Branches of a model are not implemented."
	noSecrets    = "Secrets are not implemented."
	noBackups    = "juju create-backup writes a backup to a file of yours, and juju restore-backup reads it from there."
	noToolsStore = "juju upgrade-controller upgrades a controller to the binaries installed next to juju."
	noHub        = "There is no charm store: juju deploy takes a directory or a file."
)

// absent lists the commands that Juju users know and this program lacks.
var absent = []absence{
	{names: "list-systems systems", use: "juju controllers"},
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
	{names: "service", use: "juju status, and juju help for the commands about services"},
	{names: "user", use: "juju users, and juju help for the commands about users"},
	{names: "api-endpoints api-info", use: "juju show-controller"},
	{names: "ensure-availability", use: "juju enable-ha"},
	{names: "sync-tools sync-agent-binary sync-agent-binaries", why: noToolsStore},
	{names: "migrate", why: "A model stays on its controller. To add it to another one, export it: juju export-bundle."},
	{names: "add-branch branch branches list-branches track commit abort commits list-commits show-commit",
		why: noBranches},
	{names: "set-application-base set-series", why: "A service keeps its base. Deploy it again, with --base, under another name."},
	{names: "upgrade-machine upgrade-series", why: "A machine keeps its base. Add units on new machines, and destroy the old ones."},
	{names: "scale-application add-k8s update-k8s remove-k8s", why: "There is no Kubernetes cloud."},
	{names: "charm-resources list-charm-resources", why: noHub},
	{names: "payloads list-payloads", why: "Payloads that charms register are checked, and not recorded."},
	{names: "firewall-rules list-firewall-rules set-firewall-rule",
		why: "Whom the ports of a service are open to is said with the service: juju expose SERVICE --to-cidrs CIDRS."},
	{names: "action", use: "juju run-action, juju actions and juju show-task"},
	{names: "debug-code", why: "juju debug-hooks opens a shell in place of a hook."},
	{names: "space", use: "juju spaces"},
	{names: "subnet add-subnet", use: "juju reload-spaces, which has the cloud tell its subnets, and juju subnets"},
	{names: "authorized-keys", use: "juju ssh-keys and juju add-ssh-key"},
	{names: "update-clouds update-public-clouds", why: "There are no public clouds. To change the definition of a cloud: juju update-cloud"},
	{names: "grant-cloud revoke-cloud", why: "All models of a controller are on its cloud: who may add models, juju grant says."},
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
	if like := alike(name, commandNames(root)); len(like) > 0 {
		hint = "Did you mean: " + cli.OneOf(like) + "\n" + hint
	}
	return cli.WithHint(cli.Usagef("unrecognized command: juju %s", name), hint)
}

// verbs are words with which users begin the names of commands, and those with which ours begin.
var verbs = map[string][]string{"delete": {"remove", "destroy"}, "rm": {"remove", "destroy"}, "del": {"remove", "destroy"},
	"create": {"add"}, "new": {"add"}, "ls": {"list"}, "get": {"show"}, "describe": {"show"}, "unset": {"reset"},
	"modify": {"update", "set"}, "edit": {"update", "set"}, "stop": {"destroy", "remove"}, "start": {"add", "deploy"}}

// alike returns the commands that a user may have meant: one with another verb, or else with a similar name.
func alike(name string, commands []string) (like []string) {
	verb, rest, more := strings.Cut(name, "-")
	for _, other := range verbs[verb] {
		for _, command := range commands {
			if more && (command == other+"-"+rest || other == "list" && command == rest) ||
				!more && strings.HasPrefix(command, other+"-") {
				like = append(like, command)
			}
		}
	}
	if len(like) == 0 {
		return spelling.Near(name, commands)
	}
	slices.Sort(like)
	return slices.Compact(like)[:min(len(like), maxAlike)]
}

// maxAlike is how many commands are suggested.
const maxAlike = 8

// commandNames returns the names and aliases of all commands.
func commandNames(root *cobra.Command) (names []string) {
	for _, cmd := range root.Commands() {
		if !cmd.Hidden {
			names = append(names, append([]string{cmd.Name()}, cmd.Aliases...)...)
		}
	}
	return names
}

// unknownIn returns the unknown command in a command line with what follows it, nil if there is none. It runs before flags
// are parsed, since the flags of an unknown command are unknown too.
func unknownIn(root *cobra.Command, args []string) []string {
	root.InitDefaultHelpCmd()
	if cmd, _, err := root.Find(args); err == nil && cmd != root || len(args) > 0 &&
		strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		return nil
	}
	for i := 0; i < len(args); i++ {
		name, isFlag := strings.CutPrefix(args[i], "--")
		switch {
		case name == "" && isFlag:
			return nil
		case isFlag:
			if f := root.PersistentFlags().Lookup(name); f != nil && f.NoOptDefVal == "" {
				i++ // skip the flag's value
			}
		case !strings.HasPrefix(args[i], "-") && args[i] != "":
			return args[i:]
		}
	}
	return nil
}

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
