package actions

import (
	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
)

// ExecCommand is exec of Juju 3, which is run of Juju 2 with other results.
func ExecCommand(s *cli.Session) *cobra.Command {
	r := &runOnUnits{Session: s, byUnit: true}
	cmd := &cobra.Command{
		Use:   "exec --unit UNIT|--application SERVICE|--machine MACHINE|--all COMMAND",
		Short: "Run a command on units or machines",
		Long: `Run a shell command on units or machines, like juju run in Juju 2, and print the results
as Juju 3 does: the output of a single command, and with --format yaml or json, or with
several targets, a map of the results by unit or machine. The exit code is 1 if a command
failed.

If COMMAND is one argument, it is a script for a shell. Several arguments are the words of
a command: no shell changes them, and NAME=VALUE before its name sets a variable for it.

Options for juju come before the command. Everything after -- belongs to the command.`,
		Example: `  juju exec --unit web/0 'relation-ids store'
  juju exec --application web --format json -- config-get title
  juju exec --machine 0,1 --wait 30s uptime`,
		Annotations: cli.SeeAlso("run", "run-action", "ssh", "operations", "show-task"),
		RunE:        func(cmd *cobra.Command, args []string) error { return r.run(cmd, args) },
	}
	f := cmd.Flags()
	r.targetFlags(f)
	r.output.Flags(cmd, "default", "default", "yaml", "json")
	f.DurationVar(&r.timeout, "timeout", commandTime, "kill the command after this time")
	f.DurationVar(&r.wait, "wait", 0, "how long to wait for the results, 0 for as long as the command may take")
	s.ModelFlag(cmd)
	s.PlanFlags(cmd)
	return cmd
}
