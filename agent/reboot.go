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
	"juju/worker"
)

const (
	// stopGrace is how long the agent of a unit may take to finish its hook and end.
	stopGrace = time.Minute
	// shutdownBound is how long the program that restarts the machine may take.
	shutdownBound = time.Minute
	// rebootBound is how long the machine may go on after that.
	rebootBound = 10 * time.Minute
	// restartPause is the time before another attempt. Units are stopped during each.
	restartPause = 5 * time.Minute
)

// restartAPI is where an agent says what the restart of its machine waits for.
type restartAPI interface {
	SetMachineStatus(ctx context.Context, machine entity.Tag, status entity.Status) error
}

// restart is the worker that waits until the machine may be restarted, once that is asked for: until the
// hook that runs is over, or a user has ended juju debug-hooks. Then it keeps all hooks from running, and
// ends with worker.ErrReboot. After an attempt that failed it waits a while first. Meanwhile the agent
// works on, and the machine's status says what the restart waits for.
func (a *Agent) restart(api restartAPI, asked <-chan struct{}) worker.Func {
	return func(ctx context.Context) error {
		select {
		case <-asked:
		case <-ctx.Done():
			return nil
		}
		say := func(text string) error {
			logger.Infof("%s", text)
			return api.SetMachineStatus(ctx, a.config.Tag, entity.Status{Status: entity.StatusStarted, Message: text}.Fitted())
		}
		if a.restartFailed != nil {
			if err := say(fmt.Sprintf("%v; trying again in %v", a.restartFailed, restartPause)); err != nil {
				return err
			}
			select {
			case <-time.After(restartPause):
			case <-ctx.Done():
				return nil
			}
		}
		lock, err := hooks.LockMachine(ctx, a.config.HookLock, "the restart of machine "+a.config.Tag.ID,
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

// reboot restarts the machine when the worker restart has ended. It stops the agents of all units, and
// holds the lock of hooks until the machine goes down. If the machine does not, the error says why. stop
// stops the agent in a directory.
func (a *Agent) reboot(ctx context.Context, stop func(ctx context.Context, dir string) error) error {
	logger.Infof("restarting the machine")
	defer func() {
		<-a.commands
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

// hasShutdown returns an error if this host has no program that restarts it, as a container may not.
func hasShutdown() error {
	if _, err := exec.LookPath("shutdown"); err != nil {
		return errors.New("the host has no command shutdown")
	}
	return nil
}

// shutdown has the system restart.
func shutdown(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, shutdownBound)
	defer cancel()
	if err := runProgramOfHost(ctx, "shutdown", "-r", "now"); err != nil && ctx.Err() == nil {
		return fmt.Errorf("shutdown: %w", err)
	}
	return nil
}

// runProgramOfHost runs a program of the host. The error has what the program says.
func runProgramOfHost(ctx context.Context, name string, args ...string) error {
	// It may leave something running.
	out, said, err := process.Program{Path: name, Args: args}.Output(ctx)
	if err == nil || errors.Is(err, exec.ErrWaitDelay) {
		return nil
	}
	return fmt.Errorf("%w: %s", err, bytes.TrimSpace(append(out, said...)))
}
