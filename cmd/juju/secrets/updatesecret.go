package secrets

import (
	"errors"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
)

func UpdateSecretCommand(s *cli.Session) *cobra.Command {
	var c content
	var name string
	var prune bool
	cmd := &cobra.Command{
		Use:   "update-secret ID|NAME [KEY[#base64|#file]=VALUE...]",
		Short: "Change a secret",
		Long: `Change the content, the description or the name of a secret that a user has added. New
content replaces all keys, and makes a new revision; the units that read the secret are
told. With --auto-prune, revisions that no unit reads any more are deleted from now on.

` + contentHelp,
		Example: `  juju update-secret my-apitoken token#file=token.txt
  juju update-secret my-secret --name my-new-secret --info "changed"
  juju update-secret 9m4e2mr0ui3e8a215n4g key1=value1 --auto-prune`,
		Annotations: cli.SeeAlso("add-secret", "show-secret", "secrets", "remove-secret"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usage(errors.New("missing secret URI"))
			}
			set, err := c.settings(s, args[1:])
			if err != nil {
				return err
			}
			var pruned *bool
			if cmd.Flags().Changed("auto-prune") {
				pruned = &prune
			}
			if cmd.Flags().Changed("name") {
				set.Label = &name
			}
			if set.Content == nil && set.Description == nil && set.Label == nil && pruned == nil {
				return cli.Usage(errors.New("at least one attribute to update must be specified"))
			}
			ctx := cmd.Context()
			return cli.WithModel(ctx, s, func(api secretsAPI) error { return api.UpdateSecret(ctx, named(args[0]), set, pruned) })
		},
	}
	c.flags(cmd)
	cmd.Flags().StringVar(&name, "name", "", "the secret's new name")
	cmd.Flags().BoolVar(&prune, "auto-prune", false, "delete revisions that no unit reads any more")
	s.ModelFlag(cmd)
	return cmd
}
