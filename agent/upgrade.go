package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"juju/agent/programs"
	"juju/apiserver/client"
	"juju/provider/process"
	"juju/state/entity"
	"juju/worker"
)

// errUpgraded ends an agent that is to begin again with other programs.
var errUpgraded = fmt.Errorf("%w: it begins again with other programs", worker.ErrFatal)

// upgradeRetry is the shortest pause after an upgrade that has failed.
const upgradeRetry = 5 * time.Minute

// trialRetry is the time after which programs are tried again that did not come up: perhaps only because the
// controller was away.
const trialRetry = time.Hour

// ownPrograms returns the programs that this process is one of.
func ownPrograms() entity.Programs {
	return entity.Programs{Version: Version, SHA256: programs.Own()}
}

// programsDir returns the directory of the machine's programs.
func programsDir(root string) programs.Dir {
	return programs.New(filepath.Join(root, "tools"), programs.Options{})
}

// An upgradeAPI is what a machine's upgrader needs of the controller.
type upgradeAPI interface {
	upgradeArchives
	// Programs returns the programs that the agent is to run; none if it does not matter.
	Programs(ctx context.Context, agent entity.Tag) (entity.Programs, error)
	WatchPrograms(ctx context.Context, agent entity.Tag) (<-chan struct{}, error)
	// SetUpgradeError tells users why the agent can't run those programs; "" if it can.
	SetUpgradeError(ctx context.Context, agent entity.Tag, text string) error
}

// An upgrader makes a machine run the programs that its model wants.
type upgrader struct {
	api     upgradeAPI
	machine entity.Tag
	own     entity.Programs
	dir     programs.Dir
	// retry and trialRetry are upgradeRetry and trialRetry, but for tests.
	retry, trialRetry time.Duration
	// units ends the agents of units that run other programs than this one. Each lets its hook finish
	// first, and is started again by the agent that has deployed it.
	units func() error
}

// upgrader is the worker that upgrades the machine. It ends with errUpgraded once the machine's
// programs are others.
func (a *Agent) upgrader(conn *client.Conn) worker.Func {
	u := upgrader{
		api: client.AgentFacade{Caller: conn}, machine: a.config.Tag, own: ownPrograms(), dir: *a.options.Programs,
		retry: upgradeRetry, trialRetry: trialRetry, units: func() error { return endOthers(filepath.Dir(a.dir)) },
	}
	return u.run
}

func (u upgrader) run(ctx context.Context) error {
	// The controller has let this agent in, so its programs work.
	if err := u.dir.Confirm(); err != nil {
		return err
	}
	if err := u.dir.Sweep(); err != nil {
		logger.Warningf("cannot remove old programs: %v", err)
	}
	return worker.NotifyAgain(ctx, func(ctx context.Context) (<-chan struct{}, error) {
		return u.api.WatchPrograms(ctx, u.machine)
	}, u.handle)
}

func (u upgrader) handle(ctx context.Context) (again time.Duration, err error) {
	if err := u.units(); err != nil {
		return 0, err
	}
	want, err := u.api.Programs(ctx, u.machine)
	if err != nil {
		return 0, err
	}
	if is, err := u.isDone(want); err != nil || is {
		return 0, errors.Join(err, u.api.SetUpgradeError(ctx, u.machine, ""))
	}
	err = u.upgrade(ctx, want)
	switch {
	case err == nil:
		logger.Infof("upgrading from version %s to %s", u.own.Version, want.Version)
		return 0, errUpgraded
	case ctx.Err() != nil:
		return 0, err
	}
	err = fmt.Errorf("upgrade to %s failed: %w", want.Version, err)
	// The machines of a model must not come back together.
	again = u.retry + rand.N(u.retry/2)
	logger.Errorf("%v; trying again in %v", err, again.Round(time.Second))
	return again, u.api.SetUpgradeError(ctx, u.machine, err.Error())
}

// isDone reports whether the machine runs the programs that are wanted, or newer ones. There is no way
// back to older ones: a controller that is upgraded starts new machines with its own programs.
func (u upgrader) isDone(want entity.Programs) (bool, error) {
	if want.SHA256 == "" || u.own.Are(want) {
		return true, nil
	}
	order, err := entity.CompareVersions(u.own.Version, want.Version)
	return order > 0, err
}

// upgrade makes the wanted programs count from the next start on.
func (u upgrader) upgrade(ctx context.Context, want entity.Programs) error {
	record, err := u.dir.Record()
	if err != nil {
		return err
	}
	if f := record.Failed; f != nil && f.Programs == want {
		since, err := u.dir.Changed()
		if err != nil {
			return err
		}
		if time.Since(since) < u.trialRetry {
			return fmt.Errorf("%s; it is tried again after %v", f.Error, u.trialRetry)
		}
	}
	if err := install(ctx, u.api, u.dir, want); err != nil {
		return err
	}
	return u.dir.Switch(ctx, u.own, want)
}

// upgradeArchives has the archives of programs.
type upgradeArchives interface {
	Archive(ctx context.Context, sha256 string) (archive io.ReadCloser, err error)
}

func install(ctx context.Context, from upgradeArchives, dir programs.Dir, want entity.Programs) error {
	if dir.Has(want.SHA256) {
		return nil
	}
	archive, err := from.Archive(ctx, want.SHA256)
	if err != nil {
		return fmt.Errorf("cannot download the programs: %w", err)
	}
	defer archive.Close()
	return dir.Install(ctx, archive, want)
}

// endOthers ends the agents in a machine's directory of agents whose programs are in another directory
// than this one.
func endOthers(dir string) error {
	own, err := programs.OwnDir()
	if err != nil {
		return err
	}
	agents, err := filepath.Glob(filepath.Join(dir, string(entity.KindUnit)+"-*"))
	if err != nil {
		return err
	}
	for _, agent := range agents {
		id, err := process.Holder(agent)
		if errors.Is(err, process.ErrNotHeld) {
			continue
		} else if err != nil {
			return err
		}
		exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", id.PID))
		if err != nil || filepath.Dir(exe) == own || !id.Alive() {
			continue // or it has ended since
		}
		logger.Infof("ending the agent in %s, which begins again with version %s", agent, Version)
		if err := syscall.Kill(id.PID, syscall.SIGTERM); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("cannot end the agent in %s: %w", agent, err)
		}
	}
	return nil
}
