package ssh

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"juju/apiserver/display"
	"juju/cmd/juju/cli"
	"juju/state/entity"
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
		Args:        cli.AtMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
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
