package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"juju/agent/host/process"
)

// KeeperDir returns the keeper's working directory; dir is Config.Dir.
func KeeperDir(dir string) string { return filepath.Join(dir, "keeper") }

// ControllerDir returns the controller's working directory, which the controller must Hold.
func ControllerDir(dir string) string { return filepath.Join(dir, "controller") }

// Command is a command line.
type Command struct {
	Path string // absolute, or a name on PATH
	Args []string
	Env  []string // "KEY=value", added to this process's environment
}

// KeeperConfig configures the keeper and how to start it.
type KeeperConfig struct {
	Dir        string  // as in Config
	Controller string  // UUID
	Jujud      Command // the controller; it must Hold ControllerDir(Dir)
	Keeper     Command // a command that calls Keep with this config; unused by Keep itself
	// Bound is how long the controller may take to start while a caller waits; a minute when zero.
	Bound time.Duration
}

func (k KeeperConfig) bound() time.Duration {
	if k.Bound == 0 {
		return time.Minute
	}
	return k.Bound
}

// spec returns the process.Spec of the keeper or the controller.
func (k KeeperConfig) spec(dir, name string, cmd Command, bound time.Duration) process.Spec {
	env := append([]string(nil), cmd.Env...)
	return process.Spec{
		Dir: dir, Path: cmd.Path, Args: cmd.Args, Bound: bound,
		Env: append(env, InstanceVariable+"="+k.Controller+"/"+name),
	}
}

// ControllerRoom is the free disk space in bytes required to start the controller: opening its store
// needs some, and without more it would fail soon afterwards.
const ControllerRoom = 8 << 20

// restartBound is how long a restarted controller may take to start: new binaries may have to upgrade
// the whole database, and abort the trial themselves before this time.
const restartBound = 10 * time.Minute

// Keep keeps the controller running. It returns nil once the controller is permanently stopped, and
// ctx's error if ctx is done (the controller keeps running). It returns an error if another keeper is
// running, or if the first start of the controller fails, for which a caller waits. Later it gives up
// only if its directory or the controller's is removed. The process must exit when Keep returns:
// until then, no other keeper can start.
func Keep(ctx context.Context, config KeeperConfig) error {
	held, err := process.HoldStarting(KeeperDir(config.Dir))
	if err != nil {
		return err
	}
	spec := config.spec(ControllerDir(config.Dir), "controller", config.Jujud, config.bound())
	spec.Room = ControllerRoom
	if _, err := process.Start(ctx, spec); err != nil {
		return err
	}
	held.Ready()
	spec.Bound = restartBound // no caller is waiting
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() { cancel(held.AwaitRemoval(ctx)) }()
	err = process.Supervise(ctx, spec)
	if cause := context.Cause(ctx); errors.Is(cause, process.ErrRemoved) {
		err = cause // the keeper's own directory
	}
	if errors.Is(err, process.ErrRemoved) {
		err = fmt.Errorf("the controller's keeper ends: %w", err)
	}
	return err
}

// EnsureKeeper starts the keeper unless it is running, and returns once the keeper has started the
// controller or found it running. Started is false if a keeper was already running. It is called by
// bootstrap, and by commands that find the controller down, for example after a reboot. The error
// wraps process.ErrEnded if the controller is permanently stopped.
func EnsureKeeper(ctx context.Context, config KeeperConfig) (started bool, err error) {
	for _, dir := range []string{KeeperDir(config.Dir), ControllerDir(config.Dir)} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return false, fmt.Errorf("cannot start the keeper: %w", err)
		}
	}
	if why, ended := process.Ended(ControllerDir(config.Dir)); ended {
		return false, fmt.Errorf("cannot start the controller: %w: %s", process.ErrEnded, why)
	}
	// Outlast the keeper's wait for the controller, so that it can report the cause.
	spec := config.spec(KeeperDir(config.Dir), "keeper", config.Keeper, config.bound()+10*time.Second)
	return process.Start(ctx, spec)
}

// EndKeeper permanently stops the keeper, and then the controller and those that enable-ha has added, if they are
// running. It leaves their directories.
func EndKeeper(ctx context.Context, dir string, grace time.Duration) error {
	dirs := []string{KeeperDir(dir), ControllerDir(dir)}
	nodes, err := filepath.Glob(filepath.Join(dir, "machines", "*", "*", "agents", "*", ControllerConfigName))
	if err != nil {
		return err
	}
	for _, config := range nodes {
		dirs = append(dirs, filepath.Dir(config))
	}
	for _, dir := range dirs {
		if err := process.End(ctx, dir, "the controller is being destroyed", grace); err != nil {
			return err
		}
	}
	return nil
}
