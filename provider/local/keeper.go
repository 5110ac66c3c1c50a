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

// KeeperDir returns the directory in which the keeper runs; dir is that of Config.
func KeeperDir(dir string) string { return filepath.Join(dir, "keeper") }

// ControllerDir returns the directory in which the controller runs, which it must Hold.
func ControllerDir(dir string) string { return filepath.Join(dir, "controller") }

// Command is a program with its arguments.
type Command struct {
	Path string // absolute, or a name on PATH
	Args []string
	Env  []string // "KEY=value", laid over this process's environment
}

// KeeperConfig says what the keeper runs, and how to start the keeper itself.
type KeeperConfig struct {
	Dir        string  // as in Config
	Controller string  // UUID
	Jujud      Command // the controller; it must Hold ControllerDir(Dir)
	Keeper     Command // a program that calls Keep with this config; Keep itself does not use it
	// Bound is how long the controller may take to come up while a caller waits; a minute when zero.
	Bound time.Duration
}

func (k KeeperConfig) bound() time.Duration {
	if k.Bound == 0 {
		return time.Minute
	}
	return k.Bound
}

// spec returns how to run the keeper or the controller.
func (k KeeperConfig) spec(dir, name string, cmd Command, bound time.Duration) process.Spec {
	env := append([]string(nil), cmd.Env...)
	return process.Spec{
		Dir: dir, Path: cmd.Path, Args: cmd.Args, Bound: bound,
		Env: append(env, InstanceVariable+"="+k.Controller+"/"+name),
	}
}

// ControllerRoom is how many bytes must be free on the disk before the controller is started:
// opening its store needs some, and a controller that ends soon after helps no one.
const ControllerRoom = 8 << 20

// restartBound is how long a controller that is started again may take to come up: with new
// programs it may have to change all that is stored, and it ends that trial by itself before.
const restartBound = 10 * time.Minute

// Keep keeps the controller running. It returns nil when the controller has ended for good, and
// ctx's error when ctx is done (the controller goes on). It returns an error if another keeper
// runs, or if the first start of the controller fails, while a caller still waits for it. Later
// it only gives up when its directory or the controller's is removed. The process must end when
// Keep returns: only that makes room for another keeper.
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
	spec.Bound = restartBound // no caller waits any more
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

// EnsureKeeper starts the keeper if none runs, and returns when the keeper has started the
// controller or found it running. Started is false when there already was a keeper. Bootstrap
// calls it, and so does a command that finds nothing running, after a reboot say. The error
// wraps process.ErrEnded when the controller has ended for good.
func EnsureKeeper(ctx context.Context, config KeeperConfig) (started bool, err error) {
	for _, dir := range []string{KeeperDir(config.Dir), ControllerDir(config.Dir)} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return false, fmt.Errorf("cannot start the keeper: %w", err)
		}
	}
	if why, ended := process.Ended(ControllerDir(config.Dir)); ended {
		return false, fmt.Errorf("cannot start the controller: %w: %s", process.ErrEnded, why)
	}
	// The keeper waits for the controller, and reports why it is not up.
	spec := config.spec(KeeperDir(config.Dir), "keeper", config.Keeper, config.bound()+10*time.Second)
	return process.Start(ctx, spec)
}

// EndKeeper ends the keeper and then the controller, for good. It leaves their directories, and
// does nothing if they don't run.
func EndKeeper(ctx context.Context, dir string, grace time.Duration) error {
	if err := process.End(ctx, KeeperDir(dir), "the controller is being destroyed", grace); err != nil {
		return err
	}
	return process.End(ctx, ControllerDir(dir), "the controller is being destroyed", grace)
}
