package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"juju/hooks"
	"juju/provider/process"
	"juju/state/entity"
)

const (
	// stopGrace is how long the agent of a unit may take to finish its hook and end.
	stopGrace = time.Minute
	// shutdownBound is how long the program that restarts the machine may take.
	shutdownBound = time.Minute
	// rebootBound is how long the machine may go on after that.
	rebootBound = 10 * time.Minute
)

// reboot restarts the machine. It waits for the hook that runs, keeps others from running, stops the
// agents of all units, and holds the lock of hooks until the machine goes down. If the machine does
// not, the agent fails, and the next one tries again. stop stops the agent in a directory.
func (a *Agent) reboot(ctx context.Context, stop func(ctx context.Context, dir string) error) error {
	logger.Infof("restarting the machine")
	unlock, err := hooks.LockMachine(ctx, a.config.HookLock, "the restart of machine "+a.config.Tag.ID,
		func(holder string) { logger.Infof("the restart waits: %s runs", holder) })
	if err != nil {
		return fmt.Errorf("cannot restart the machine: %w", err)
	}
	defer unlock()
	err = a.stopUnits(ctx, stop)
	if err == nil {
		err = shutdown(ctx)
	}
	if err != nil {
		return fmt.Errorf("cannot restart the machine: %w", err)
	}
	select {
	case <-ctx.Done():
		return nil
	case <-time.After(rebootBound):
		return fmt.Errorf("cannot restart the machine: it is still up after %v", rebootBound)
	}
}

// stopUnits stops the agents of all units: those of principals first, which would start those of their
// subordinates again.
func (a *Agent) stopUnits(ctx context.Context, stop func(ctx context.Context, dir string) error) error {
	dir := filepath.Dir(a.dir)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var principals, subordinates []string
	for _, e := range entries {
		if tag, err := entity.ParseTag(e.Name()); err != nil || tag.Kind != entity.KindUnit {
			continue
		}
		agent := filepath.Join(dir, e.Name())
		config, err := ReadConfig(agent)
		switch {
		case errors.Is(err, os.ErrNotExist):
		case err != nil:
			return err
		case config.Principal == "":
			principals = append(principals, agent)
		default:
			subordinates = append(subordinates, agent)
		}
	}
	for _, agents := range [][]string{principals, subordinates} {
		var stopping errgroup.Group
		for _, agent := range agents {
			stopping.Go(func() error { return stop(ctx, agent) })
		}
		if err := stopping.Wait(); err != nil {
			return err
		}
	}
	return nil
}

// stopProcess stops the agent that is a process in dir.
func stopProcess(ctx context.Context, dir string) error { return process.Stop(ctx, dir, stopGrace) }

// shutdown has the system restart.
func shutdown(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, shutdownBound)
	defer cancel()
	out, err := exec.CommandContext(ctx, "shutdown", "-r", "now").CombinedOutput()
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("shutdown: %w: %s", err, out)
	}
	return nil
}
