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
	v := &verify{passphrase: passphrase{Session: s}}
	cmd := &cobra.Command{
		Use:   "verify-backup FILE",
		Short: "Check a backup of a controller",
		Long: `Check that a backup made by juju create-backup is complete and unchanged, and contains all
that juju restore-backup needs. This works without a controller.`,
		Example:     `  juju verify-backup prod.backup`,
		Annotations: cli.SeeAlso("create-backup", "restore-backup"),
		Args:        oneFile,
		RunE:        func(cmd *cobra.Command, args []string) error { return v.run(cmd.Context(), args[0]) },
	}
	v.flag(cmd)
	v.output.Flags(cmd, "text", "text", "yaml", "json")
	return cmd
}

type verify struct {
	passphrase
	output cli.Output
}

// A shownBackup is the YAML and JSON form of a backup.
type shownBackup struct {
	File       string `yaml:"file" json:"file"`
	Name       string `yaml:"controller-name" json:"controller-name"`
	Controller string `yaml:"controller-uuid" json:"controller-uuid"`
	Cloud      string `yaml:"cloud" json:"cloud"`
	Version    string `yaml:"version" json:"version"` // of the program that made it
	Made       string `yaml:"created" json:"created"`
}

func (v *verify) run(ctx context.Context, path string) error {
	if err := cli.CheckFormat(v.output.Format, "text"); err != nil {
		return err
	}
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
	shown := shownBackup{path, m.Name, m.Controller, m.Cloud, m.Version, m.Made.Format(time.RFC3339)}
	text := fmt.Appendf(nil, "%s is a complete backup of controller %q on cloud %q, made by juju %s at %s.\n",
		shown.File, shown.Name, shown.Cloud, shown.Version, shown.Made)
	if v.output.Format != "text" {
		if text, err = cli.Encode(v.output.Format, shown); err != nil {
			return err
		}
	}
	return v.Write(v.output, text)
}
