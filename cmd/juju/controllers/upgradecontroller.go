package controllers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"juju/agent"
	"juju/agent/binaries/pack"
	"juju/apiserver/client"
	"juju/cmd/juju/cli"
	"juju/cmd/juju/clouds"
	"juju/cmd/juju/connect"
	"juju/state/entity"
	"juju/state/entity/backoff"
)

func UpgradeControllerCommand(s *cli.Session) *cobra.Command {
	u := &upgrade{Session: s}
	cmd := &cobra.Command{
		Use:   "upgrade-controller",
		Short: "Upgrade a controller to the version of this program",
		Long: `Upgrade a controller to the version of this program: upload the jujud and agent binaries
that are installed next to juju. The controller checks that they run, and restarts with
them. If it does not come up, it reverts to the old binaries, and the command says why.
This requires a superuser of the controller.

Several controllers restart one after another, while the others serve. If the first one
does not come up, it reverts and the upgrade is cancelled. If a later one does not, it
reverts and is tried again after a while; juju show-controller says why. One that is down
is upgraded when it comes back.

Agents are not upgraded and keep running. Upgrade them model by model with juju
upgrade-model.

A different build of the same version counts as an upgrade. Downgrades are not supported,
since the format of the controller's store may have changed.`,
		Example: `  juju upgrade-controller --dry-run
  juju upgrade-controller
  juju upgrade-controller -c prod`,
		Annotations: cli.SeeAlso("upgrade-model", "show-controller", "status", "version"),
		Args:        cli.AtMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, t, err := s.ReadTarget()
			if err != nil {
				return err
			}
			return u.controller(cmd.Context(), t)
		},
	}
	u.flags(cmd)
	s.ControllerFlag(cmd)
	return cmd
}

type upgradeAPI interface {
	io.Closer
	cli.ModelsAPI
	ModelSummaries(ctx context.Context) ([]entity.ModelSummary, error)
	ModelInfo(ctx context.Context, uuid string) (entity.ModelInfo, error)
	ControllerBinaries(ctx context.Context) (entity.ControllerBinaries, error)
	UpgradeModel(ctx context.Context, uuid string, to entity.Binaries, dryRun bool) (entity.Binaries, error)
}

// An uploadBinariesAPI is a connection to the controller's own model.
type uploadBinariesAPI interface {
	UploadBinaries(ctx context.Context, archive io.Reader, p entity.Binaries) error
}

type upgrade struct {
	*cli.Session
	version string
	dryRun  bool
}

func (u *upgrade) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&u.version, "agent-version", "", "fail unless the upgrade is to this `VERSION`")
	cmd.Flags().StringVar(&u.version, "version", "", "")
	cmd.Flags().Lookup("version").Hidden = true
	cmd.Flags().BoolVar(&u.dryRun, "dry-run", false, "only print what would be done")
}

func (u *upgrade) noUpgrade() { u.Note("no upgrades available") }

// wouldUpgrade prints the result of a dry run.
func (u *upgrade) wouldUpgrade(version, command string) {
	u.Note("best version:\n    %s\nupgrade to this version by running\n    juju %s", version, command)
}

// upgradeTimeout is how long a controller may take to restart with new binaries. It may have to migrate its data.
const upgradeTimeout = 10 * time.Minute

// controller upgrades a controller.
func (u *upgrade) controller(ctx context.Context, t cli.Target) error {
	if u.version != "" && u.version != agent.Version {
		if _, err := entity.CompareVersions(u.version, u.version); err != nil {
			return cli.Usage(err)
		}
		return entity.WithHint(entity.Errorf(entity.NotFound, "no matching agent versions available"),
			"A controller is upgraded to the version of the client, which is juju %s.", agent.Version)
	}
	api, err := u.connectUpgrade(ctx, t)
	if err != nil {
		return err
	}
	defer func() { api.Close() }()
	now, err := api.ControllerBinaries(ctx)
	if errors.Is(err, entity.Unauthorized) {
		err = entity.WithHint(fmt.Errorf("cannot upgrade controller %q: %w", t.Name, err),
			"Only a superuser of the controller can upgrade it.")
	}
	if err != nil {
		return err
	}
	if order, err := entity.CompareVersions(agent.Version, now.Version); err != nil {
		return err
	} else if order < 0 {
		return entity.WithHint(entity.Errorf(entity.Invalid,
			"cannot upgrade controller %q to %s: its version is %s, and a downgrade is not supported", t.Name, agent.Version,
			now.Version), "Install juju %s on this client.", now.Version)
	}
	p := u.Quickly("Packing the binaries")
	archive, want, err := packBinaries()
	p.Done()
	if err != nil {
		return err
	}
	defer os.Remove(archive.Name())
	defer archive.Close()
	going := now.Upgrade.IsGoing() && now.Upgrade.To.Same(want)
	if want.Same(now.Binaries) && !now.Mixed && !going {
		u.noUpgrade()
		return nil
	}
	own, err := u.ownModel(ctx, t, api)
	if err != nil {
		return err
	}
	if u.dryRun {
		if _, err := api.UpgradeModel(ctx, own.UUID, want, true); err != nil {
			return err
		}
		u.wouldUpgrade(want.Version, "upgrade-controller")
		return nil
	}
	p = u.Steps("Upgrading controller %q from %s to %s", t.Name, now.Build(), want.Build())
	defer p.Done()
	u.Model = t.Name + ":" + own.Owner + "/" + own.Name
	if going {
		// What was begun before goes on.
	} else if err := cli.WithModel(ctx, u.Session, func(at uploadBinariesAPI) error {
		p, content := u.Upload(u.Quickly, "the binaries", archive)
		defer p.Done()
		return at.UploadBinaries(ctx, content, want)
	}); err != nil {
		return err
	}
	if _, err := api.UpgradeModel(ctx, own.UUID, want, false); err != nil {
		return err
	}
	api.Close() // the controller waits for this
	u.WaitsFor("The upgrade of controller %q continues, and is reverted if it fails. "+
		"To check it: juju show-controller %[1]s", t.Name)
	if err := u.follow(ctx, t, want, p); err != nil {
		return err
	}
	p.End(nil)
	u.Note("Controller %q is upgraded to %s. To upgrade the agents of a model: juju upgrade-model -m MODEL", t.Name,
		want.Build())
	return nil
}

