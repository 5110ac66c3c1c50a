package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"juju/charm"
	"juju/hooks"
	"juju/state/entity"
)

// A Debugging is a session in which a user runs a unit's hooks by hand, on the unit's machine.
type Debugging struct {
	Root, Unit string   // Root is the machine's directory
	Hooks      []string // all if empty
	Shell      hooks.Shell
	// Note prints a line for the user.
	Note func(format string, args ...any)
}

// Check returns an Invalid error if one of the hooks is not valid for the unit's charm.
func (d Debugging) Check() error {
	ch, err := charm.ReadDir(CharmDir(d.Root, d.Unit))
	if err != nil {
		return entity.WithHint(fmt.Errorf("cannot debug hooks of unit %q: %w", d.Unit, err),
			"Wait until its agent has deployed the charm: juju status %s", d.Unit)
	}
	hooksOfCharm, actions := ch.Meta.Hooks(), slices.Sorted(maps.Keys(ch.Actions.Specs))
	valid := slices.Concat(slices.DeleteFunc(slices.Clone(hooksOfCharm), noEvent), actions)
	for _, name := range d.Hooks {
		if !slices.Contains(valid, name) {
			if slices.Contains(hooksOfCharm, name) {
				return entity.Errorf(entity.Invalid, "cannot debug hook %q: %s", name, charm.NoEvent)
			}
			return entity.WithHint(entity.Errorf(entity.Invalid, "unit %q does not contain hook %q", d.Unit, name),
				"Its charm can have: %s", strings.Join(valid, ", "))
		}
	}
	return nil
}

func noEvent(hook string) bool { return !charm.HasEvent(hook) }

// Run opens a shell for each of the hooks, until ctx ends or the unit is removed.
func (d Debugging) Run(ctx context.Context) error {
	ready := func() { d.Note("Waiting for hooks of unit %s; to end: ctrl-c", d.Unit) }
	err := hooks.DebugHooks(ctx, RunDir(d.Root, d.Unit), d.Hooks, ready, func(ctx context.Context,
		h hooks.DebuggedHook) int {
		what := "The charm has nothing for it."
		if h.Program != "" {
			what = "To run what the charm has for it: " + h.Program + "."
		}
		d.Note("Hook %s of unit %s. %s To end it: exit 0", h.Name, d.Unit, what)
		shell := d.Shell
		shell.Prompt = d.Unit + ":" + h.Name + " % "
		code, err := shell.Run(ctx, h.Dir, h.Env)
		if err != nil {
			fmt.Fprintf(shell.Stderr, "ERROR %v\n", err)
		}
		d.Note("Hook %s has ended with exit code %d. Waiting for hooks of unit %s; to end: ctrl-c", h.Name, code, d.Unit)
		return code
	})
	if errors.Is(err, hooks.ErrAgentRemoved) {
		d.Note("Unit %s is removed.", d.Unit)
		return nil
	}
	if errors.Is(err, hooks.ErrDebugged) {
		return entity.Errorf(entity.AlreadyExists, "cannot debug unit %q: %w", d.Unit, err)
	}
	return err
}
