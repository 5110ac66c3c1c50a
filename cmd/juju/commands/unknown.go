package commands

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

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
	noBranches = "A model has one set of settings and charms. To see what a change would lead to: --dry-run. To keep variants of a\n" +
		"model, and to go from one to another: juju export-bundle, juju diff and juju apply."
	noSecretBackends = "The controller's store keeps all secrets, and there is no other place to choose. To list them: juju secrets"
	noBackups        = "juju create-backup writes a backup to a file of yours, and juju restore-backup reads it from there."
	noToolsStore     = "juju upgrade-controller upgrades a controller to the binaries installed next to juju."
	noHub            = "Charms are packed with charmcraft, and published in a store of your own with jujud charmhub upload."
	noMetrics        = "What charms measure is not recorded. Have an action print it, juju run, or the workload serve it to your monitoring."
	noTerms          = "Terms, plans and budgets belong to Canonical's charm store, and there is none: juju deploy asks for nothing to agree to."
	noDashboard      = "The dashboard comes with the controller: juju dashboard prints its address."
	noImages         = "The cloud keeps the images: on lxd, lxc image list shows them, and lxc image delete removes them."
)

// absent lists the commands that Juju users know and this program lacks.
var absent = []absence{
	{names: "generate-config init", use: "juju bootstrap, which needs no configuration file"},
	{names: "list", use: "juju models, juju status, juju controllers, or another command named after what to list"},
	{names: "machine", use: "juju machines"},
	{names: "service services application applications app apps unit units list-services list-applications list-units show-services",
		use: "juju status"},
	{names: "relation relations list-relations show-relations", use: "juju status --relations"},
	{names: "user", use: "juju users"},
	{names: "model environment", use: "juju models"},
	{names: "controller system", use: "juju controllers"},
	{names: "share-environment share-model", use: "juju grant"},
	{names: "unshare-environment unshare-model", use: "juju revoke"},
	{names: "sync-tools sync-agent-binary sync-agent-binaries", why: noToolsStore},
	{names: "migrate", why: "A model stays on its controller. To add it to another one, export it: juju export-bundle."},
	{names: "add-branch branch branches list-branches track commit abort commits list-commits show-commit",
		why: noBranches},
	{names: "scale-application add-k8s update-k8s remove-k8s", why: "There is no Kubernetes cloud."},
	{names: "firewall-rules list-firewall-rules set-firewall-rule",
		why: "Whom the ports of a service are open to is said with the service: juju expose SERVICE --to-cidrs CIDRS."},
	{names: "application-storage", why: "The storage of new units of a service is what juju deploy --storage said. To add to a unit: juju add-storage."},
	{names: "action", use: "juju actions"},
	{names: "debug-code", why: "juju debug-hooks opens a shell in place of a hook."},
	{names: "space", use: "juju spaces"},
	{names: "subnet add-subnet", use: "juju reload-spaces, which has the cloud tell its subnets, and juju subnets"},
	{names: "authorized-keys authorised-keys", use: "juju ssh-keys"},
	{names: "update-clouds update-public-clouds", why: "There are no public clouds. To change the definition of a cloud: juju update-cloud"},
	{names: "grant-cloud revoke-cloud", why: "All models of a controller are on its cloud: who may add models, juju grant says."},
	{names: "download-backup list-backups backups show-backup upload-backup remove-backup restore", why: noBackups},
	{names: "help-hook-commands help-action-commands",
		why: "To show the help of a hook tool: juju help-tool TOOL"},
	{names: "metrics collect-metrics set-meter-status", why: noMetrics},
	{names: "sla budget budgets list-budgets create-budget set-budget show-budget allocate wallets list-wallets create-wallet " +
		"set-wallet show-wallet plans list-plans set-plan agree agreements list-agreements", why: noTerms},
	{names: "upgrade-gui upgrade-dashboard", why: noDashboard},
	{names: "juju-exec juju-run", why: "It is for machines, where it runs a command as a unit. From elsewhere: juju exec --unit UNIT COMMAND"},
	{names: "default-base default-series", use: "juju model-config default-series"},
	{names: "charm publish", why: noHub},
	{names: "secret-backends list-secret-backends add-secret-backend update-secret-backend remove-secret-backend " +
		"show-secret-backend model-secret-backend", why: noSecretBackends},
	{names: "cached-images list-cached-images remove-cached-images metadata", why: noImages},
}

