package models

import (
	"context"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
)

type setCredentialAPI interface {
	cli.ModelsAPI
	SetModelCredential(ctx context.Context, model, cloud, name string) error
}

func SetCredentialCommand(s *cli.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "set-credential CLOUD CREDENTIAL",
		Short: "Choose the credential of a model",
		Long: `Choose which of the controller's credentials for the cloud a model uses. The change takes
effect at once. To give the controller another credential, use juju add-credential -c
CONTROLLER; to replace one, use juju update-credential -c CONTROLLER.`,
		Example:     `  juju set-credential -m staging rack ops`,
		Annotations: cli.SeeAlso("add-credential", "update-credential", "credentials", "show-model"),
		Args:        cli.AtMost(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return cli.Usagef("both cloud and credential name are needed")
			}
			ctx := cmd.Context()
			return cli.WithModelsController(ctx, s, func(t cli.Target, api setCredentialAPI) error {
				m, err := s.FindModel(ctx, t, api, t.Model)
				if err != nil {
					return err
				}
				if err := api.SetModelCredential(ctx, m.UUID, args[0], args[1]); err != nil {
					return err
				}
				s.Note("Model %q uses credential %q of cloud %q.", t.Controller.Unqualify(t.Model), args[1], args[0])
				return nil
			})
		},
	}
	s.ModelFlag(cmd)
	return cmd
}
