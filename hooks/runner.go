package hooks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/juju/loggo"

	"juju/hooks/tool"
	"juju/state/tracing"
)

// ErrStopped is the error of a hook killed by an external signal while its agent was being stopped, as when the host
// shuts down. It has neither succeeded nor failed: it is rerun.
var ErrStopped = errors.New("the hook was ended together with its agent")

// reasonAborted is the reason of a FailedError whose hook was ended with ErrAbort.
const reasonAborted = "aborted"

// A FailedError means that a hook was started and failed. Its buffered writes must be discarded, and the
// unit waits to be resolved.
type FailedError struct {
	Hook     string // its file's name, "install"
	ExitCode int    // -1 when it did not exit by itself
	Reason   string // "exit status 1", "signal: killed", "the agent was stopped before it was over"
	// Message is what the hook has said with juju-fail; "" if it hasn't.
	Message string
	// LastLine is the last line of its last error in juju-log; if there is none, of its stderr, and
	// if that is empty, of its stdout.
	LastLine string
}

// Error returns the name of the failed hook and the reason.
func (e *FailedError) Error() string {
	text := fmt.Sprintf("hook %q failed: %s", e.Hook, e.Reason)
	for _, more := range []string{e.Message, e.LastLine} {
		if more != "" {
			text += ": " + more
		}
	}
	return text
}

// RunnerParams says where a unit's hooks run, or a machine's commands. All paths are absolute.
type RunnerParams struct {
	CharmDir     string // the deployed charm; for a machine, where commands begin
	ToolsDir     string // what hooktools.Install has filled; first in the hooks' PATH
	RunDir       string // the runner's own: made, private to the user; holds the socket and the hooks' output
	LauncherPath string // the hook-tool binary
	LockPath     string // shared by all agents of the machine; made if missing
	HostLockPath string // shared by the machines of this host; "" if it is one machine

	// Log takes each line of the hooks' output, of juju-log, and the runner's
	// own. Nil means loggo's logger of the module's name.
	Log LogFunc
}

// A Runner runs the hooks of one unit, one at a time. Close must be called: between hooks the Runner
// logs the output of earlier hooks' background processes.
type Runner struct {
	params RunnerParams
	output *output
	// stdout and stderr take what tasks print. They are nil before the first task.
	stdout, stderr *output
}

// module is whose log the runner itself writes to.
const module = "juju.hooks"

// NewRunner creates the runner's directory and starts following the hooks' output.
func NewRunner(params RunnerParams) (*Runner, error) {
	if params.Log == nil {
		params.Log = logToLoggo
	}
	if err := os.MkdirAll(params.RunDir, 0o700); err != nil {
		return nil, fmt.Errorf("cannot make the hooks' directory: %w", err)
	}
	// It may have been there already, more open than it should be.
	if err := os.Chmod(params.RunDir, 0o700); err != nil {
		return nil, fmt.Errorf("cannot make the hooks' directory private: %w", err)
	}
	r := &Runner{params: params}
	var err error
	if r.output, err = r.follow("output", loggo.INFO); err != nil {
		return nil, err
	}
	return r, nil
}

// follow begins to follow a file that hooks or tasks print to, whose lines have a level.
func (r *Runner) follow(name string, level loggo.Level) (*output, error) {
	return openOutput(filepath.Join(r.params.RunDir, name), module, level, r.params.Log)
}

// Close stops following the hooks' output. No Run may be in progress.
func (r *Runner) Close() error {
	var errs []error
	for _, o := range []*output{r.output, r.stdout, r.stderr} {
		if o != nil {
			errs = append(errs, o.close())
		}
	}
	return errors.Join(errs...)
}

