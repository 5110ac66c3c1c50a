package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"juju/agent/host/process"
	"juju/hooks"
	"juju/state/entity"
	"juju/state/entity/backoff"
	"juju/state/limits"
	"juju/worker"
	"juju/worker/machineactions"
)

const (
	// stopGrace is how long a unit's agent may take to finish its hook and exit.
	stopGrace = time.Minute
	// shutdownBound limits the run time of the shutdown command.
	shutdownBound = time.Minute
	// rebootBound is how long the machine may stay up after that.
	rebootBound = 10 * time.Minute
	// restartPause is the pause before another attempt. Each attempt stops the units' agents.
	restartPause = 5 * time.Minute
)

// restartAPI is what reporting the progress of a restart needs of the controller.
type restartAPI interface {
	SetMachineStatus(ctx context.Context, machine entity.Tag, status entity.Status) error
}

// restart returns the worker that waits, once a restart is requested, until the machine may be restarted:
// until the running hook has ended or a user has left juju debug-hooks. Then it takes the machine lock, so
// that no hook can run, and fails with worker.ErrReboot. After a failed attempt it pauses first. Meanwhile
// the agent keeps working, and the machine's status shows what the restart is waiting for.
func (a *Agent) restart(api restartAPI, asked <-chan struct{}) worker.Func {
	return func(ctx context.Context) error {
		select {
		case <-asked:
		case <-ctx.Done():
			return nil
		}
		say := func(text string) error {
			logger.Infof("%s", text)
			return api.SetMachineStatus(ctx, a.config.Tag, limits.FitStatus(entity.Status{Status: entity.StatusStarted, Message: text}))
		}
		if a.restartFailed != nil {
			if err := say(fmt.Sprintf("%v; trying again in %v", a.restartFailed, restartPause)); err != nil {
				return err
			}
			if backoff.Sleep(ctx, restartPause) != nil {
				return nil
			}
		}
		lock, err := hooks.LockMachine(ctx, a.hookLock(), "the restart of machine "+a.config.Tag.ID,
			func(holder string) {
				if err := say(fmt.Sprintf("the restart waits: %s runs", holder)); err != nil {
					logger.Warningf("cannot set the machine's status: %v", err)
				}
			})
		if err != nil {
			return fmt.Errorf("cannot restart the machine: %w", err)
		}
		if err := a.awaitCommands(ctx, func() error {
			return say("the restart waits: a command of the machine runs")
		}); err != nil {
			lock.Unlock()
			return err
		}
		a.lock = lock
		return fmt.Errorf("a unit has asked for it: %w", worker.ErrReboot)
	}
}

// reboot restarts the machine after the worker restart has ended. It stops the agents of all units with stop, and
// holds the machine lock until the machine goes down. If the machine stays up, it returns the reason.
func (a *Agent) reboot(ctx context.Context, stop func(ctx context.Context, dir string) error) error {
	logger.Infof("restarting the machine")
	defer func() {
		a.commands.Release(machineactions.AtOnce)
		a.lock.Unlock()
	}()
	err := hasShutdown()
	if err == nil {
		err = a.stopUnits(ctx, stop)
	}
	if err == nil {
		err = shutdown(ctx)
	}
	if ctx.Err() != nil {
		return nil
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

// stopUnits stops the agents of all units. It stops those of principals first, because they would restart
// those of their subordinates.
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

// stopProcess stops the agent process in dir.
func stopProcess(ctx context.Context, dir string) error { return process.Stop(ctx, dir, stopGrace) }

// hasShutdown returns an error if this host lacks the shutdown command, as a container may.
func hasShutdown() error {
	if _, err := exec.LookPath("shutdown"); err != nil {
		return errors.New("the host has no command shutdown")
	}
	return nil
}

// shutdown restarts the system.
func shutdown(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, shutdownBound)
	defer cancel()
	if err := runProgramOfHost(ctx, "shutdown", "-r", "now"); err != nil && ctx.Err() == nil {
		return fmt.Errorf("shutdown: %w", err)
	}
	return nil
}

// runProgramOfHost runs one of the host's programs. An error includes the program's output.
func runProgramOfHost(ctx context.Context, name string, args ...string) error {
	out, stderr, err := process.Program{Path: name, Args: args}.Output(ctx)
	if err == nil || errors.Is(err, exec.ErrWaitDelay) { // it may have left children that hold its output open
		return nil
	}
	return fmt.Errorf("%w: %s", err, bytes.TrimSpace(append(out, stderr...)))
}
