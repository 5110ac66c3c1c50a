package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"juju/agent/binaries"
	"juju/agent/host/process"
	"juju/apiserver/client"
	"juju/state/entity"
	"juju/state/limits"
	"juju/worker"
	"juju/worker/machineactions"
)

// errUpgraded stops an agent that must restart with new binaries.
var errUpgraded = fmt.Errorf("%w: restarting with new binaries", worker.ErrFatal)

// upgradeRetry is the minimum pause after a failed upgrade.
const upgradeRetry = 5 * time.Minute

// trialRetry is the pause before binaries that did not come up are retried. They may have failed only because the
// controller was unavailable.
const trialRetry = time.Hour

// ownBinaries identifies the binaries that this process runs from.
func ownBinaries() entity.Binaries {
	return entity.Binaries{Version: Version, SHA256: binaries.Own(), Commit: BuiltFrom()}
}

// binariesDir returns the directory of the machine's agent binaries.
func binariesDir(root string) binaries.Dir {
	return binaries.New(filepath.Join(root, "tools"), binaries.Options{})
}

// An upgradeAPI is what a machine's upgrader needs of the controller.
type upgradeAPI interface {
	upgradeArchives
	// Programs returns the binaries that the agent should run; the zero value if any will do.
	Programs(ctx context.Context, agent entity.Tag) (entity.Binaries, error)
	WatchPrograms(ctx context.Context, agent entity.Tag) (<-chan struct{}, error)
	// SetUpgradeError shows users why the agent can't run those binaries; "" if it can.
	SetUpgradeError(ctx context.Context, agent entity.Tag, text string) error
}

// An upgrader upgrades a machine to its model's agent binaries.
type upgrader struct {
	api     upgradeAPI
	machine entity.Tag
	own     entity.Binaries
	dir     binaries.Dir
	// retry and trialRetry are upgradeRetry and trialRetry, except in tests.
	retry, trialRetry time.Duration
	// idle waits until none of the machine's commands runs, and prevents new ones. It calls say if that takes
	// long.
	idle func(ctx context.Context, say func() error) error
	// say shows users what the upgrade is waiting for.
	say func(ctx context.Context, text string) error
}

// upgrader returns the worker that upgrades the machine. It fails with errUpgraded once new binaries are
// installed.
func (a *Agent) upgrader(conn *client.Conn) worker.Func {
	u := upgrader{
		api: client.AgentFacade{Caller: conn}, machine: a.config.Tag, own: ownBinaries(), dir: *a.options.Binaries,
		retry: upgradeRetry, trialRetry: trialRetry, idle: a.awaitCommands, say: a.sayMachine(conn),
	}
	return u.run
}

func (u upgrader) run(ctx context.Context) error {
	// The agent has logged in, so its binaries work.
	if err := u.dir.Confirm(); err != nil {
		return err
	}
	if err := u.dir.Sweep(); err != nil {
		logger.Warningf("cannot remove old agent binaries: %v", err)
	}
	return worker.NotifyAgain(ctx, func(ctx context.Context) (<-chan struct{}, error) {
		return u.api.WatchPrograms(ctx, u.machine)
	}, u.handle)
}

func (u upgrader) handle(ctx context.Context) (again time.Duration, err error) {
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
		logger.Infof("upgrading from version %s to %s, archive %.12s", u.own.Build(), want.Version, want.SHA256)
		err := u.idle(ctx, func() error {
			return u.say(ctx, fmt.Sprintf("the upgrade to %s waits: a command of the machine runs", want.Version))
		})
		return 0, cmp.Or(err, errUpgraded)
	case ctx.Err() != nil:
		return 0, err
	}
	err = fmt.Errorf("upgrade to %s failed: %w", want.Version, err)
	// The jitter keeps a model's machines from retrying simultaneously.
	again = u.retry + rand.N(u.retry/2)
	logger.Errorf("%v; trying again in %v", err, again.Round(time.Second))
	return again, u.api.SetUpgradeError(ctx, u.machine, err.Error())
}

// isDone reports whether the machine runs the wanted binaries, or newer ones. Machines are never downgraded; an
// upgraded controller starts new machines with its own binaries, which may be newer than the model's.
func (u upgrader) isDone(want entity.Binaries) (bool, error) {
	if want.SHA256 == "" || u.own.Are(want) {
		return true, nil
	}
	order, err := entity.CompareVersions(u.own.Version, want.Version)
	return order > 0, err
}

