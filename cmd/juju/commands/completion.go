package commands

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/clouds"
	"juju/cmd/juju/wait"
)

// completionTime is how long a shell waits at most for names from a controller.
const completionTime = 2 * time.Second

// completionCommand prints a script that makes a shell complete command lines. The script runs juju for the words.
func completionCommand(s *cli.Session, root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish",
		Short: "Print a script that makes your shell complete commands",
		Long: `Print a script that makes your shell complete commands, flags, and the names of services,
units, machines, models, controllers and clouds. Names come from the controller, if it
answers within two seconds.

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

// completeNames makes shells complete the arguments of a command by the words in its usage line, such as SERVICE, and
// the values of its flags that name something.
func completeNames(s *cli.Session, cmd *cobra.Command) {
	_, usage, _ := strings.Cut(cmd.Use, " ")
	kinds := strings.FieldsFunc(usage, func(r rune) bool { return r < 'A' || r > 'Z' })
	if cmd.ValidArgs == nil && cmd.ValidArgsFunction == nil {
		cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
			if slices.ContainsFunc(kinds, func(kind string) bool { return slices.Contains(fileKinds, kind) }) {
				return nil, cobra.ShellCompDirectiveDefault
			}
			return complete(cmd.Context(), s, kinds, args, begun), cobra.ShellCompDirectiveNoFileComp
		}
	}
	for flag, kind := range map[string]string{"model": "MODEL", "controller": "CONTROLLER", "unit": "UNIT",
		"application": "SERVICE", "machine": "MACHINE", "to": "MACHINE"} {
		if cmd.Flags().Lookup(flag) == nil {
			continue
		}
		err := cmd.RegisterFlagCompletionFunc(flag,
			func(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
				return complete(cmd.Context(), s, []string{kind}, nil, begun), cobra.ShellCompDirectiveNoFileComp
			})
		if err != nil {
			panic(fmt.Sprintf("juju %s --%s: %v", cmd.Name(), flag, err)) // registered twice
		}
	}
	if formats := cli.Formats(cmd); formats != nil {
		if err := cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp)); err != nil {
			panic(fmt.Sprintf("juju %s --format: %v", cmd.Name(), err))
		}
	}
}

// fileKinds are the words in usage lines for which shells complete the names of files.
var fileKinds = []string{"CHARM", "BUNDLE", "FILE", "SOURCE"}

// modelKinds are the kinds of entities of a model that words in usage lines stand for.
var modelKinds = map[string][]string{"SERVICE": {"SERVICE"}, "UNIT": {"UNIT"}, "MACHINE": {"MACHINE"},
	"TARGET": {"UNIT", "MACHINE"}, "PATTERN": {"SERVICE", "UNIT", "MACHINE"}}

// complete returns the names of these kinds that begin so, and are no argument yet.
func complete(ctx context.Context, s *cli.Session, kinds, args []string, begun string) (names []string) {
	s.Quiet, s.ReachTimeout = true, completionTime
	ctx, cancel := context.WithTimeout(ctx, completionTime)
	defer cancel()
	var ofModel []string
	for _, kind := range kinds {
		ofModel = append(ofModel, modelKinds[kind]...)
		switch kind {
		case "MODEL", "CONTROLLER":
			names = append(names, ofStore(s, kind)...)
		case "CLOUD":
			for cloud := range clouds.Homes {
				names = append(names, cloud)
			}
		}
	}
	if len(ofModel) > 0 {
		names = append(names, ofStatus(ctx, s, ofModel)...)
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		return !strings.HasPrefix(name, begun) || slices.Contains(args, name)
	})
	slices.Sort(names)
	return slices.Compact(names)
}

// ofStore returns the models of the selected controller, or the controllers, that this client knows.
func ofStore(s *cli.Session, kind string) (names []string) {
	st, err := s.Store()
	if err != nil {
		return nil // a shell has nowhere to show errors
	}
	known, err := st.Read()
	if err != nil {
		return nil
	}
	if kind == "CONTROLLER" {
		return known.Names()
	}
	if _, ctrl, err := known.Controller(s.Controller); err == nil {
		for model := range ctrl.Models {
			names = append(names, ctrl.Unqualify(model))
		}
	}
	return names
}

// ofStatus returns the names of services, units and machines in the model, none if its controller does not answer.
func ofStatus(ctx context.Context, s *cli.Session, kinds []string) (names []string) {
	_ = cli.WithModel(ctx, s, func(api wait.StatusAPI) error {
		status, err := api.Status(ctx)
		if err != nil {
			return err
		}
		if slices.Contains(kinds, "SERVICE") {
			for _, svc := range status.Services {
				names = append(names, svc.Name)
			}
		}
		if slices.Contains(kinds, "UNIT") {
			for _, u := range status.AllUnits() {
				names = append(names, u.Name)
			}
		}
		if slices.Contains(kinds, "MACHINE") {
			for _, m := range status.AllMachines() {
				names = append(names, m.ID)
			}
		}
		return nil
	})
	return names
}
