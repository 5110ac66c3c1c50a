package users

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/clouds"
	"juju/cmd/juju/ssh"
	"juju/cmd/juju/store"
	"juju/state/entity"
)

func UnregisterCommand(s *cli.Session) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "unregister CONTROLLER",
		Short: "Forget a controller",
		Long: `Forget a controller that was not bootstrapped by this client, with your user name and
password for it. The controller itself is not affected.`,
		Example: `  juju unregister prod
  juju unregister prod -y`,
		Annotations: cli.SeeAlso("register", "logout", "destroy-environment"),
		Args:        cli.AtMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usagef("no controller specified")
			}
			return unregister(cmd.Context(), s, args[0], yes)
		},
	}
	cli.YesFlag(cmd, &yes)
	return cmd
}

func unregister(ctx context.Context, s *cli.Session, name string, yes bool) error {
	st, err := s.Store()
	if err != nil {
		return err
	}
	contents, err := st.Read()
	if err != nil {
		return err
	}
	name, ctrl, err := contents.Controller(name)
	if err != nil {
		return err
	}
	if _, ok := clouds.Homes[ctrl.Cloud]; ok {
		return entity.WithHint(entity.Errorf(entity.NotSupported,
			"controller %q was bootstrapped by this client, and would be lost", name),
			"To destroy it and everything in it: juju destroy-environment %s", name)
	}
	if !yes {
		answer, err := s.Ask(ctx, fmt.Sprintf("This command will remove connection information for controller %q.\n"+
			"Doing so will prevent you from accessing this controller until\nyou register it again.\n\nContinue [y/N]? ", name))
		if err != nil {
			return err
		}
		if !cli.IsYes(answer) {
			return errors.New("unregistering controller: aborted")
		}
	}
	if err := ssh.Forget(st, name); err != nil {
		return err
	}
	return st.Update(ctx, func(c *store.Contents) error {
		delete(c.Controllers, name)
		return nil
	})
}
