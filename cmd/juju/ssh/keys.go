package ssh

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/display"
	"juju/state/entity"
	"juju/state/entity/sshkey"
)

type sshKeysAPI interface {
	Status(ctx context.Context, patterns ...string) (*entity.ModelStatus, error)
	SSHKeys(ctx context.Context, whole bool) ([]string, error)
	AddSSHKeys(ctx context.Context, keys []string) ([]error, error)
	RemoveSSHKeys(ctx context.Context, ids []string) ([]error, error)
}

// keysNote is part of the help of the commands that manage keys.
const keysNote = `The machines of the local cloud have no users of their own and do not use keys.`

func KeysCommand(s *cli.Session) *cobra.Command {
	full := false
	cmd := &cobra.Command{
		Use:     "ssh-keys",
		Aliases: []string{"list-ssh-keys"},
		Short:   "List the SSH keys of a model",
		Long: `List the SSH keys whose owners may log in to the machines of a model as the user ubuntu:
their fingerprints and comments, or with --full the whole keys.

` + keysNote,
		Example: `  juju ssh-keys
  juju ssh-keys --full`,
		Annotations: cli.SeeAlso("add-ssh-key", "remove-ssh-key", "ssh"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return cli.Usagef("unrecognized args: %q", args)
			}
			return cli.WithModel(cmd.Context(), s, func(api sshKeysAPI) error {
				keys, err := api.SSHKeys(cmd.Context(), full)
				if err != nil {
					return err
				}
				if len(keys) == 0 {
					s.Note("No keys to display.")
					return nil
				}
				status, err := api.Status(cmd.Context())
				if err != nil {
					return err
				}
				fmt.Fprintf(s.Stdout, "Keys used in model: %s\n", display.Line(status.Model.Name))
				for _, key := range keys {
					fmt.Fprintln(s.Stdout, display.Line(key))
				}
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&full, "full", false, "print whole keys instead of fingerprints")
	s.ModelFlag(cmd)
	return cmd
}

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
	return cmd
}

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

func RemoveKeyCommand(s *cli.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "remove-ssh-key ID...",
		Aliases: []string{"remove-ssh-keys", "delete-ssh-key", "delete-ssh-keys"},
		Short:   "Remove SSH keys from the machines of a model",
		Long: `Remove SSH keys from the machines of a model. ID is a key's fingerprint, as juju ssh-keys
or ssh-keygen -l shows it, or its whole comment. Existing sessions are not closed.`,
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

// keyErrors joins the errors of several keys.
func keyErrors(what string, keys []string, errs []error) error {
	var all []error
	for i, err := range errs {
		if err != nil {
			all = append(all, fmt.Errorf("cannot %s %q: %w", what, entity.Cut(keys[i], 80), err))
		}
	}
	return errors.Join(all...)
}
