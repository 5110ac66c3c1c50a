package networks

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/state/entity"
)

type changeAPI interface {
	AddSpace(ctx context.Context, name string, cidrs []string) error
	RenameSpace(ctx context.Context, from, to string) error
	RemoveSpace(ctx context.Context, name string, force bool) (entity.SpaceUse, error)
	ReloadSpaces(ctx context.Context) error
	MoveToSpace(ctx context.Context, name string, cidrs []string, force bool) ([]entity.MovedSubnet, error)
}

func AddSpaceCommand(s *cli.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "add-space NAME [CIDR...]",
		Short: "Add a space",
		Long: `Add a space and move the given subnets of the cloud to it. To bind services and their
endpoints to the space, use juju bind or juju deploy --bind.`,
		Example: `  juju add-space db 172.31.0.0/20
  juju add-space dmz`,
		Annotations: cli.SeeAlso("spaces", "subnets", "move-to-space", "bind"),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, cidrs, err := nameAndCIDRs(args)
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			return cli.WithModel(ctx, s, func(api changeAPI) error {
				if err := api.AddSpace(ctx, name, cidrs); err != nil {
					return err
				}
				if len(cidrs) == 0 {
					s.Note("added space %q with no subnets", name)
				} else {
					s.Note("added space %q with subnets %s", name, strings.Join(cidrs, ", "))
				}
				return nil
			})
		},
	}
	s.ModelFlag(cmd)
	s.PlanFlags(cmd)
	return cmd
}

func RenameSpaceCommand(s *cli.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:         "rename-space NAME NEW-NAME",
		Short:       "Rename a space",
		Long:        "Rename a space, also in the bindings and constraints that use it.",
		Example:     `  juju rename-space db data`,
		Annotations: cli.SeeAlso("spaces", "add-space"),
		Args:        cli.AtMost(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) < 2:
				return cli.Usagef("old-name and new-name are required")
			case args[0] == args[1]:
				return cli.Usagef("old-name and new-name are the same")
			}
			if err := checkNames(args...); err != nil {
				return err
			}
			ctx := cmd.Context()
			return cli.WithModel(ctx, s, func(api changeAPI) error {
				err := api.RenameSpace(ctx, args[0], args[1])
				if err == nil {
					s.Note("renamed space %q to %q", args[0], args[1])
				}
				return err
			})
		},
	}
	s.ModelFlag(cmd)
	s.PlanFlags(cmd)
	return cmd
}

func RemoveSpaceCommand(s *cli.Session) *cobra.Command {
	force := false
	cmd := &cobra.Command{
		Use:   "remove-space NAME",
		Short: "Remove a space",
		Long: `Remove a space. Its subnets move to the space alpha. If services are bound to the space,
or constraints of services or of the model name it, the command lists them and fails; with
--force, these bindings change to alpha, and the space is removed from these constraints.`,
		Example: `  juju remove-space db
  juju remove-space db --force`,
		Annotations: cli.SeeAlso("spaces", "bind", "set-constraints"),
		Args:        cli.AtMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usagef("space name is required")
			}
			if err := checkNames(args...); err != nil {
				return err
			}
			ctx := cmd.Context()
			return cli.WithModel(ctx, s, func(api changeAPI) error {
				use, err := api.RemoveSpace(ctx, args[0], force)
				if err == nil {
					err = usedError(args[0], use)
				}
				if err == nil {
					s.Note("removed space %q", args[0])
				}
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "also remove the space from bindings and constraints that use it")
	s.ModelFlag(cmd)
	s.PlanFlags(cmd)
	return cmd
}

// usedError says what keeps a space from being removed; nil if nothing does.
func usedError(name string, use entity.SpaceUse) error {
	var lines []string
	if len(use.Bound) > 0 {
		lines = append(lines, fmt.Sprintf("%q is used as a binding on: %s", name, strings.Join(use.Bound, ", ")))
	}
	var services []string
	for _, tag := range use.Constrained {
		if tag.Kind == entity.KindModel {
			lines = append(lines, fmt.Sprintf("%q is used as a constraint on the model", name))
		} else {
			services = append(services, tag.ID)
		}
	}
	if len(services) > 0 {
		lines = append(lines, fmt.Sprintf("%q is used as a constraint on: %s", name, strings.Join(services, ", ")))
	}
	if len(lines) == 0 {
		return nil
	}
	return entity.WithHint(entity.Errorf(entity.InUse, "cannot remove space %q: %s", name, strings.Join(lines, "; ")),
		"Change these first (juju bind, juju set-constraints), or remove it from them too: juju remove-space %s --force",
		name)
}

func ReloadSpacesCommand(s *cli.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "reload-spaces",
		Short: "Fetch the cloud's subnets again",
		Long: `Fetch the list of subnets from the cloud again. New subnets are in the space alpha; those
that the cloud no longer has are removed.`,
		Example:     `  juju reload-spaces`,
		Annotations: cli.SeeAlso("spaces", "subnets"),
		Args:        cli.AtMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			return cli.WithModel(ctx, s, func(api changeAPI) error { return api.ReloadSpaces(ctx) })
		},
	}
	s.ModelFlag(cmd)
	s.PlanFlags(cmd)
	return cmd
}

// A movedSubnet is the YAML and JSON form of a move, with Juju's keys.
type movedSubnet struct {
	From string `yaml:"from" json:"from"`
	To   string `yaml:"to" json:"to"`
	CIDR string `yaml:"cidr" json:"cidr"`
}

func MoveToSpaceCommand(s *cli.Session) *cobra.Command {
	var output cli.Output
	force := false
	cmd := &cobra.Command{
		Use:   "move-to-space NAME CIDR...",
		Short: "Move subnets to a space",
		Long: `Move subnets to a space from their present ones. If machines would then violate bindings,
the command lists these bindings and moves nothing, unless --force is given.`,
		Example: `  juju move-to-space db 172.31.1.0/28 172.31.16.0/20
  juju move-to-space alpha 172.31.1.0/28 --format yaml`,
		Annotations: cli.SeeAlso("spaces", "subnets", "add-space"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if output.Format != "human" {
				if err := cli.CheckFormat(output.Format, "human", "tabular"); err != nil {
					return err
				}
			}
			name, cidrs, err := nameAndCIDRs(args)
			if err == nil && len(cidrs) == 0 {
				err = cli.Usagef("CIDRs required but not provided")
			}
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			return cli.WithModel(ctx, s, func(api changeAPI) error {
				all, err := api.MoveToSpace(ctx, name, cidrs, force)
				if err != nil {
					return err
				}
				moved, rows, text := []movedSubnet{}, [][]string{{"Space From", "Space To", "CIDR"}}, ""
				for _, m := range all {
					moved = append(moved, movedSubnet{m.From, m.To, m.CIDR})
					rows = append(rows, []string{m.From, m.To, m.CIDR})
					text += fmt.Sprintf("Subnet %s moved from %s to %s\n", m.CIDR, m.From, m.To)
				}
				if output.Format == "human" {
					return s.Write(output, []byte(text))
				}
				return s.WriteList(output, moved, rows)
			})
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "move the subnets even if machines then violate bindings")
	output.Flags(cmd, "human", "human", "tabular", "yaml", "json")
	s.ModelFlag(cmd)
	s.PlanFlags(cmd)
	return cmd
}
