package users

import (
	"context"
	"fmt"
	"time"

	"juju/cmd/juju/cli"
	"juju/state/entity"

	"github.com/spf13/cobra"
)

// tokenAge is how long a token is valid, if --expires does not say it.
const tokenAge = 30 * 24 * time.Hour

type createTokenAPI interface {
	CreateToken(ctx context.Context, name string, age time.Duration) (text string, token entity.AccessToken, err error)
}

func CreateTokenCommand(s *cli.Session) *cobra.Command {
	var age time.Duration
	cmd := &cobra.Command{
		Use:   "create-token NAME",
		Short: "Create a token for programs that read a model",
		Long: `Create a token and print it. Programs that have it can read the model over plain HTTPS,
but change nothing, until the token expires or is revoked, or you lose access to the
model:

  GET /v1/status    the status of the model, as juju status --format json
  GET /v1/explain   what the model is waiting for, as juju explain --format json
  GET /v1/events    each change, as server-sent events

Each request needs the header "Authorization: Bearer TOKEN". juju show-controller prints
the controller's addresses and CA certificate.

NAME identifies the token, so that you can revoke it. --expires is how long it is valid,
such as 12h. The token is shown only once: the controller stores just a hash of it.`,
		Example: `  juju create-token grafana
  juju create-token ci -m staging --expires 12h`,
		Annotations: cli.SeeAlso("tokens", "revoke-token", "grant", "show-controller"),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := oneToken(args)
			if err != nil {
				return err
			}
			if age <= 0 {
				return cli.Usagef("--expires must be positive, got %v", age)
			}
			ctx := cmd.Context()
			return cli.WithModel(ctx, s, func(api createTokenAPI) error {
				text, token, err := api.CreateToken(ctx, name, age)
				if err != nil {
					return err
				}
				s.Note("Token %q is valid until %s. To revoke it: juju revoke-token %[1]s", name, token.Expires.Local().Format(time.DateTime))
				_, err = fmt.Fprintln(s.Stdout, text)
				return err
			})
		},
	}
	cmd.Flags().DurationVar(&age, "expires", tokenAge, "how long the token is valid")
	s.ModelFlag(cmd)
	return cmd
}

// oneToken checks that the only argument is the name of a token.
func oneToken(args []string) (string, error) {
	if len(args) != 1 {
		return "", cli.Usagef("give the name of one token")
	}
	if !entity.IsValidToken(args[0]) {
		return "", cli.Usage(entity.InvalidToken(args[0]))
	}
	return args[0], nil
}