// begin returns the output files for a context's hook or task. After it exits, end returns the last telling
// line of stderr or, if there is none, of stdout.
func (r *Runner) begin(hctx *Context) (stdout, stderr *os.File, end func() (last string), err error) {
	between := strings.Replace(hctx.entity(), " ", ".", 1)
	of := between + "." + hctx.HookName()
	if hctx.params.Task == nil {
		stdout, stderr, err = r.output.begin(of, between)
		return stdout, stderr, r.output.end, err
	}
	if s := hctx.params.Task.Streams; s != nil {
		return s[1], s[2], func() string { return "" }, nil
	}
	if r.stdout == nil {
		if r.stdout, err = r.follow("stdout", loggo.INFO); err != nil {
			return nil, nil, nil, err
		}
	}
	if r.stderr == nil {
		if r.stderr, err = r.follow("stderr", loggo.WARNING); err != nil {
			return nil, nil, nil, err
		}
	}
	r.stdout.keep, r.stderr.keep = keptOutput, keptOutput
	if stdout, _, err = r.stdout.begin(of, between); err != nil {
		return nil, nil, nil, err
	}
	if stderr, _, err = r.stderr.begin(of, between); err != nil {
		r.stdout.end()
		return nil, nil, nil, err
	}
	return stdout, stderr, func() string {
		out, err := r.stdout.end(), r.stderr.end()
		hctx.mu.Lock()
		defer hctx.mu.Unlock()
		hctx.stdout = captured{r.stdout.kept, r.stdout.dropped}
		hctx.stderr = captured{r.stderr.kept, r.stderr.dropped}
		return cmp.Or(err, out)
	}, nil
}

// fullFor returns an error if the disk has no room for more output of a hook or task, so that some may be lost.
func (r *Runner) fullFor(hctx *Context) error {
	switch t := hctx.params.Task; {
	case t == nil:
		return r.output.room()
	case t.Streams != nil:
		return nil
	}
	return errors.Join(r.stdout.room(), r.stderr.room())
}