// unknownCommand returns the error for an unknown command, given with the words that follow it: what replaces a command of
// Juju, or else similar commands.
func unknownCommand(root *cobra.Command, words []string) error {
	const all = "To list all commands: juju help"
	name := words[0]
	if like := joined(commandNames(root), words); like != "" {
		return cli.WithHint(cli.Usagef("juju %s %s does not exist here; use juju %s", name, words[1], like), all)
	}
	for _, a := range absent {
		if !slices.Contains(strings.Fields(a.names), name) {
			continue
		}
		if a.use != "" {
			return cli.WithHint(cli.Usagef("juju %s does not exist here; use %s", name, a.use), all)
		}
		return cli.WithHint(cli.Usagef("juju %s is not implemented", name), a.why+"\n"+all)
	}
	hint := all
	if like := alike(name, commandNames(root)); len(like) > 0 {
		hint = "Did you mean: " + cli.OneOf(like) + "\n" + hint
	}
	return cli.WithHint(cli.Usagef("unrecognized command: juju %s", name), hint)
}

// nouns are what commands of two words, as in Juju 1, are about, with the nouns in the names of ours.
var nouns = map[string]string{"machine": "machine", "unit": "unit", "service": "service", "application": "service", "app": "service",
	"relation": "relation", "user": "user", "model": "model", "environment": "model", "controller": "controller",
	"system": "controller", "space": "space", "subnet": "subnet", "storage": "storage", "backup": "backup", "cloud": "cloud",
	"credential": "credential", "offer": "offer", "resource": "resource", "action": "action", "key": "ssh-key",
	"ssh-key": "ssh-key", "authorized-key": "ssh-key", "authorised-key": "ssh-key"}

// subcommands are commands of two words whose replacement has other words.
var subcommands = map[string]string{
	"action defined": "actions", "action do": "run-action", "action run": "run-action", "action fetch": "show-task",
	"action status": "operations", "action cancel": "cancel-task", "user change-password": "change-user-password",
	"model get": "model-config", "model set": "model-config", "model unset": "model-config", "model config": "model-config",
	"space create": "add-space", "space update": "move-to-space", "storage pool": "storage-pools",
}

// joined returns the command that the first two words of an unknown one mean, a verb and a noun in either order, or "".
func joined(commands, words []string) string {
	if len(words) < 2 {
		return ""
	}
	for _, pair := range [][2]string{{words[0], words[1]}, {words[1], words[0]}} {
		verb, noun := pair[0], nouns[pair[1]]
		if noun == "" {
			noun = nouns[strings.TrimSuffix(pair[1], "s")]
		}
		if noun == "" {
			continue
		}
		names := []string{subcommands[noun+" "+verb]}
		for _, v := range append([]string{verb}, verbs[verb]...) {
			if v == "list" {
				names = append(names, noun+"s", noun)
			}
			names = append(names, v+"-"+noun, v+"-"+noun+"s")
		}
		if verb == words[1] && nouns[verb] == "" {
			names = append(names, verb) // "service set"
		}
		for _, name := range names {
			if slices.Contains(commands, name) {
				return name
			}
		}
	}
	return ""
}

// verbs are words with which users begin the names of commands, and those with which ours begin.
var verbs = map[string][]string{"delete": {"remove", "destroy"}, "rm": {"remove", "destroy"}, "del": {"remove", "destroy"},
	"create": {"add"}, "new": {"add"}, "ls": {"list"}, "get": {"show"}, "describe": {"show"}, "info": {"show"}, "unset": {"reset"},
	"modify": {"update", "set"}, "edit": {"update", "set"}, "stop": {"destroy", "remove"}, "start": {"add", "deploy"}}

// alike returns the commands that a user may have meant: one with another verb, or else with a similar name, or else with more
// words or fewer.
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
	if near := spelling.Near(name, commands); len(like) == 0 && len(near) > 0 {
		return near
	}
	if len(like) == 0 && more { // "deploy-charm", "change-password"
		words := strings.Split(name, "-")
		like = slices.DeleteFunc(slices.Clone(commands), func(command string) bool {
			its := strings.Split(command, "-")
			return !within(words, its) && !within(its, words)
		})
	}
	slices.Sort(like)
	return slices.Compact(like)[:min(len(like), maxAlike)]
}

// within reports whether all words are among others.
func within(words, others []string) bool {
	return !slices.ContainsFunc(words, func(word string) bool { return !slices.Contains(others, word) })
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
