package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"juju/agent"
	"juju/charm"
	"juju/hooks"
	"juju/state/entity"
)

func debugHooksCommand(s *session) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "debug-hooks UNIT [HOOK|ACTION...]",
		Aliases: []string{"debug-hook"},
		Short:   "Run a unit's hooks by hand, in a shell",
		Long: `Run a unit's hooks and actions by hand. Each of the named ones, or all if none are named,
opens a shell instead of the charm's program, in the charm's directory and with the
hook's environment and tools. The hook's exit code is that of the shell: after exit 0,
what the hook tools have buffered is written; with another code, the hook has failed.
While the shell is open, the unit and others on its machine wait.

It goes on until you interrupt it with ctrl-c between two hooks, or the unit is removed.
To debug a hook that has failed, run juju resolved in another shell. On a terminal, if
tmux is installed, it runs in a tmux session with the name of the unit, or attaches to
that.

It works on the host of the local cloud, as the user who runs the controller.`,
		Example: `  juju debug-hooks web/0
  juju debug-hooks web/0 config-changed db-relation-changed`,
		Annotations: seeAlso("ssh", "resolved", "charm-history", "debug-log"),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return usagef("no unit name specified")
			case !entity.IsValidUnit(args[0]):
				return usageError{entity.InvalidUnit(args[0])}
			}
			names := args[1:]
			if slices.Contains(names, "*") {
				names = nil
			}
			dir, err := s.unitDir(cmd.Context(), "debug hooks", args[0])
			if err != nil {
				return err
			}
			return s.debugHooks(cmd.Context(), dir, args[0], names)
		},
	}
	s.modelFlag(cmd)
	return cmd
}

func noEvent(hook string) bool { return !charm.HasEvent(hook) }

func (s *session) debugHooks(ctx context.Context, root, unit string, names []string) error {
	ch, err := charm.ReadDir(agent.CharmDir(root, unit))
	if err != nil {
		return entity.WithHint(fmt.Errorf("cannot debug hooks of unit %q: %w", unit, err),
			"Wait until its agent has deployed the charm: juju status %s", unit)
	}
	hooksOfCharm, actions := ch.Meta.Hooks(), slices.Sorted(maps.Keys(ch.Actions.Specs))
	valid := slices.Concat(slices.DeleteFunc(slices.Clone(hooksOfCharm), noEvent), actions)
	for _, name := range names {
		if !slices.Contains(valid, name) {
			if slices.Contains(hooksOfCharm, name) {
				return usagef("cannot debug hook %q: %s", name, charm.NoEvent)
			}
			return entity.WithHint(usagef("unit %q does not contain hook %q", unit, name),
				"Its charm can have: %s", strings.Join(valid, ", "))
		}
	}
	if _, err := exec.LookPath("tmux"); err == nil && s.inTerminal && s.outTerminal && s.getenv("TMUX") == "" {
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
		return s.exec("", slices.Concat(argv, []string{self}, os.Args[1:])...)
	}
	ready := func() {
		s.note("Waiting for hooks of unit %s; to end: ctrl-c", unit)
	}
	err = hooks.DebugHooks(ctx, agent.RunDir(root, unit), names, ready, func(ctx context.Context, h hooks.DebuggedHook) int {
		s.note("Hook %s of unit %s. To run what the charm has for it: ./hooks/%s. To end it: exit 0", h.Name, unit, h.Name)
		shell := hooks.Shell{Prompt: unit + ":" + h.Name + " % ", Terminal: s.inTerminal, Term: s.getenv("TERM"),
			Stdin: s.stdin, Stdout: s.stdout, Stderr: s.stderr}
		code, err := shell.Run(ctx, h.Dir, h.Env)
		if err != nil {
			fmt.Fprintf(s.stderr, "ERROR %v\n", err)
		}
		s.note("Hook %s has ended with exit code %d. Waiting for hooks of unit %s; to end: ctrl-c", h.Name, code, unit)
		return code
	})
	if errors.Is(err, hooks.ErrAgentRemoved) {
		s.note("Unit %s is removed.", unit)
		return nil
	}
	if errors.Is(err, hooks.ErrDebugged) {
		return entity.Errorf(entity.AlreadyExists, "cannot debug unit %q: %w", unit, err)
	}
	return err
}
