package apiserver

import (
	"context"
	"net/http"
	"regexp"

	"juju/apiserver/params"
	"juju/state/controller"
	"juju/state/entity"
)

// Upgrades replaces the controller's own programs.
type Upgrades interface {
	// Running returns the programs that the controller runs.
	Running(ctx context.Context) (entity.ControllerPrograms, error)
	// Install checks the archive in a file, and keeps it and its programs. The error is entity.Invalid
	// if they are not the programs that are wanted, or don't run.
	Install(ctx context.Context, file string, want entity.Programs) error
	// Archive returns the file with the archive of programs that has this hash, "" if there is none.
	Archive(sha256 string) string
	// Switch makes the controller end, when replied is closed, and begin again with programs that were
	// installed.
	Switch(ctx context.Context, to entity.Programs, replied <-chan struct{}) error
}

// upgrades returns what replaces the controller's programs.
func (s *Server) upgrades() (Upgrades, error) {
	if s.config.Upgrades == nil {
		return nil, entity.Errorf(entity.NotSupported, "this controller can't be upgraded")
	}
	return s.config.Upgrades, nil
}

// serveProgramsUpload receives an archive of programs for the controller. It is found at the
// controller's own model only.
func serveProgramsUpload(s *Server, v *visitor, w http.ResponseWriter, r *http.Request) error {
	switch {
	case v.controllerAccess != controller.AccessSuperuser:
		return lacksController(v.identity, controller.AccessSuperuser)
	case v.model.UUID() != s.controllerModel.UUID():
		return entity.WithHint(denied(), "Programs are uploaded to the controller's own model")
	}
	upgrades, err := s.upgrades()
	if err != nil {
		return err
	}
	want := entity.Programs{Version: r.URL.Query().Get("binaryVersion"), SHA256: r.URL.Query().Get("sha256")}
	if err := refuseDowngrade(r.Context(), upgrades, want.Version); err != nil {
		return err
	}
	u, done, err := s.receive(v, w, r, s.limits.Programs, "archive of programs")
	if err != nil {
		return err
	}
	defer done()
	logger.Infof("%s@%s uploads the programs of version %s", v.tag, r.RemoteAddr, want.Version)
	if err := upgrades.Install(r.Context(), u.file.Name(), want); err != nil {
		return err
	}
	s.writeJSON(w, r, http.StatusOK, params.CharmsResponse{})
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

func modelUpgraderControllerPrograms(ctx context.Context, c *caller, _ none) (entity.ControllerPrograms, error) {
	upgrades, err := c.server.upgrades()
	if err != nil {
		return entity.ControllerPrograms{}, err
	}
	return upgrades.Running(ctx)
}

// modelUpgraderUpgradeModel makes the agents of a model run what the controller runs or, for the
// controller's own model, the controller run programs that were uploaded.
func modelUpgraderUpgradeModel(
	ctx context.Context, c *caller, p params.UpgradeModelParams,
) (params.UpgradeModelResult, error) {
	upgrades, err := c.server.upgrades()
	if err != nil {
		return params.UpgradeModelResult{}, err
	}
	if err := isKind(p.ModelTag, entity.KindModel); err != nil {
		return params.UpgradeModelResult{}, err
	}
	if p.ModelTag.ID == c.server.controllerModel.UUID() {
		if c.controllerAccess != controller.AccessSuperuser {
			return params.UpgradeModelResult{}, lacksController(c.identity, controller.AccessSuperuser)
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
	ctx context.Context, c *caller, upgrades Upgrades, p params.UpgradeModelParams,
) (params.UpgradeModelResult, error) {
	result := params.UpgradeModelResult{ChosenVersion: p.TargetVersion}
	if err := refuseDowngrade(ctx, upgrades, p.TargetVersion); err != nil {
		return result, err
	}
	if err := changes.allowedAt(ctx, c.server.controllerModel); err != nil || p.DryRun {
		return result, err
	}
	if err := c.server.recordPrograms(ctx); err != nil {
		return result, err
	}
	logger.Infof("%s upgrades the controller to version %s", c.conn, p.TargetVersion)
	return result, upgrades.Switch(ctx, entity.Programs{Version: p.TargetVersion, SHA256: p.SHA256}, c.conn.ctx.Done())
}

// recordPrograms records for all models, before the controller is upgraded, which programs their
// agents run until they are upgraded too.
func (s *Server) recordPrograms(ctx context.Context) error {
	rows, err := s.controller.Models(ctx)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if row.IsRemoving() || row.UUID == s.controllerModel.UUID() {
			continue
		}
		st, err := s.controller.Model(ctx, row.UUID)
		if err != nil {
			return err
		}
		recorded, err := st.Settings().Programs(ctx)
		if err == nil && recorded.Version == "" {
			err = st.Settings().SetPrograms(ctx, s.offered())
		}
		if err != nil && entity.KindOf(err) != entity.NotAlive && !entity.IsNotFound(err) {
			return err
		}
	}
	return nil
}

// offered returns the programs that agents can have of this controller.
func (s *Server) offered() entity.Programs {
	p := entity.Programs{Version: s.config.Version, Commit: s.config.Commit}
	if s.config.Programs != nil {
		p.SHA256 = s.config.Programs.SHA256
	}
	return p
}

func upgradeModel(
	ctx context.Context, c *caller, row controller.ModelRow, p params.UpgradeModelParams,
) (params.UpgradeModelResult, error) {
	offered := c.server.offered()
	result := params.UpgradeModelResult{ChosenVersion: offered.Version, Commit: offered.Commit}
	st, err := c.server.controller.Model(ctx, row.UUID)
	if err != nil {
		return result, err
	}
	if err := changes.allowedAt(ctx, st); err != nil {
		return result, err
	}
	now, err := st.Settings().Programs(ctx)
	if err != nil {
		return result, err
	}
	if now.Version == "" {
		now = offered
	}
	if p.TargetVersion != "" {
		if err := checkTarget(p.TargetVersion, now.Version, offered.Version); err != nil {
			return result, err
		}
	}
	if now.Same(offered) {
		result.Error = params.ToError(entity.Errorf(entity.AlreadyExists, "no upgrades available"))
		return result, nil
	}
	if p.DryRun {
		return result, nil
	}
	logger.Infof("%s upgrades model %q to version %s", c.conn, row.Name, offered.Build())
	return result, st.Settings().SetPrograms(ctx, offered)
}

// checkTarget returns an error if a model of version now can't be upgraded to a version, because the
// controller has another.
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

// agentPrograms returns the programs that an agent is to run; none if it does not matter.
func (c *caller) agentPrograms(ctx context.Context, _ entity.Tag) (entity.Programs, error) {
	return c.model.Settings().Programs(ctx)
}

// setUpgradeError records why an agent can't run the programs that it should; "" if it can.
func (c *caller) setUpgradeError(_ context.Context, agent entity.Tag, text string) error {
	c.server.presence.SetUpgradeError(c.model.UUID(), agent, entity.Cut(text, maxFailureText))
	return nil
}

// shaPattern is a SHA-256, or the beginning of one, or nothing.
var shaPattern = regexp.MustCompile(`^[0-9a-f]{0,64}$`)

// commitPattern is what agent.BuiltFrom returns.
var commitPattern = regexp.MustCompile(`^([0-9a-f]{1,64}(-dirty)?)?$`)

// programsOf returns the programs that an agent reports with its login, if they can be.
func programsOf(p params.LoginRequest) entity.Programs {
	_, err := entity.CompareVersions(p.ClientVersion, p.ClientVersion)
	if err != nil || !shaPattern.MatchString(p.SHA256) || !commitPattern.MatchString(p.Commit) {
		return entity.Programs{}
	}
	return entity.Programs{Version: p.ClientVersion, SHA256: p.SHA256, Commit: p.Commit}
}
