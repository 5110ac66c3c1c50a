package local

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"juju/provider/process"
)

// KeeperDir returns where the keeper runs, for the directory of Config.
func KeeperDir(dir string) string { return filepath.Join(dir, "keeper") }

// ControllerDir returns where the controller runs: what it is to process.Hold.
func ControllerDir(dir string) string { return filepath.Join(dir, "controller") }

// Command is a program with its arguments.
type Command struct {
	Path string // absolute, or a name on PATH
	Args []string
	Env  []string // "KEY=value", laid over this process's environment
}

// KeeperConfig says what the keeper keeps, and how it is itself started.
type KeeperConfig struct {
	Dir        string  // as in Config
	Controller string  // UUID
	Jujud      Command // the controller; it must Hold ControllerDir(Dir)
	Keeper     Command // a program that calls Keep with this same config; Keep itself needs it not
	// Bound is how long the controller may take to come up; 0 for a minute.
	Bound time.Duration
}

func (k KeeperConfig) bound() time.Duration {
	if k.Bound == 0 {
		return time.Minute
	}
	return k.Bound
}

// spec returns how one of the two is run.
func (k KeeperConfig) spec(dir, name string, cmd Command, bound time.Duration) process.Spec {
	env := append([]string(nil), cmd.Env...)
	return process.Spec{
		Dir: dir, Path: cmd.Path, Args: cmd.Args, Bound: bound,
		Env: append(env, InstanceVariable+"="+k.Controller+"/"+name),
	}
}

// ControllerRoom is how many bytes must be free on the disk for the controller to
// be started: its store can't be opened without a few, and an end soon after
// helps nobody.
const ControllerRoom = 8 << 20

// Keep is all that the keeper does: it keeps the controller running. It returns
// nil when the controller has ended for good, ctx's error when ctx is done (the
// controller goes on), and an error if another keeper runs or the controller
// can't be started the first time, when somebody still listens. After that it
// never gives up. The process ends when Keep returns: only that makes room for
// another keeper.
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
	return process.Supervise(ctx, spec)
}

// EnsureKeeper starts the keeper if none runs, and returns when the keeper has
// brought the controller up or found it running. Started is false when there
// was a keeper already. It is for bootstrap, and for whoever finds that nothing
// runs, after a reboot say. The error wraps process.ErrEnded when the controller
// has ended for good.
func EnsureKeeper(ctx context.Context, config KeeperConfig) (started bool, err error) {
	for _, dir := range []string{KeeperDir(config.Dir), ControllerDir(config.Dir)} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return false, fmt.Errorf("cannot start the keeper: %w", err)
		}
	}
	if why, ended := process.Ended(ControllerDir(config.Dir)); ended {
		return false, fmt.Errorf("cannot start the controller: %w: %s", process.ErrEnded, why)
	}
	// The keeper waits for the controller, and says why it is not up.
	spec := config.spec(KeeperDir(config.Dir), "keeper", config.Keeper, config.bound()+10*time.Second)
	return process.Start(ctx, spec)
}

// EndKeeper ends the keeper and then the controller, for good. It leaves their
// directories, and does nothing where they don't run.
func EndKeeper(ctx context.Context, dir string, grace time.Duration) error {
	if err := process.End(ctx, KeeperDir(dir), "the controller is being destroyed", grace); err != nil {
		return err
	}
	return process.End(ctx, ControllerDir(dir), "the controller is being destroyed", grace)
}
