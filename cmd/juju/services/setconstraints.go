package services

import (
	"strings"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/state/constraints"
)

func SetConstraintsCommand(s *cli.Session) *cobra.Command {
	service := ""
	cmd := &cobra.Command{
		Use:   "set-constraints SERVICE KEY=VALUE...",
		Short: "Set the constraints of a service",
		Long: `Replace the constraints of a service. They apply to the machines of units added from now
on; existing machines do not change. Keys that are not given default to the model's
constraints (see set-model-constraints). A key without a value, as in "mem=", overrides
the model's constraint with none. An empty argument, "", removes all constraints of the
service.

The keys and their values:

` + constraints.Help(),
		Example: `  juju set-constraints web mem=4G cores=2
  juju set-constraints --service web mem=4G
  juju set-constraints web ""`,
		Annotations: cli.SeeAlso("constraints", "set-model-constraints", "deploy"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if service == "" {
				if len(args) == 0 || strings.Contains(args[0], "=") {
					return cli.WithHint(cli.Usagef("no service specified"),
						"To set the model's constraints: juju set-model-constraints KEY=VALUE...")
				}
				service, args = args[0], args[1:]
			}
			if err := cli.CheckServices([]string{service}); err != nil {
				return err
			}
			constraints, err := demands(args, "juju set-constraints "+service)
			if err != nil {
				return err
			}
			return cli.WithModel(cmd.Context(), s, func(api constraintsAPI) error {
				warnings, err := api.SetServiceConstraints(cmd.Context(), service, constraints)
				s.Warn(warnings...)
				return err
			})
		},
	}
	cmd.Flags().StringVar(&service, "service", "", "the service, if it is not the first argument")
	cmd.Flags().StringVarP(&service, "application", "a", "", "")
	cmd.Flags().Lookup("application").Hidden = true
	s.ModelFlag(cmd)
	s.PlanFlags(cmd)
	return cmd
}

func SetModelConstraintsCommand(s *cli.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "set-model-constraints KEY=VALUE...",
		Aliases: []string{"set-environment-constraints"},
		Short:   "Set the constraints of a model",
		Long: `Replace the constraints of a model. They apply to machines added from now on, unless
overridden by the service or add-machine. A key that conflicts with one of the service's,
as mem does with instance-type, is ignored for that service. An empty argument, "",
removes all constraints of the model.

The keys and their values:

` + constraints.Help(),
		Example: `  juju set-model-constraints mem=2G arch=amd64
  juju set-model-constraints ""`,
		Annotations: cli.SeeAlso("model-constraints", "set-constraints"),
		RunE: func(cmd *cobra.Command, args []string) error {
			constraints, err := demands(args, "juju set-model-constraints")
			if err != nil {
				return err
			}
			return cli.WithModel(cmd.Context(), s, func(api constraintsAPI) error {
				warnings, err := api.SetModelConstraints(cmd.Context(), constraints)
				s.Warn(warnings...)
				return err
			})
		},
	}
	s.ModelFlag(cmd)
	s.PlanFlags(cmd)
	return cmd
}

// demands parses constraints from arguments. An empty argument clears them; no arguments at all is an error, since it is
// more likely a mistake.
func demands(args []string, command string) (constraints.Value, error) {
	if len(args) == 0 {
		return constraints.Value{}, cli.WithHint(cli.Usagef("no constraints specified"), `To clear them: `+command+` ""`)
	}
	constraints, err := constraints.Parse(args...)
	if err != nil {
		return constraints, cli.Usage(err)
	}
	return constraints, nil
}