// Run runs hctx's hook or task in the charm directory and returns when its own process has exited
// and all its output has been logged.
//
// It first waits until no other hook runs on the machine, unless the context is exempt, and also on the host if the
// context says so. Then it calls persist with the process that is about to exec the hook. The hook starts only after persist returns
// nil, so an agent killed before that leaves no hook running. If the charm does not implement it, a hook
// succeeds without a call to persist, and an action fails.
//
// If ctx is done while the hook runs, Run calls the context's Stopping and waits for the hook, however long that
// takes; then it returns as usual, so the caller needs another context for CommitHook. Only an abort (see WithAbort)
// and a task's timeout kill the hook's process group; the hook has then failed.
//
// Run returns nil, a *FailedError, ErrRebootNow, ErrStopped, or another error if the hook did not run at all: ctx's
// cause, persist's error, or a problem of the agent's host. It runs nothing while the disk has no room for output; see
// entity.IsDiskFull. A task fails if the disk fills up meanwhile.
func (r *Runner) Run(ctx context.Context, hctx *Context, persist func(Process) error) error {
	name := hctx.HookName()
	if hctx.used.Swap(true) {
		return errors.New("the hook's context has been used")
	}
	// Without this check, a missing charm would look like one without hooks.
	if _, err := os.Stat(r.params.CharmDir); err != nil {
		return err
	}
	program, err := hctx.program(r.params.CharmDir, r.params.LauncherPath)
	if err != nil {
		return err
	}
	if program == nil && hctx.params.Task != nil {
		hctx.missing = true
		return &FailedError{Hook: name, Reason: fmt.Sprintf("action not implemented on unit %q", hctx.params.Unit)}
	}
	if program == nil && !r.isDebugged(hctx) {
		r.params.Log(module, loggo.INFO, fmt.Sprintf("skipped %q hook (missing)", name))
		return nil
	}
	locks, err := r.lock(ctx, hctx)
	if err != nil {
		return err
	}
	defer unlock(locks)
	if len(locks) > 0 {
		record := persist
		persist = func(p Process) error {
			p.Lock = locks[0].path
			for _, l := range locks {
				if err := l.runs(p); err != nil {
					return err
				}
			}
			return record(p)
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	ends, abort := context.WithCancelCause(abortOf(ctx))
	defer abort(nil)
	hctx.log, hctx.charmDir, hctx.abort = r.params.Log, r.params.CharmDir, func() { abort(errRebooting) }
	socket := filepath.Join(r.params.RunDir, "agent.socket")
	if hctx.params.Unit != "" {
		server, err := tool.Serve(socket, hctx.serve)
		if err != nil {
			return err
		}
		// From here on the tools of this hook work, and from the Close on they
		// don't: so what Changes returns after Run is all there will ever be.
		defer server.Close()
	}
	stdout, stderr, end, err := r.begin(hctx)
	if err != nil {
		return err
	}
	if program == nil || r.isDebugged(hctx) {
		r.params.Log(module, loggo.INFO, fmt.Sprintf("%q hook is run by juju debug-hooks", name))
		program = []string{r.params.LauncherPath, tool.DebugName, r.params.RunDir, name}
	}
	cmd := tool.LaunchCommand(r.params.LauncherPath, program...)
	cmd.Dir, cmd.Env = r.params.CharmDir, hctx.environment(os.Environ(), r.params.CharmDir, r.params.ToolsDir, socket)
	cmd.Env = tracing.Environ(ctx, cmd.Env)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	if t := hctx.params.Task; t != nil && t.Streams != nil {
		cmd.Stdin = t.Streams[0]
	}
	if t := hctx.params.Task; t != nil && t.Timeout > 0 {
		var cancel context.CancelFunc
		ends, cancel = context.WithTimeoutCause(ends, t.Timeout, errTimedOut)
		defer cancel()
	}
	err = r.exec(ctx, ends, hctx, cmd, persist)
	full := r.fullFor(hctx)
	last := end()
	if full != nil {
		r.params.Log(module, loggo.WARNING, fmt.Sprintf("what %q printed may be incomplete: %v", name, full))
	}
	if hctx.Reboot() == RebootNow {
		return ErrRebootNow
	}
	var failed *FailedError
	if message := hctx.failed(); err == nil && message != "" {
		err = &FailedError{Hook: name, Reason: "it called juju-fail"} // or action-fail
	}
	if err == nil && full != nil && hctx.params.Task != nil {
		err = &FailedError{Hook: name, ExitCode: -1, Reason: fmt.Sprintf("its output may be incomplete: %v", full)}
	}
	if errors.As(err, &failed) {
		failed.LastLine, failed.Message = because(cmp.Or(hctx.loggedError(), last), r.params.CharmDir), hctx.failed()
	}
	return err
}

// errExempt ends the wait of a hook that has become exempt from the lock.
var errExempt = errors.New("the hook need not wait for others")

// lock waits for the locks that the hook or task needs, and returns none if it is exempt.
func (r *Runner) lock(ctx context.Context, hctx *Context) (held []*MachineLock, err error) {
	needs, always := hctx.locks(r.params)
	exempt := hctx.params.LockExempt
	if always {
		exempt = nil
	}
	select {
	case <-exempt:
		return nil, nil
	default:
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-exempt:
			cancel(errExempt)
		case <-ctx.Done():
		}
	}()
	for _, need := range needs {
		lock, err := LockMachine(ctx, need.path, hctx.who(), func(holder string) {
			r.params.Log(module, loggo.INFO, fmt.Sprintf("%q hook waits for the %s: %s runs",
				hctx.HookName(), need.name, holder))
			if hctx.params.Waiting != nil {
				hctx.params.Waiting(ctx, fmt.Sprintf("the %s is held by %s", need.name, holder))
			}
		})
		if err != nil {
			unlock(held)
			if errors.Is(err, errExempt) {
				err = nil
			}
			return nil, err
		}
		held = append(held, lock)
	}
	return held, nil
}

func unlock(locks []*MachineLock) {
	for _, l := range locks {
		l.Unlock()
	}
}

// isDebugged reports whether a user intercepts the hook or action: see DebugHooks. That includes hooks
// that the charm does not implement, but not users' commands.
func (r *Runner) isDebugged(hctx *Context) bool {
	if hctx.dispatchPath() == "" {
		return false
	}
	wanted, err := tool.DebugWanted(r.params.RunDir, hctx.HookName())
	if err != nil {
		r.params.Log(module, loggo.WARNING, err.Error())
	}
	return wanted
}

// exec starts the hook and waits for its process. The hook outlives ctx, and is killed when ends is done.
func (r *Runner) exec(
	ctx, ends context.Context, hctx *Context, cmd *exec.Cmd, persist func(Process) error,
) error {
	wait, word, err := os.Pipe()
	if err != nil {
		return err
	}
	defer word.Close()
	cmd.ExtraFiles = []*os.File{wait} // the first is tool.LaunchFD
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = cmd.Start()
	wait.Close()
	if err != nil {
		return err
	}
	leader, err := identify(cmd.Process.Pid)
	if err == nil {
		err = persist(leader)
	}
	if err == nil {
		_, err = word.Write([]byte{tool.LaunchGo})
	}
	if err != nil {
		word.Close() // which ends the launcher, if it is there
		cmd.Wait()
		return err
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		cmd.Wait() // its error is also in ProcessState
	}()
	stopping := func() {
		if hctx.params.Stopping != nil {
			hctx.params.Stopping()
		}
	}
	reason, err := await(ctx, ends, leader, over, stopping)
	if err != nil {
		return fmt.Errorf("cannot end the hook: %w", err)
	}
	if reason == "" && endedByHost(ctx, cmd.ProcessState) {
		return ErrStopped
	}
	return result(hctx.HookName(), reason, cmd)
}

// await returns when the hook's process has exited. If it was killed, reason is why. It calls stopping when ctx is
// done.
func await(
	ctx, ends context.Context, leader Process, over <-chan struct{}, stopping func(),
) (reason string, err error) {
	select {
	case <-over:
		return "", nil
	case <-ends.Done():
	case <-ctx.Done():
		if ends.Err() == nil {
			stopping()
		}
		select {
		case <-over:
			return "", nil
		case <-ends.Done():
		}
	}
	reason = reasonAborted
	if errors.Is(context.Cause(ends), errTimedOut) {
		reason = "command timed out"
	}
	select {
	case <-over: // by itself, at the last moment; then nothing is left to end
		return "", nil
	default:
	}
	grace := termGrace
	if errors.Is(context.Cause(ends), errRebooting) {
		grace = 0
	}
	if err := leader.end(grace); err != nil {
		return "", err
	}
	<-over
	return reason, nil
}

// stopGrace is how much later than its hook an agent may learn that the host ends both.
const stopGrace = time.Second

// endedByHost reports whether a signal killed the hook while the agent is being stopped: at shutdown, the host sends
// all processes the same signal.
func endedByHost(ctx context.Context, hook *os.ProcessState) bool {
	if hook == nil {
		return false
	}
	status, ok := hook.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() || status.Signal() != syscall.SIGTERM {
		return false
	}
	select {
	case <-ctx.Done():
		return true
	case <-time.After(stopGrace):
		return false
	}
}

// result returns the outcome of a hook whose process has exited.
func result(name, reason string, cmd *exec.Cmd) error {
	state := cmd.ProcessState
	switch {
	case state == nil:
		return fmt.Errorf("cannot tell what became of hook %q", name)
	case reason == "" && state.Success():
		return nil
	case reason == "":
		return &FailedError{Hook: name, ExitCode: state.ExitCode(), Reason: state.String()}
	}
	return &FailedError{Hook: name, ExitCode: -1, Reason: reason}
}
