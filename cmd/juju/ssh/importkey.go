package ssh

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/state/entity"
	"juju/state/entity/sshkey"
)

func ImportKeyCommand(s *cli.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "import-ssh-key FILE...",
		Aliases: []string{"import-ssh-keys"},
		Short:   "Add the SSH keys in files to a model",
		Long: `Add all SSH keys in files to a model, like juju add-ssh-key. A file has one key per line,
like id_*.pub and authorized_keys. Keys of Launchpad and GitHub users are not fetched;
save them to a file first, for example: curl -s https://github.com/NAME.keys >NAME.keys`,
		Example: `  juju import-ssh-key ~/.ssh/id_ed25519.pub
  juju import-ssh-key alice.keys bob.keys`,
		Annotations: cli.SeeAlso("add-ssh-key", "ssh-keys", "remove-ssh-key"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usagef("no file specified")
			}
			var keys []string
			for _, arg := range args {
				from, err := readKeys(arg)
				if err != nil {
					return err
				}
				keys = append(keys, from...)
			}
			return addKeys(cmd.Context(), s, keys)
		},
	}
	s.ModelFlag(cmd)
	s.PlanFlags(cmd)
	return cmd
}

// maxKeyFile is the maximum size of a key file.
const maxKeyFile = 1 << 20

// readKeys reads the keys in a file given by the user.
func readKeys(name string) ([]string, error) {
	if strings.HasPrefix(name, "lp:") || strings.HasPrefix(name, "gh:") {
		return nil, entity.WithHint(cli.Usagef("cannot import keys of %s: keys of other sites are not fetched", name),
			"To save them to a file: curl -s https://github.com/NAME.keys >FILE")
	}
	text, err := cli.ReadWhole(name, maxKeyFile)
	if err != nil {
		return nil, fmt.Errorf("cannot import keys: %w", err)
	}
	all, err := sshkey.ParseAll(string(text))
	if err != nil {
		return nil, fmt.Errorf("cannot import keys of %s: %w", name, err)
	}
	if len(all) == 0 {
		return nil, entity.Errorf(entity.Invalid, "cannot import keys: %s has none", name)
	}
	keys := make([]string, len(all))
	for i, key := range all {
		keys[i] = key.Line
	}
	return keys, nil
}
