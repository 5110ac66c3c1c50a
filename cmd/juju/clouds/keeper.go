package clouds

import (
	"path/filepath"

	"github.com/juju/loggo"
	"github.com/spf13/cobra"

	"juju/agent/host/process"
	"juju/cmd/juju/cli"
	"juju/provider/local"
)

// KeeperCommand is the process that keeps a local controller running. It is started by bootstrap, and by any command
// that finds it is not running.
func KeeperCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:    "keeper --dir DIR",
		Short:  "Keep a local controller running (started automatically)",
		Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 || dir == "" {
				return cli.Usagef("keeper takes only --dir")
			}
			dir, err := filepath.Abs(dir)
			if err != nil {
				return err
			}
			config, err := readKeeperConfig(dir)
			if err != nil {
				return err
			}
			log, err := process.Log(local.KeeperDir(dir))
			if err != nil {
				return err
			}
			loggo.ResetWriters()
			if err := loggo.RegisterWriter("log", loggo.NewSimpleWriter(log, loggo.DefaultFormatter)); err != nil {
				return err
			}
			err = local.Keep(cmd.Context(), config)
			if cmd.Context().Err() != nil {
				return nil // stopped
			}
			return err
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "the controller's directory")
	return cmd
}
