package users

import (
	"context"
	"time"

	"juju/cmd/juju/cli"
	"juju/state/entity"

	"github.com/spf13/cobra"
)

type tokensAPI interface {
	Tokens(ctx context.Context, user string) ([]entity.AccessToken, error)
	RevokeToken(ctx context.Context, user, name string) error
}

// A shownToken is the YAML and JSON form of a token.
type shownToken struct {
	Name      string `yaml:"name" json:"name"`
	Model     string `yaml:"model" json:"model"`
	ModelUUID string `yaml:"model-uuid" json:"model-uuid"`
	Created   string `yaml:"created" json:"created"`
	Expires   string `yaml:"expires" json:"expires"`
	Expired   bool   `yaml:"expired,omitempty" json:"expired,omitempty"`
}

func TokensCommand(s *cli.Session) *cobra.Command {
	var output cli.Output
	var user string
	cmd := &cobra.Command{
		Use:     "tokens",
		Aliases: []string{"list-tokens"},
		Short:   "List tokens",
		Long: `List the tokens that you created on a controller, with the model that each can read. The
tokens themselves are not stored. With --user, superusers can list another user's tokens.`,
		Example: `  juju tokens
  juju tokens --user bob --format json`,
		Annotations: cli.SeeAlso("create-token", "revoke-token"),
		Args:        cli.AtMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.CheckListFormat(output.Format); err != nil {
				return err
			}
			ctx := cmd.Context()
			return cli.WithController(ctx, s, func(_ cli.Target, api tokensAPI) error {
				all, err := api.Tokens(ctx, user)
				if err != nil {
					return err
				}
				return showTokens(s, output, all)
			})
		},
	}
	cmd.Flags().StringVar(&user, "user", "", "list the tokens of this user")
	output.Flags(cmd, "tabular", cli.ListFormats...)
	s.ControllerFlag(cmd)
	return cmd
}

func showTokens(s *cli.Session, o cli.Output, all []entity.AccessToken) error {
	if len(all) == 0 && o.Format == "tabular" {
		s.Note("No tokens to display.")
		return nil
	}
	shown := make([]shownToken, 0, len(all))
	rows := [][]string{{"Name", "Model", "Created", "Expires"}}
	for _, t := range all {
		one := shownToken{t.Name, t.Model, t.ModelUUID, t.Created.UTC().Format(time.RFC3339), t.Expires.UTC().Format(time.RFC3339),
			!s.Now().Before(t.Expires)}
		shown = append(shown, one)
		expires := t.Expires.Local().Format(time.DateTime)
		if one.Expired {
			expires += " (expired)"
		}
		rows = append(rows, []string{one.Name, one.Model, t.Created.Local().Format(time.DateTime), expires})
	}
	return s.WriteList(o, shown, rows)
}
