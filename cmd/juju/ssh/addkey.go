package ssh

import (
	"context"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/state/entity"
	"juju/state/entity/sshkey"
)

func AddKeyCommand(s *cli.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "add-ssh-key KEY...",
		Aliases: []string{"add-ssh-keys"},
		Short:   "Add SSH keys to a model",
		Long: `Allow the owners of SSH keys to log in to all present and future machines of a model as
the user ubuntu, who can become root. A key is a line from a file such as id_*.pub; quote
it.

` + keysNote,
		Example:     `  juju add-ssh-key "$(cat ~/.ssh/id_ed25519.pub)"`,
		Annotations: cli.SeeAlso("ssh-keys", "remove-ssh-key", "import-ssh-key", "ssh"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usagef("no ssh key specified")
			}
			for _, arg := range args {
				if _, err := sshkey.Parse(arg); err != nil {
					return entity.WithHint(cli.Usage(err), "A key is one argument: juju add-ssh-key \"$(cat ~/.ssh/id_ed25519.pub)\"")
				}
			}
			return addKeys(cmd.Context(), s, args)
		},
	}
	s.ModelFlag(cmd)
	s.PlanFlags(cmd)
	return cmd
}

func addKeys(ctx context.Context, s *cli.Session, keys []string) error {
	return cli.WithModel(ctx, s, func(api sshKeysAPI) error {
		errs, err := api.AddSSHKeys(ctx, keys)
		if err != nil {
			return err
		}
		return keyErrors("add key", keys, errs)
	})
}
