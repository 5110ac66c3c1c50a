package cli_test

import (
	"context"
	"testing"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/clitest"
	"juju/state/entity"
)

// newUser returns a user of one command, status, which asks for the status of the model.
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
		return []*cobra.Command{cmd}
	})
}

type statusAPI interface {
	Status(ctx context.Context, patterns ...string) (*entity.ModelStatus, error)
}
