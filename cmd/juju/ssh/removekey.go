package ssh

import (
	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
)

func RemoveKeyCommand(s *cli.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "remove-ssh-key ID...",
		Aliases: []string{"remove-ssh-keys", "delete-ssh-key", "delete-ssh-keys"},
		Short:   "Remove SSH keys from the machines of a model",
		Long: `Remove SSH keys from the machines of a model. ID is a key's fingerprint, as juju ssh-keys
or ssh-keygen -l shows it, its whole comment, or the key itself. Existing sessions are not
closed.`,
		Example: `  juju remove-ssh-key 45:7f:33:2c:10:4e:6c:14:e3:a1:a4:c8:b2:e1:34:b4
  juju remove-ssh-key alice@laptop`,
		Annotations: cli.SeeAlso("ssh-keys", "add-ssh-key", "import-ssh-key"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usagef("no ssh key id specified")
			}
			return cli.WithModel(cmd.Context(), s, func(api sshKeysAPI) error {
				errs, err := api.RemoveSSHKeys(cmd.Context(), args)
				if err != nil {
					return err
				}
				return keyErrors("remove key id", args, errs)
			})
		},
	}
	s.ModelFlag(cmd)
	s.PlanFlags(cmd)
	return cmd
}
