package secrets

import (
	"errors"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
)

func RemoveSecretCommand(s *cli.Session) *cobra.Command {
	var revision int
	cmd := &cobra.Command{
		Use:   "remove-secret ID|NAME",
		Short: "Remove a secret",
		Long: `Remove a secret that a user has added, with all its revisions, or one revision of it.
Units that read it get an error from then on.`,
		Example: `  juju remove-secret my-secret
  juju remove-secret 9m4e2mr0ui3e8a215n4g --revision 4`,
		Annotations: cli.SeeAlso("add-secret", "update-secret", "secrets"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usage(errors.New("missing secret URI"))
			}
			if err := cli.AtMost(1)(cmd, args); err != nil {
				return err
			}
			var revisions []int
			if cmd.Flags().Changed("revision") {
				if revision < 1 {
					return cli.Usage(errors.New("revision must be a positive integer"))
				}
				revisions = []int{revision}
			}
			ctx := cmd.Context()
			return cli.WithModel(ctx, s, func(api secretsAPI) error { return api.RemoveSecret(ctx, named(args[0]), revisions...) })
		},
	}
	cmd.Flags().IntVar(&revision, "revision", 0, "remove this `revision` only")
	s.ModelFlag(cmd)
	return cmd
}
