package secrets

import (
	"context"

	"github.com/spf13/cobra"

	"juju/apiserver/client"
	"juju/charm/secretargs"
	"juju/cmd/juju/cli"
	"juju/state/entity"
)

type secretsAPI interface {
	Secrets(ctx context.Context, f client.SecretsFilter, reveal bool) ([]client.Secret, error)
	AddSecret(ctx context.Context, name string, set entity.SecretSettings) (string, error)
	UpdateSecret(ctx context.Context, secret client.SecretName, set entity.SecretSettings, prune *bool) error
	RemoveSecret(ctx context.Context, secret client.SecretName, revisions ...int) error
	GrantSecret(ctx context.Context, secret client.SecretName, services []string) ([]error, error)
	RevokeSecret(ctx context.Context, secret client.SecretName, services []string) ([]error, error)
}

// contentHelp is the part of the help that says how content is given.
const contentHelp = `A value is given as KEY=VALUE, as KEY#base64=VALUE in base64, or as KEY#file=PATH in a
file; --file names a YAML or JSON file with several keys. What is given as an argument can
be seen by other users of your computer while the command runs, and in your shell's
history: prefer files. Keys have three or more lower-case letters, digits and single
hyphens, and begin with a letter.`

// content are the flags and arguments with a secret's description and content.
type content struct {
	info, file string
}

func (c *content) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.info, "info", "", "the secret's description")
	cmd.Flags().StringVar(&c.file, "file", "", "a YAML or JSON `file` with keys and values")
}

// settings reads the content. The errors are of usage, as they are found before anything is done.
func (c *content) settings(s *cli.Session, args []string) (set entity.SecretSettings, err error) {
	if err := secretargs.Check(args); err != nil {
		return set, cli.Usage(err)
	}
	set.Content, err = secretargs.Content(args, c.file, func(path string) ([]byte, error) {
		if err := s.CheckFile(path); err != nil {
			return nil, err
		}
		return cli.ReadFile(path, entity.MaxSecret+1)
	})
	if c.info != "" {
		set.Description = &c.info
	}
	return set, err
}

// named returns the secret that an argument names, by its URI or ID, or else by its name.
func named(arg string) client.SecretName {
	if uri, err := entity.ParseSecretURI(arg); err == nil {
		return client.SecretName{ID: uri.ID}
	}
	return client.SecretName{Name: arg}
}
