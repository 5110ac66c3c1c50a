package cli_test

import (
	"context"
	"testing"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/clitest"
	"juju/state/entity"
)

// newUser returns a user of two commands: status asks for the status of the model, and expose exposes each of its arguments.
func newUser(t *testing.T) *clitest.User {
	t.Helper()
	return clitest.NewUser(t, func(s *cli.Session) []*cobra.Command {
		cmd := &cobra.Command{Use: "status", RunE: func(cmd *cobra.Command, args []string) error {
			return cli.WithModel(cmd.Context(), s, func(api statusAPI) error {
				_, err := api.Status(cmd.Context(), args...)
				return err
			})
		}}
		s.ModelFlag(cmd)
		expose := &cobra.Command{Use: "expose", RunE: func(cmd *cobra.Command, args []string) error {
			return cli.WithModel(cmd.Context(), s, func(api exposeAPI) error {
				var changes []func() error
				for _, service := range args {
					changes = append(changes, func() error {
						_, err := api.Expose(cmd.Context(), service, nil)
						return err
					})
				}
				return s.Together(cmd.Context(), api, changes...)
			})
		}}
		expose.Flags().Bool("wait", false, "")
		s.PlanFlags(expose)
		return []*cobra.Command{cmd, expose}
	})
}

type statusAPI interface {
	Status(ctx context.Context, patterns ...string) (*entity.ModelStatus, error)
}

type exposeAPI interface {
	Expose(ctx context.Context, service string, endpoints entity.ExposedEndpoints) ([]string, error)
}
