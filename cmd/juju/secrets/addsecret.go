package secrets

import (
	"errors"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
)

func AddSecretCommand(s *cli.Session) *cobra.Command {
	var c content
	cmd := &cobra.Command{
		Use:   "add-secret NAME [KEY[#base64|#file]=VALUE...]",
		Short: "Add a secret",
		Long: `Add a secret to the model, and print its URI. Once the secret is granted to a service, its
charm can read it; the URI is the value of the charm's option of type secret.

` + contentHelp,
		Example: `  juju add-secret my-apitoken token#file=token.txt
  juju add-secret my-secret key1=value1 --info "my first secret"
  juju add-secret db-login --file login.yaml`,
		Annotations: cli.SeeAlso("grant-secret", "update-secret", "show-secret", "secrets", "remove-secret"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usage(errors.New("secret name needs to be supplied as the first argument"))
			}
			set, err := c.settings(s, args[1:])
			if err != nil {
				return err
			}
			if len(set.Content) == 0 {
				return cli.Usage(errors.New("missing secret value or filename"))
			}
			ctx := cmd.Context()
			return cli.WithModel(ctx, s, func(api secretsAPI) error {
				uri, err := api.AddSecret(ctx, args[0], set)
				if err != nil {
					return err
				}
				return s.Write(cli.Output{}, []byte(uri+"\n"))
			})
		},
	}
	c.flags(cmd)
	s.ModelFlag(cmd)
	return cmd
}