func (u *upgrade) connectUpgrade(ctx context.Context, t cli.Target) (upgradeAPI, error) {
	conn, err := u.ConnectController(ctx, t)
	if err != nil {
		return nil, err
	}
	return conn.(upgradeAPI), nil
}

// ownModel returns the controller's own model. Its owner is the user who bootstrapped, but any superuser may upgrade the
// controller.
func (u *upgrade) ownModel(ctx context.Context, t cli.Target, api upgradeAPI) (client.Model, error) {
	models, err := api.ModelSummaries(ctx)
	if err != nil {
		return client.Model{}, err
	}
	for _, m := range models {
		if m.IsController {
			return u.FindModel(ctx, t, api, m.OwnerTag.ID+"/"+m.Name)
		}
	}
	return client.Model{}, entity.Errorf(entity.NotFound, "controller %q does not list its own model", t.Name)
}

// follow waits until the controller runs the new binaries or has reverted to the old ones. Several controllers all have to
// run them.
func (u *upgrade) follow(ctx context.Context, t cli.Target, want entity.Binaries, p *cli.Progress) error {
	var last *entity.ControllerUpgrade
	ctx, cancel := context.WithTimeoutCause(ctx, upgradeTimeout,
		entity.Errorf(entity.Unavailable, "controller %q is not back after %v", t.Name, upgradeTimeout))
	defer cancel()
	for pauses := backoff.New(connect.MinPause, connect.MaxPause); ; {
		now, err := u.binaries(ctx, t)
		if err == nil && now.Upgrade != nil {
			last = now.Upgrade
			p.Say("%s", stepOf(last))
		}
		switch {
		case ctx.Err() != nil && last.IsGoing():
			return entity.WithHint(entity.Errorf(entity.Unavailable,
				"the upgrade of controller %q takes longer than %v: %s", t.Name,
				upgradeTimeout, stepOf(last)), "It goes on. To see how far it is: juju show-controller %s", t.Name)
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && !errors.Is(err, entity.Unavailable):
			return err
		case err == nil && now.Upgrade != nil && now.Upgrade.To.Same(want) && now.Upgrade.Cancelled != "":
			return entity.WithHint(fmt.Errorf("cannot upgrade controller %q to %s: %s", t.Name, want.Version,
				now.Upgrade.Cancelled),
				"It has reverted, and the upgrade of the others is cancelled.")
		case err == nil && now.Upgrade.IsGoing():
		case err == nil && now.Binaries.Same(want):
			return nil
		case err == nil && now.Failed != nil && now.Failed.Binaries.Same(want):
			return entity.WithHint(fmt.Errorf("cannot upgrade controller %q to %s: %s", t.Name, want.Version, now.Failed.Error),
				"It has reverted to %s.", now.Version)
		}
		_ = pauses.Sleep(ctx) // the next round says that ctx has ended
	}
}

// stepOf says how far an upgrade of several controllers is.
func stepOf(u *entity.ControllerUpgrade) string {
	text := fmt.Sprintf("upgraded: %s", cmp.Or(strings.Join(u.Changed, ", "), "none"))
	if u.Turn != "" {
		text = fmt.Sprintf("Upgrading controller %s to %s; %s", u.Turn, u.To.Version, text)
	} else {
		text = fmt.Sprintf("Upgrading the controllers to %s; %s", u.To.Version, text)
	}
	for _, f := range u.Failed {
		text += fmt.Sprintf("; controller %s has failed and is tried again: %s", f.Machine, f.Error)
	}
	return text
}

func (u *upgrade) binaries(ctx context.Context, t cli.Target) (now entity.ControllerBinaries, err error) {
	api, err := u.connectUpgrade(ctx, t)
	if err != nil {
		return now, err
	}
	defer api.Close()
	return api.ControllerBinaries(ctx)
}

// packBinaries archives the binaries in this program's directory to a temporary file, which the caller removes. The
// controller checks that their version is this program's.
func packBinaries() (*os.File, entity.Binaries, error) {
	want := entity.Binaries{Version: agent.Version, Commit: agent.BuiltFrom()}
	if err := clouds.CheckBinaries(); err != nil {
		return nil, want, err
	}
	dir, err := clouds.BinariesDir()
	if err != nil {
		return nil, want, err
	}
	file, err := os.CreateTemp("", "juju-binaries-*")
	if err != nil {
		return nil, want, fmt.Errorf("cannot pack the binaries: %w", err)
	}
	want.SHA256, err = pack.WriteArchive(file, dir, pack.Names...)
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		file.Close()
		os.Remove(file.Name())
		return nil, want, fmt.Errorf("cannot pack the binaries: %w", err)
	}
	return file, want, nil
}
