package commands

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
)

// completionTime is how long a shell waits at most for names from a controller.
const completionTime = 2 * time.Second

// completionCommand prints a script that makes a shell complete command lines. The script runs juju for the words.
func completionCommand(s *cli.Session, root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish",
		Short: "Print a script that completes commands in your shell",
		Long: `Print a script that makes your shell complete commands, flags, and the names of services,
units, machines, actions, tasks, storage, spaces, offers, users, settings and more. The
names come from the controller, if it responds within two seconds.

In bash, add this to ~/.bashrc, with the package bash-completion installed:
  source <(juju completion bash)
In zsh, write the script to a file _juju in a directory of $fpath; in fish, to
~/.config/fish/completions/juju.fish.`,
		Example: `  juju completion bash
  juju completion zsh
  juju completion fish`,
		Annotations: cli.SeeAlso("help", "documentation"),
		ValidArgs:   []string{"bash", "zsh", "fish"},
		RunE: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return cli.Usagef("no shell specified")
			case len(args) > 1:
				return cli.Usagef("unrecognized args: %q", args[1:])
			case args[0] == "bash":
				return root.GenBashCompletionV2(s.Stdout, true)
			case args[0] == "zsh":
				return root.GenZshCompletion(s.Stdout)
			case args[0] == "fish":
				return root.GenFishCompletion(s.Stdout, true)
			}
			return cli.Usagef("unknown shell %q: expected bash, zsh or fish", args[0])
		},
	}
}

// argumentKinds says what the arguments of commands are, instead of their usage line, if that does not say so.
var argumentKinds = map[string]string{
	"add-storage": "UNIT", "attach-resource": "SERVICE RESOURCE=FILE", "bind": "SERVICE SPACE", "cancel-task": "TASK...",
	"change-user-password": "USER", "config": "SERVICE OPTION...", "controller-config": "CONTROLLER-KEY",
	"default-credential": "CLOUD", "deploy": "CHARM", "destroy-environment": "CONTROLLER", "disable-user": "USER",
	"enable-user": "USER", "exec": "", "find-offers": "", "get": "SERVICE OPTION", "grant": "USER LEVEL MODEL|URL...", "help": "HELP",
	"model-config": "MODEL-KEY...", "model-defaults": "MODEL-KEY...", "move-to-space": "SPACE CIDR...",
	"offer": "SERVICE", "remove-saas": "SAAS...", "remove-space": "SPACE", "remove-storage-pool": "POOL", "remove-user": "USER",
	"rename-space": "SPACE", "resume-relation": "RELATION...", "revoke": "USER LEVEL MODEL|URL...", "run": "UNIT UNIT|ACTION...",
	"run-action": "UNIT UNIT|ACTION...", "set": "SERVICE OPTION=...", "show-action-output": "TASK",
	"show-action-status": "TASK", "show-operation": "OPERATION",
	"show-space": "SPACE", "show-task": "TASK", "show-user": "USER", "ssh": "TARGET", "suspend-relation": "RELATION...",
	"unset": "SERVICE OPTION...", "update-storage-pool": "POOL",
}

// flagKinds says what the values of flags are.
var flagKinds = map[string]string{"model": "MODEL", "controller": "CONTROLLER", "unit": "UNIT", "application": "SERVICE",
	"machine": "MACHINE", "to": "MACHINE", "include": "TARGET", "exclude": "TARGET"}

// resetKinds says what --reset of a command takes.
var resetKinds = map[string]string{"config": "OPTION", "model-config": "MODEL-KEY", "model-defaults": "MODEL-KEY"}

// fileKinds are the words in usage lines for which shells complete the names of files.
var fileKinds = []string{"CHARM", "BUNDLE", "FILE", "SOURCE", "DESTINATION"}

// kindsAt returns the kinds of the argument at a position, as words of a usage line such as "UNIT STORAGE...".
func kindsAt(usage string, position int) []string {
	words := strings.Fields(strings.ReplaceAll(usage, " | ", "|"))
	if last := len(words) - 1; position > last && last >= 0 && strings.Contains(words[last], "...") {
		position = last
	}
	if position >= len(words) {
		return nil
	}
	return strings.FieldsFunc(words[position], func(r rune) bool { return (r < 'A' || r > 'Z') && r != '-' && r != '=' })
}

// completeNames makes shells complete the arguments of a command by argumentKinds, or by the words in its usage line, such as
// SERVICE, and the values of its flags that name something.
func completeNames(s *cli.Session, root, cmd *cobra.Command) {
	usage, ok := argumentKinds[cmd.Name()]
	if !ok {
		_, usage, _ = strings.Cut(cmd.Use, " ")
	}
	if cmd.ValidArgs == nil && cmd.ValidArgsFunction == nil {
		cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
			kinds := kindsAt(usage, len(args))
			if slices.Contains(kinds, "RESOURCE=FILE") {
				if strings.Contains(begun, "=") {
					return nil, cobra.ShellCompDirectiveDefault
				}
				kinds = []string{"RESOURCE="}
			}
			if slices.ContainsFunc(kinds, func(kind string) bool { return slices.Contains(fileKinds, kind) }) {
				return nil, cobra.ShellCompDirectiveDefault
			}
			return complete(cmd.Context(), s, root, kinds, args, begun)
		}
	}
	for flag, kind := range flagKinds {
		completeFlag(s, root, cmd, flag, kind)
	}
	if kind := resetKinds[cmd.Name()]; kind != "" {
		completeFlag(s, root, cmd, "reset", kind)
	}
	if formats := cli.Formats(cmd); formats != nil {
		if err := cmd.RegisterFlagCompletionFunc("format",
			cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp)); err != nil {
			panic(fmt.Sprintf("juju %s --format: %v", cmd.Name(), err))
		}
	}
}

func completeFlag(s *cli.Session, root, cmd *cobra.Command, flag, kind string) {
	if f := cmd.Flags().Lookup(flag); f == nil || f.Value.Type() == "bool" {
		return
	}
	err := cmd.RegisterFlagCompletionFunc(flag,
		func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
			return complete(cmd.Context(), s, root, []string{kind}, args, begun)
		})
	if err != nil {
		panic(fmt.Sprintf("juju %s --%s: %v", cmd.Name(), flag, err)) // registered twice
	}
}

// complete returns the names of these kinds that begin so, and are no argument yet. After a kind that ends in = follows a value.
func complete(ctx context.Context, s *cli.Session, root *cobra.Command, kinds, args []string,
	begun string) (names []string,
	how cobra.ShellCompDirective) {
	s.Quiet, s.ReachTimeout = true, completionTime
	ctx, cancel := context.WithTimeout(ctx, completionTime)
	defer cancel()
	how = cobra.ShellCompDirectiveNoFileComp
	for _, kind := range kinds {
		kind, assigns := strings.CutSuffix(kind, "=")
		find := namers[kind]
		if find == nil {
			continue
		}
		for _, name := range find(naming{ctx, s, root, args, begun}) {
			if assigns {
				name += "="
				how |= cobra.ShellCompDirectiveNoSpace
			}
			names = append(names, name)
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		return !strings.HasPrefix(name, begun) || slices.Contains(args, name)
	})
	slices.Sort(names)
	return slices.Compact(names), how
}
