package secrets

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"juju/apiserver/client"
	"juju/cmd/juju/cli"
)

func GrantSecretCommand(s *cli.Session) *cobra.Command {
	return grants(s, &cobra.Command{
		Use:   "grant-secret ID|NAME SERVICE[,SERVICE...]",
		Short: "Let services read a secret",
		Long:  `Let the units of services read a secret that a user has added.`,
		Example: `  juju grant-secret my-secret ubuntu-k8s
  juju grant-secret 9m4e2mr0ui3e8a215n4g ubuntu-k8s,prometheus-k8s`,
		Annotations: cli.SeeAlso("revoke-secret", "add-secret", "show-secret"),
	}, "grant", secretsAPI.GrantSecret)
}

func RevokeSecretCommand(s *cli.Session) *cobra.Command {
	return grants(s, &cobra.Command{
		Use:   "revoke-secret ID|NAME SERVICE[,SERVICE...]",
		Short: "No longer let services read a secret",
		Long:  `No longer let the units of services read a secret that a user has added.`,
		Example: `  juju revoke-secret my-secret ubuntu-k8s
  juju revoke-secret 9m4e2mr0ui3e8a215n4g ubuntu-k8s,prometheus-k8s`,
		Annotations: cli.SeeAlso("grant-secret", "remove-secret", "show-secret"),
	}, "revoke", secretsAPI.RevokeSecret)
}

func grants(s *cli.Session, cmd *cobra.Command, verb string,
	change func(secretsAPI, context.Context, client.SecretName, []string) ([]error, error)) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) < 2 {
			return cli.Usage(errors.New("missing secret URI or application name"))
		}
		if err := cli.AtMost(2)(cmd, args); err != nil {
			return err
		}
		services := strings.Split(args[1], ",")
		if err := cli.CheckServices(services); err != nil {
			return err
		}
		ctx := cmd.Context()
		return cli.WithModel(ctx, s, func(api secretsAPI) error {
			errs, err := change(api, ctx, named(args[0]), services)
			if err == nil {
				err = errors.Join(errs...)
			}
			if err != nil {
				return fmt.Errorf("failed to %s secret: %w", verb, err)
			}
			return nil
		})
	}
	s.ModelFlag(cmd)
	return cmd
}
