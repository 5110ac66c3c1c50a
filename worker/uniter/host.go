package uniter

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"juju/agent/host/process"
	"juju/charm"
	"juju/hooks"
	"juju/hooks/hooktools"
	"juju/worker/uniter/charmdir"
	"juju/worker/uniter/localstate"
	"juju/worker/uniter/operation"
)

// stateFile is the name of the file in Config.StateDir that holds the unit's state.
const stateFile = "uniter.json"

// A host is what a uniter uses on its machine.
type host struct {
	store  store
	runner runner
	deploy func(ctx context.Context, url string) (*charm.Meta, error) // deploys a charm in the charm directory
	record func(message string) error                                 // commits the directory to its history
	hooks  func() (hooks.Implemented, error)                          // returns the hooks that the charm has
	boot   string                                                     // identifies the machine's current boot
	// commands receives juju-run's commands; it may be nil. endCommands stops serving them.
	commands    <-chan *hooks.Command
	endCommands func()
}

// A store stores the unit's state.
type store interface {
	operation.Store
	Read() (localstate.State, error)
}

// A runner runs hooks, and stops those that a previous agent left running.
type runner interface {
	operation.Runner
	EndInterrupted(hooks.Process) error
	Close() error
}

type processRunner struct{ *hooks.Runner }

func (processRunner) EndInterrupted(p hooks.Process) error { return hooks.EndInterrupted(p) }

// newHost prepares the unit's directories, tools and hook runner.
func newHost(config Config) (*host, error) {
	if err := os.MkdirAll(config.StateDir, 0o700); err != nil {
		return nil, fmt.Errorf("cannot create the unit's directory: %w", err)
	}
	if err := hooktools.Install(config.Hooks.ToolsDir, config.Hooks.LauncherPath); err != nil {
		return nil, err
	}
	boot, err := process.Boot()
	if err != nil {
		return nil, err
	}
	r, err := hooks.NewRunner(config.Hooks)
	if err != nil {
		return nil, err
	}
	history := &charmdir.History{Path: config.Hooks.CharmDir, Author: "unit " + config.Unit.ID}
	dir := charmdir.Dir{Path: config.Hooks.CharmDir, Work: config.StateDir, History: history}
	commands, end := hooks.ServeCommands(config.Hooks.RunDir, func(err error) { logger.Errorf("%v", err) })
	return &host{
		commands: commands, endCommands: end,
		store:  localstate.Open(filepath.Join(config.StateDir, stateFile)),
		runner: processRunner{r},
		deploy: func(ctx context.Context, url string) (*charm.Meta, error) { return dir.Deploy(ctx, config.API, url) },
		hooks:  func() (hooks.Implemented, error) { return hooks.ReadImplemented(dir.Path) },
		record: history.Record,
		boot:   boot,
	}, nil
}

func (h *host) close() {
	if h.endCommands != nil {
		h.endCommands()
	}
	if err := h.runner.Close(); err != nil {
		logger.Warningf("%v", err)
	}
}
