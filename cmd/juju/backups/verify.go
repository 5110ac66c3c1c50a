package backups

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
)

// VerifyCommand returns verify-backup.
func VerifyCommand(s *cli.Session) *cobra.Command {
	v := &verify{passphrase{Session: s}}
	cmd := &cobra.Command{
		Use:   "verify-backup FILE",
		Short: "Check a backup of a controller",
		Long: `Read a backup that juju create-backup has written, and check that it is complete and
unchanged, and has what a restore needs. This needs no controller.`,
		Example:     `  juju verify-backup prod.backup`,
		Annotations: cli.SeeAlso("create-backup", "restore-backup"),
		Args:        oneFile,
		RunE:        func(cmd *cobra.Command, args []string) error { return v.run(cmd.Context(), args[0]) },
	}
	v.flag(cmd)
	return cmd
}

type verify struct{ passphrase }

func (v *verify) run(ctx context.Context, path string) error {
	f, err := v.open(ctx, path)
	if err != nil {
		return err
	}
	defer f.Close()
	p := v.Quickly("Reading %s", path)
	m, err := f.verify(ctx)
	p.Done()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(v.Stdout, "%s is a complete backup of controller %q on cloud %q, made by juju %s at %s.\n",
		path, m.Name, m.Cloud, m.Version, m.Made.Format(time.RFC3339))
	return err
}