// upgrade installs the wanted binaries and makes them current from the next start on.
func (u upgrader) upgrade(ctx context.Context, want entity.Binaries) error {
	record, err := u.dir.Record()
	if err != nil {
		return err
	}
	if f := record.Failed; f != nil && f.Binaries.Same(want) {
		since, err := u.dir.Changed()
		if err != nil {
			return err
		}
		if time.Since(since) < u.trialRetry {
			return fmt.Errorf("%s; it is tried again after %v", f.Error, u.trialRetry)
		}
	}
	if err := download(ctx, u.api, u.dir, want); err != nil {
		return err
	}
	return u.dir.Switch(ctx, u.own, want)
}

// upgradeArchives provides the archives of agent binaries.
type upgradeArchives interface {
	Archive(ctx context.Context, sha256 string) (archive io.ReadCloser, err error)
}

func download(ctx context.Context, from upgradeArchives, dir binaries.Dir, want entity.Binaries) error {
	if dir.Has(want.SHA256) {
		return nil
	}
	archive, err := from.Archive(ctx, want.SHA256)
	if err != nil {
		return fmt.Errorf("cannot download the agent binaries: %w", err)
	}
	defer archive.Close()
	return dir.Install(ctx, archive, want)
}

// sayMachine returns a function that sets the message of the machine's status started, to show what its agent is
// waiting for; "" for nothing.
func (a *Agent) sayMachine(conn *client.Conn) func(context.Context, string) error {
	return func(ctx context.Context, text string) error {
		if text != "" {
			logger.Infof("%s", text)
		}
		return client.MachinerFacade{Caller: conn}.SetMachineStatus(ctx, a.config.Tag,
			limits.FitStatus(entity.Status{Status: entity.StatusStarted, Message: text}))
	}
}

// sayAfter is how long something waits before its status shows that.
const sayAfter = time.Second

// awaitCommands waits until none of the machine's commands runs, and prevents new ones. If that takes longer than
// sayAfter, it calls say.
func (a *Agent) awaitCommands(ctx context.Context, say func() error) error {
	soon, cancel := context.WithTimeout(ctx, sayAfter)
	defer cancel()
	err := a.commands.Acquire(soon, machineactions.AtOnce)
	if err != nil && ctx.Err() == nil {
		if err := say(); err != nil {
			return err
		}
		err = a.commands.Acquire(ctx, machineactions.AtOnce)
	}
	if err != nil {
		return context.Cause(ctx)
	}
	return nil
}

// unitUpgrader returns the worker that stops the machine's unit agents that run other binaries than this agent.
// Each finishes its hook first, however long that takes, and is restarted by the agent that deployed it.
func (a *Agent) unitUpgrader(conn *client.Conn) worker.Func {
	return func(ctx context.Context) error { return stopOthers(ctx, filepath.Dir(a.dir), a.sayMachine(conn)) }
}

// stopOthers stops the unit agents in dir whose binaries are in another directory than this agent's, and waits for
// them. It calls say with the names of those it is waiting for.
func stopOthers(ctx context.Context, dir string, say func(ctx context.Context, text string) error) error {
	signalled, said := map[process.Identity]bool{}, ""
	for again := false; ; again = true {
		others, err := othersIn(dir)
		if err != nil {
			return err
		}
		for unit, id := range others {
			if signalled[id] {
				continue
			}
			signalled[id] = true
			logger.Infof("restarting the agent of unit %s with version %s", unit, ownBinaries().Build())
			if err := syscall.Kill(id.PID, syscall.SIGTERM); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("cannot stop the agent of unit %s: %w", unit, err)
			}
		}
		text := ""
		if len(others) > 0 && again {
			units := entity.NaturalKeys(others)
			text = "the upgrade waits for what runs in " + strings.Join(units, ", ")
		}
		if text != said {
			if err := say(ctx, text); err != nil {
				return err
			}
			said = text
		}
		if len(others) == 0 {
			return nil
		}
		select {
		case <-time.After(sayAfter):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// othersIn returns the units whose agents in dir run other binaries than this agent.
func othersIn(dir string) (map[string]process.Identity, error) {
	own, err := binaries.OwnDir()
	if err != nil {
		return nil, err
	}
	agents, err := filepath.Glob(filepath.Join(dir, string(entity.KindUnit)+"-*"))
	if err != nil {
		return nil, err
	}
	others := map[string]process.Identity{}
	for _, agent := range agents {
		tag, err := entity.ParseTag(filepath.Base(agent))
		if err != nil {
			continue
		}
		id, err := process.Holder(agent)
		if errors.Is(err, process.ErrNotHeld) {
			continue
		} else if err != nil {
			return nil, err
		}
		program, err := id.Program()
		if err != nil || filepath.Dir(program) == own {
			continue // an error means that it has exited in the meantime
		}
		others[tag.ID] = id
	}
	return others, nil
}
