package services

import (
	"strconv"

	"github.com/spf13/cobra"

	"juju/charm"
	"juju/cmd/juju/cli"
)

func TrustCommand(s *cli.Session) *cobra.Command {
	remove, scope := false, ""
	cmd := &cobra.Command{
		Use:   "trust SERVICE",
		Short: "Let a service use the cloud's credential",
		Long: `Let the charm of a service use the credential of the model's cloud, which its hooks read
with credential-get. Anyone who has it can do everything in the cloud that the controller
can, and anyone who can change the service's charm can get it, so only superusers can
trust a service. With --remove, the hooks can't read the credential any more; a charm may
have kept it.`,
		Example: `  juju trust web
  juju trust web --remove`,
		Annotations: cli.SeeAlso("config", "deploy"),
		Args:        cli.AtMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.CheckServices(args); err != nil {
				return err
			}
			if scope != "" && scope != "cluster" {
				return cli.Usagef("scope %q not valid: expected cluster", scope)
			}
			ctx := cmd.Context()
			return cli.WithModel(ctx, s, func(api setAPI) error {
				return api.SetServiceConfig(ctx, args[0], map[string]string{charm.Trust: strconv.FormatBool(!remove)}, "")
			})
		},
	}
	cmd.Flags().BoolVar(&remove, "remove", false, "stop trusting the service")
	cmd.Flags().StringVar(&scope, "scope", "", "accepted for scripts written for Kubernetes: only cluster, which has no effect")
	s.ModelFlag(cmd)
	s.PlanFlags(cmd)
	return cmd
}
