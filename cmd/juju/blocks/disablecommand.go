package blocks

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/state/entity"
)

type blockAPI interface {
	Blocks(ctx context.Context) ([]entity.Block, error)
	SwitchBlockOn(ctx context.Context, t entity.BlockType, message string) error
	SwitchBlockOff(ctx context.Context, t entity.BlockType) error
}

// commandSets are the sets of commands that can be disabled. The first name of a type is the one shown.
var commandSets = []struct {
	name string
	t    entity.BlockType
}{
	{"all", entity.BlockChange},
	{"destroy-model", entity.BlockDestroy},
	{"remove-object", entity.BlockRemove},
	{"all-changes", entity.BlockChange},          // Juju 1
	{"destroy-environment", entity.BlockDestroy}, // Juju 1
}

const validSets = "all, destroy-model, remove-object"

// commandSet returns the block type of the set that the first argument names.
func commandSet(args []string) (entity.BlockType, error) {
	if len(args) == 0 {
		return "", cli.Usagef("missing command set (%s)", validSets)
	}
	for _, set := range commandSets {
		if set.name == args[0] {
			return set.t, nil
		}
	}
	return "", cli.Usagef("bad command set, valid options: %s", validSets)
}

// setName returns the name of the set of a block type.
func setName(t entity.BlockType) string {
	for _, set := range commandSets {
		if set.t == t {
			return set.name
		}
	}
	return fmt.Sprintf("<unknown: %s>", t)
}

const setsHelp = `The sets of commands are
  destroy-model   destroy-model, destroy-environment
  remove-object   the above, and destroy-machine, destroy-unit, destroy-service and
                  destroy-relation
  all             every command that changes anything`

func DisableCommandCommand(s *cli.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "disable-command SET [MESSAGE...]",
		Aliases: []string{"block"},
		Short:   "Protect a model from accidental changes",
		Long: `Disable a set of commands in a model until enable-command enables them again. This
applies to every user, even with --force. A disabled command fails and prints MESSAGE.
Agents are not affected.

` + setsHelp + `

In the model "controller", all also disables the commands that manage users and models.`,
		Example: `  juju disable-command destroy-model "Check with SA before destruction."
  juju disable-command remove-object
  juju disable-command all "Model locked down" -m prod`,
		Annotations: cli.SeeAlso("enable-command", "disabled-commands"),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := commandSet(args)
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			return cli.WithModel(ctx, s, func(api blockAPI) error {
				return api.SwitchBlockOn(ctx, t, strings.Join(args[1:], " "))
			})
		},
	}
	s.ModelFlag(cmd)
	s.PlanFlags(cmd)
	return cmd
}
