package controllers

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"juju/agent"
	"juju/cmd/juju/cli"
	"juju/state/entity"
)

func UpgradeModelCommand(s *cli.Session) *cobra.Command {
	u := &upgrade{Session: s}
	cmd := &cobra.Command{
		Use:     "upgrade-model",
		Aliases: []string{"upgrade-juju"},
		Short:   "Upgrade the agents of a model to the version of its controller",
		Long: `Upgrade the agents of a model to the version of its controller, which must be upgraded
first, with juju upgrade-controller. For the controller's own model, this command is the
same as upgrade-controller.

The agent of each machine downloads the new binaries, checks that they run, and restarts
with them. So do the agents of its units, between hooks; a unit in error stays in error.
An agent that can't run the new binaries continues with the old ones.

"juju status --format yaml" shows the version of each agent, and which agents have yet to
be upgraded or can't be. Agents of both versions work together meanwhile.`,
		Example: `  juju upgrade-model --dry-run
  juju upgrade-model
  juju upgrade-model -m prod:web`,
		Annotations: cli.SeeAlso("upgrade-controller", "status", "version"),
		Args:        cli.AtMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return u.run(cmd.Context())
		},
	}
	u.flags(cmd)
	s.ModelFlag(cmd)
	return cmd
}

func (u *upgrade) run(ctx context.Context) error {
	_, t, err := u.ReadModelTarget()
	if err != nil {
		return err
	}
	api, err := u.connectUpgrade(ctx, t)
	if err != nil {
		return err
	}
	defer api.Close()
	model, err := u.FindModel(ctx, t, api, t.Model)
	if err != nil {
		return err
	}
	if info, err := api.ModelInfo(ctx, model.UUID); err != nil {
		return err
	} else if info.IsController {
		return u.controller(ctx, t)
	}
	to, err := api.UpgradeModel(ctx, model.UUID, entity.Binaries{Version: u.version}, u.dryRun)
	switch {
	case errors.Is(err, entity.AlreadyExists):
		u.noUpgrade()
		if order, err := entity.CompareVersions(agent.Version, to.Version); err == nil && order > 0 {
			u.Note("The controller has %s, and this client is %s. To upgrade the controller first: juju upgrade-controller",
				to.Version,
				agent.Version)
		}
		return nil
	case err != nil:
		return err
	case u.dryRun:
		u.wouldUpgrade(to.Version, "upgrade-model")
		return nil
	}
	u.Note("started upgrade to %s", to.Build())
	u.Note("The agents of model %q are being upgraded. To see their versions: juju status --format yaml", model.Name)
	return nil
}
