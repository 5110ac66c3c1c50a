package facades

import (
	"context"
	"net/http"

	"juju/apiserver/params"
	"juju/state/controller"
	"juju/state/entity"
)

// Upgrades replaces the controller's own binaries.
type Upgrades interface {
	// Running returns the binaries that the controller runs.
	Running(ctx context.Context) (entity.ControllerBinaries, error)
	// Install checks the archive in a file, and stores it and its binaries. The error is entity.Invalid if they are not
	// the wanted ones, or don't run.
	Install(ctx context.Context, file string, want entity.Binaries) error
	// Archive returns the file with the archive of binaries that has this hash, or "" if there is none.
	Archive(sha256 string) string
	// Switch makes the controller exit when replied is closed, and restart with binaries that were installed. If others
	// share its store, it begins an upgrade of all, one after another; by is the user.
	Switch(ctx context.Context, by string, to entity.Binaries, replied <-chan struct{}) error
}

// Binaries is the archive of agent binaries that new machines download from the server.
type Binaries struct {
	Path   string // of the file
	SHA256 string // in hex
}

// upgrades returns the Upgrades, or an error if the controller's binaries can't be replaced.
func (b *Backend) upgrades() (Upgrades, error) {
	if b.Upgrades == nil {
		return nil, entity.Errorf(entity.NotSupported, "this controller can't be upgraded")
	}
	return b.Upgrades, nil
}

// serveBinariesUpload receives an archive of binaries for the controller. It is served only for the controller's own
// model.
func serveBinariesUpload(v *Visitor, _ http.ResponseWriter, r *http.Request) error {
	switch {
	case v.ControllerAccess != controller.AccessSuperuser:
		return lacksController(v.Identity, controller.AccessSuperuser)
	case v.Model.UUID() != v.ControllerModel.UUID():
		return entity.WithHint(Denied(), "Agent binaries are uploaded to the controller's own model")
	}
	upgrades, err := v.upgrades()
	if err != nil {
		return err
	}
	want := entity.Binaries{Version: r.URL.Query().Get("binaryVersion"), SHA256: r.URL.Query().Get("sha256")}
	if err := refuseDowngrade(r.Context(), upgrades, want.Version); err != nil {
		return err
	}
	file, done, err := v.Receive(v.Limits.Binaries, "archive of agent binaries")
	if err != nil {
		return err
	}
	defer done()
	logger.Infof("%s@%s uploads agent binaries of version %s", v.Tag, r.RemoteAddr, want.Version)
	if err := upgrades.Install(r.Context(), file.Name(), want); err != nil {
		return err
	}
	v.Reply(params.CharmsResponse{})
	return nil
}

// refuseDowngrade returns an error if a version is older than the controller's.
func refuseDowngrade(ctx context.Context, upgrades Upgrades, to string) error {
	running, err := upgrades.Running(ctx)
	if err != nil {
		return err
	}
	order, err := entity.CompareVersions(to, running.Version)
	if err == nil && order < 0 {
		err = entity.Errorf(entity.Invalid,
			"cannot upgrade the controller to %s: its version is %s, and a downgrade is not supported", to, running.Version)
	}
	return err
}

func modelUpgraderControllerBinaries(ctx context.Context, c *Caller, _ None) (entity.ControllerBinaries, error) {
	upgrades, err := c.upgrades()
	if err != nil {
		return entity.ControllerBinaries{}, err
	}
	return upgrades.Running(ctx)
}

// modelUpgraderUpgradeModel upgrades a model's agents to the controller's binaries or, for the controller's own model,
// upgrades the controller to binaries that were uploaded.
func modelUpgraderUpgradeModel(
	ctx context.Context, c *Caller, p params.UpgradeModelParams,
) (params.UpgradeModelResult, error) {
	upgrades, err := c.upgrades()
	if err != nil {
		return params.UpgradeModelResult{}, err
	}
	if err := isKind(p.ModelTag, entity.KindModel); err != nil {
		return params.UpgradeModelResult{}, err
	}
	if p.ModelTag.ID == c.ControllerModel.UUID() {
		if c.ControllerAccess != controller.AccessSuperuser {
			return params.UpgradeModelResult{}, lacksController(c.Identity, controller.AccessSuperuser)
		}
		return upgradeController(ctx, c, upgrades, p)
	}
	row, err := modelOfAdmin(ctx, c, p.ModelTag.ID)
	if err != nil {
		return params.UpgradeModelResult{}, err
	}
	return upgradeModel(ctx, c, row, p)
}

