package uniter

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"juju/charm"
	"juju/hooks"
	"juju/worker/uniter/charmdir"
	"juju/worker/uniter/localstate"
	"juju/worker/uniter/operation"
)

// stateFile is the unit's memory in Config.StateDir.
const stateFile = "uniter.json"

// A host is what a uniter uses of the machine that it runs on.
type host struct {
	store  store
	runner runner
	deploy func(ctx context.Context, url string) (*charm.Meta, error) // a charm into the charm directory
	record func(message string) error                                 // what has become of that directory
}

// A store keeps the unit's memory.
type store interface {
	operation.Store
	Read() (localstate.State, error)
}

// A runner runs hooks, and ends those that another has left.
type runner interface {
	operation.Runner
	EndInterrupted(hooks.Process) error
	Close() error
}

type processRunner struct{ *hooks.Runner }

func (processRunner) EndInterrupted(p hooks.Process) error { return hooks.EndInterrupted(p) }

// newHost makes ready what the unit needs on this machine.
func newHost(config Config) (*host, error) {
	if err := os.MkdirAll(config.StateDir, 0o700); err != nil {
		return nil, fmt.Errorf("cannot make the unit's directory: %w", err)
	}
	if err := hooks.InstallTools(config.Hooks.ToolsDir, config.Hooks.LauncherPath); err != nil {
		return nil, err
	}
	r, err := hooks.NewRunner(config.Hooks)
	if err != nil {
		return nil, err
	}
	dir := charmdir.Dir{Path: config.Hooks.CharmDir, Work: config.StateDir}
	return &host{
		store:  localstate.Open(filepath.Join(config.StateDir, stateFile)),
		runner: processRunner{r},
		deploy: func(ctx context.Context, url string) (*charm.Meta, error) { return dir.Deploy(ctx, config.API, url) },
		record: charmdir.History{Path: dir.Path, Author: "unit " + config.Unit.ID}.Record,
	}, nil
}

func (h *host) close() {
	if err := h.runner.Close(); err != nil {
		logger.Warningf("%v", err)
	}
}
