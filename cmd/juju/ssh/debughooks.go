package ssh

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"juju/agent"
	"juju/cmd/juju/cli"
	"juju/hooks"
	"juju/state/entity"
)

func DebugHooksCommand(s *cli.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "debug-hooks UNIT [HOOK|ACTION...]",
		Aliases: []string{"debug-hook"},
		Short:   "Run a unit's hooks interactively, in a shell",
		Long: `Run a unit's hooks and actions interactively. Each of the given ones, or all if none are
given, opens a shell instead of running the charm's executable, in the charm directory and
with the hook's environment and tools. The shell's exit code is the hook's: 0 commits the
buffered changes of hook tools, any other code makes the hook fail. While the shell is
open, the unit and others on its machine wait. SERVICE/leader is the service's leader.

It continues until you interrupt it with ctrl-c between hooks, or the unit is removed. To
debug a failed hook, run juju resolved in another shell. On a terminal, if tmux is
installed, it runs in a tmux session named after the unit, or attaches to that session.

On the local cloud, run it on the controller's host, as the controller's user. On other
clouds it connects to the machine like juju ssh, and runs there as root.`,
		Example: `  juju debug-hooks web/0
  juju debug-hooks web/0 config-changed db-relation-changed`,
		Annotations: cli.SeeAlso("ssh", "resolved", "charm-history", "debug-log"),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return cli.Usagef("no unit name specified")
			case !cli.IsUnitTarget(args[0]):
				return cli.Usage(entity.InvalidUnit(args[0]))
			}
			names := args[1:]
			if slices.Contains(names, "*") {
				names = nil
			}
			return debugHooks(cmd.Context(), s, args[0], names)
		},
	}
	s.ModelFlag(cmd)
	return cmd
}

// aHook matches the name of a hook or an action.
var aHook = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._-]*$`)

func debugHooks(ctx context.Context, s *cli.Session, target string, names []string) error {
	unit, dir, remote, err := unitPlace(ctx, s, target)
	if err != nil {
		return err
	}
	d := agent.Debugging{Root: dir, Unit: unit, Hooks: names, Note: s.Note, Shell: Shell(s)}
	if remote == nil {
		if err := d.Check(); errors.Is(err, entity.Invalid) {
			return cli.Usage(err)
		} else if err != nil {
			return err
		}
	}
	for _, name := range names {
		if !aHook.MatchString(name) {
			return cli.Usagef("unit %q does not contain hook %q", unit, name)
		}
	}
	if _, err := exec.LookPath("tmux"); err == nil && s.InTerminal && s.OutTerminal && s.Getenv("TMUX") == "" {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		argv := []string{"tmux", "new-session", "-A", "-s", unit, "env"}
		for _, variable := range os.Environ() {
			if strings.HasPrefix(variable, "JUJU_") {
				argv = append(argv, variable) // tmux's own environment may be older
			}
		}
		return s.Exec(cli.Replacement{Argv: tmuxWords(slices.Concat(argv, []string{self}, os.Args[1:]))})
	}
	if remote != nil {
		// With a terminal, so that remote processes end when the connection is lost.
		return s.Exec(cli.Replacement{Argv: remote([]string{"-tt"}, agent.RunDebugHooks, names...)})
	}
	return d.Run(ctx)
}

// tmuxWords changes a command line of tmux, for which a word that ends with a semicolon ends a command.
func tmuxWords(argv []string) []string {
	for i, word := range argv {
		if before, ok := strings.CutSuffix(word, ";"); ok {
			argv[i] = before + `\;`
		}
	}
	return argv
}

// Shell returns the user's shell. It controls the terminal, since an editor moves the cursor.
func Shell(s *cli.Session) hooks.Shell {
	return hooks.Shell{Terminal: s.InTerminal, Term: s.Getenv("TERM"), Stdin: s.Stdin, Stdout: s.Stdout.Raw(), Stderr: s.Stderr.Raw()}
}