func upgradeController(
	ctx context.Context, c *Caller, upgrades Upgrades, p params.UpgradeModelParams,
) (params.UpgradeModelResult, error) {
	if p.IsNewest() { // programs that are uploaded are named; the controller has no others than it runs
		running, err := upgrades.Running(ctx)
		return params.UpgradeModelResult{ChosenVersion: running.Version, Commit: running.Commit, Error: noUpgrades()}, err
	}
	result := params.UpgradeModelResult{ChosenVersion: p.TargetVersion}
	if err := refuseDowngrade(ctx, upgrades, p.TargetVersion); err != nil {
		return result, err
	}
	if err := Changes.AllowedAt(ctx, c.ControllerModel); err != nil || p.DryRun {
		return result, err
	}
	if err := c.recordBinaries(ctx); err != nil {
		return result, err
	}
	logger.Infof("%s upgrades the controller to version %s", c.Request, p.TargetVersion)
	return result, upgrades.Switch(ctx, c.Tag.ID, entity.Binaries{Version: p.TargetVersion, SHA256: p.SHA256}, c.Request.Done())
}

// recordBinaries records in all models, before the controller is upgraded, which binaries their agents run until they
// are upgraded too.
func (b *Backend) recordBinaries(ctx context.Context) error {
	rows, err := b.Controller.Models(ctx)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if row.IsRemoving() || row.UUID == b.ControllerModel.UUID() {
			continue
		}
		st, err := b.Controller.Model(ctx, row.UUID)
		if err != nil {
			return err
		}
		recorded, err := st.Settings().Binaries(ctx)
		if err == nil && recorded.Version == "" {
			err = st.Settings().SetBinaries(ctx, b.offered())
		}
		if err != nil && entity.KindOf(err) != entity.NotAlive && !entity.IsNotFound(err) {
			return err
		}
	}
	return nil
}

// offered returns the binaries that this controller offers to agents.
func (b *Backend) offered() entity.Binaries {
	p := entity.Binaries{Version: b.Version, Commit: b.Commit}
	if b.Binaries != nil {
		p.SHA256 = b.Binaries.SHA256
	}
	return p
}

func upgradeModel(
	ctx context.Context, c *Caller, row controller.ModelRow, p params.UpgradeModelParams,
) (params.UpgradeModelResult, error) {
	offered := c.offered()
	result := params.UpgradeModelResult{ChosenVersion: offered.Version, Commit: offered.Commit}
	st, err := c.Controller.Model(ctx, row.UUID)
	if err != nil {
		return result, err
	}
	if err := Changes.AllowedAt(ctx, st); err != nil {
		return result, err
	}
	now, err := st.Settings().Binaries(ctx)
	if err != nil {
		return result, err
	}
	if now.Version == "" {
		now = offered
	}
	if !p.IsNewest() {
		if err := checkTarget(p.TargetVersion, now.Version, offered.Version); err != nil {
			return result, err
		}
	}
	if now.Same(offered) {
		result.Error = noUpgrades()
		return result, nil
	}
	if p.DryRun {
		return result, nil
	}
	logger.Infof("%s upgrades model %q to version %s", c.Request, row.Name, offered.Build())
	return result, st.Settings().SetBinaries(ctx, offered)
}

func noUpgrades() *params.Error {
	return params.ToError(entity.Errorf(entity.AlreadyExists, "no upgrades available"))
}

// checkTarget returns an error if a model of version now can't be upgraded to version to, because the controller's
// differs.
func checkTarget(to, now, controller string) error {
	above, err := entity.CompareVersions(to, controller)
	if err != nil {
		return err
	}
	if above > 0 {
		return entity.WithHint(entity.Errorf(entity.Invalid,
			"a hosted model cannot have a higher version than the server model: %s > %s", to, controller),
			"Upgrade the controller first: juju upgrade-controller")
	}
	if order, err := entity.CompareVersions(to, now); err != nil {
		return err
	} else if order < 0 {
		return entity.Errorf(entity.Invalid, "cannot upgrade the model to %s: its version is %s, and a downgrade is not supported",
			to, now)
	}
	if above < 0 {
		return entity.Errorf(entity.NotFound, "no matching agent versions available: the controller has %s", controller)
	}
	return nil
}

// agentBinaries returns the binaries that an agent should run; zero for any.
func (c *Caller) agentBinaries(ctx context.Context, _ entity.Tag) (entity.Binaries, error) {
	return c.Model.Settings().Binaries(ctx)
}

// setUpgradeError records why an agent can't run the binaries that it should; "" if it can.
func (c *Caller) setUpgradeError(_ context.Context, agent entity.Tag, text string) error {
	c.Presence.SetUpgradeError(c.Model.UUID(), agent, entity.Cut(text, maxFailureText))
	return nil
}
