package secrets

import (
	"errors"

	"github.com/spf13/cobra"

	"juju/apiserver/client"
	"juju/cmd/juju/cli"
	"juju/state/entity"
)

func ShowSecretCommand(s *cli.Session) *cobra.Command {
	var output cli.Output
	var reveal, revisions bool
	var revision int
	cmd := &cobra.Command{
		Use:   "show-secret ID|NAME",
		Short: "Show a secret",
		Long: `Show a secret of the model: its owner, who may read it, and with --reveal its content,
for which admin access to the model is needed. A name is that of a secret that a user has
added; a secret that a charm keeps is shown by its ID.`,
		Example: `  juju show-secret my-secret
  juju show-secret 9m4e2mr0ui3e8a215n4g --revision 2 --reveal
  juju show-secret my-secret --revisions`,
		Annotations: cli.SeeAlso("add-secret", "update-secret", "secrets", "grant-secret"),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return cli.Usage(errors.New("secret ID is required"))
			case revisions && reveal:
				return cli.Usage(errors.New("specify either --revisions or --reveal but not both"))
			case revisions && revision > 0:
				return cli.Usage(errors.New("specify either --revisions or --revision but not both"))
			case revision < 0:
				return cli.Usage(errors.New("revision must be a positive integer"))
			}
			if err := cli.AtMost(1)(cmd, args); err != nil {
				return err
			}
			if err := cli.CheckFormat(output.Format); err != nil {
				return err
			}
			name := named(args[0])
			ctx := cmd.Context()
			return cli.WithModel(ctx, s, func(api secretsAPI) error {
				all, err := api.Secrets(ctx, client.SecretsFilter{ID: name.ID, Name: name.Name, Revision: revision}, reveal)
				if err != nil {
					return err
				}
				if len(all) == 0 {
					return entity.WithHint(entity.Errorf(entity.NotFound, "secret %q not found", name.ID+name.Name), "To list the secrets: juju secrets")
				}
				text, err := cli.Encode(output.Format, shownSecrets(all, true, revisions))
				if err != nil {
					return err
				}
				return s.Write(output, text)
			})
		},
	}
	cmd.Flags().BoolVar(&reveal, "reveal", false, "show the content")
	cmd.Flags().BoolVar(&revisions, "revisions", false, "list the revisions")
	cmd.Flags().IntVarP(&revision, "revision", "r", 0, "show this `revision`; the latest by default")
	output.Flags(cmd, "yaml", "yaml", "json")
	s.ModelFlag(cmd)
	return cmd
}
