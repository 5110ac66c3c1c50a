package services

import (
	"context"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/state/constraints"
)

type constraintsAPI interface {
	ServiceConstraints(ctx context.Context, service string) (constraints.Value, error)
	SetServiceConstraints(ctx context.Context, service string, c constraints.Value) (warnings []string, err error)
	ModelConstraints(ctx context.Context) (constraints.Value, error)
	SetModelConstraints(ctx context.Context, c constraints.Value) (warnings []string, err error)
}

func ConstraintsCommand(s *cli.Session) *cobra.Command {
	c := &showConstraints{Session: s}
	cmd := &cobra.Command{
		Use:     "constraints SERVICE",
		Aliases: []string{"get-constraints"},
		Short:   "Show the constraints of a service",
		Long: `Show the constraints of a service. Together with the model's, they apply to the machines
of units added from now on.`,
		Example: `  juju constraints web
  juju constraints web --format yaml`,
		Annotations: cli.SeeAlso("set-constraints", "model-constraints"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.WithHint(cli.Usagef("no service specified"), "To show the model's constraints: juju model-constraints")
			}
			if err := cli.CheckService(args); err != nil {
				return err
			}
			return c.run(cmd.Context(), func(ctx context.Context, api constraintsAPI) (constraints.Value, error) {
				return api.ServiceConstraints(ctx, args[0])
			})
		},
	}
	c.flags(cmd)
	return cmd
}

func ModelConstraintsCommand(s *cli.Session) *cobra.Command {
	c := &showConstraints{Session: s}
	cmd := &cobra.Command{
		Use:     "model-constraints",
		Aliases: []string{"get-model-constraints", "get-environment-constraints"},
		Short:   "Show the constraints of a model",
		Long: `Show the constraints of a model. They apply to machines added from now on, unless
overridden by the service or add-machine.`,
		Example: `  juju model-constraints
  juju model-constraints --format json`,
		Annotations: cli.SeeAlso("set-model-constraints", "constraints"),
		Args:        cli.AtMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.run(cmd.Context(), func(ctx context.Context, api constraintsAPI) (constraints.Value, error) {
				return api.ModelConstraints(ctx)
			})
		},
	}
	c.flags(cmd)
	return cmd
}

type showConstraints struct {
	*cli.Session
	output cli.Output
}

const constraintsFormat = "constraints" // KEY=VALUE pairs

func (c *showConstraints) flags(cmd *cobra.Command) {
	c.output.Flags(cmd, constraintsFormat, constraintsFormat, "yaml", "json")
	c.ModelFlag(cmd)
}

func (c *showConstraints) run(ctx context.Context,
	read func(context.Context, constraintsAPI) (constraints.Value, error)) error {
	if err := cli.CheckFormat(c.output.Format, constraintsFormat); err != nil {
		return err
	}
	return cli.WithModel(ctx, c.Session, func(api constraintsAPI) error {
		constraints, err := read(ctx, api)
		if err != nil {
			return err
		}
		text := []byte(constraints.String() + "\n")
		switch {
		case c.output.Format != constraintsFormat:
			if text, err = cli.Encode(c.output.Format, constraints); err != nil {
				return err
			}
		case constraints.IsEmpty():
			text = nil
		}
		return c.Write(c.output, text)
	})
}
