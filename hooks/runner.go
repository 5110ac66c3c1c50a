package hooks

import (
	"context"
	"errors"
	"time"

	"github.com/juju/loggo"
)

// ErrAbort, as the cause with which Run's context is cancelled, ends the hook
// at once instead of letting it finish: the unit has been destroyed with force.
var ErrAbort = errors.New("hook aborted")

// A FailedError says that a hook has run, or was begun, and did not succeed.
// What it buffered is to be forgotten, and the unit awaits resolution.
type FailedError struct {
	Hook     string // its file's name, "install"
	ExitCode int    // -1 when it did not exit by itself
	Reason   string // "exit status 1", "killed by signal: terminated", "agent stopped before the hook was over"
}

// Error says which hook has failed, and how.
func (e *FailedError) Error() string { return "hook \"" + e.Hook + "\" failed: " + e.Reason }

// RunnerParams says where a unit's hooks run. All paths are absolute.
type RunnerParams struct {
	CharmDir     string // the deployed charm
	ToolsDir     string // what InstallTools has filled; first in the hooks' PATH
	RunDir       string // the runner's own: made, private to the user; holds the socket and the hooks' output
	LauncherPath string // the hook-tool binary
	LockPath     string // shared by all agents of the machine; made if missing

	// StopTimeout is how long a hook may go on when Run's context is done;
	// zero means 30 seconds.
	StopTimeout time.Duration
	// Log takes each line of the hooks' output, of juju-log, and the runner's
	// own. Nil means loggo's logger of the module's name.
	Log func(module string, level loggo.Level, message string)
}

// A Runner runs the hooks of one unit, one after another. Its Close must be
// called: between hooks it follows what the background processes of earlier
// ones print.
type Runner struct {
	params RunnerParams
}

// A Process is a hook's process and its group, so identified that neither a
// later process with the same number nor one after a reboot is taken for it.
type Process struct {
	PID   int    `json:"pid" yaml:"pid"`     // also the number of its process group
	Start uint64 `json:"start" yaml:"start"` // clock ticks since boot, as /proc/PID/stat has it
	Boot  string `json:"boot" yaml:"boot"`   // the kernel's id of this boot
}

// NewRunner makes the runner's directory and begins to follow the hooks' output.
func NewRunner(params RunnerParams) (*Runner, error) {
	return &Runner{params: params}, nil
}

// Close stops following the hooks' output. No Run may be in progress.
func (r *Runner) Close() error { return nil }

// Run runs hctx's hook in the charm directory and returns when it is over:
// when its own process has exited, and all it printed has been logged.
//
// It first waits until no other hook runs on the machine. Then it calls persist
// with the process that is about to become the hook, and the hook begins only
// after persist has returned nil; whatever kills the agent before that leaves no
// hook running. A hook that the charm doesn't have is a success, without a call
// of persist.
//
// When ctx is done the hook has StopTimeout to finish, and Run returns as if
// nothing had happened if it does; so what comes after (CommitHook) needs a
// context of its own. When it doesn't, or at once if ctx's cause is ErrAbort,
// its process group is killed and the hook has failed.
//
// It returns nil, a *FailedError, or any other error when the hook has not been
// run at all: ctx's cause, persist's error, or a fault of the agent's host.
func (r *Runner) Run(ctx context.Context, hctx *Context, persist func(Process) error) error {
	return errors.New("cannot run hooks yet")
}

// EndInterrupted ends the hook that p recorded, if it still runs: its process
// group is told to terminate, then killed, and gone when nil is returned. A
// process that is not the recorded one is left alone, and so are the background
// children of a hook that has exited by itself.
func EndInterrupted(p Process) error { return errors.New("cannot end hooks yet") }

// InstallTools makes dir hold a link to binary, the hook-tool program, under
// the name of every hook tool. Repeating it is harmless, also while hooks run.
func InstallTools(dir, binary string) error { return errors.New("cannot install tools yet") }
