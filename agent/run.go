package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"

	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/semaphore"

	"juju/agent/binaries"
	"juju/agent/host/process"
	"juju/agent/install"
	"juju/apiserver/client"
	"juju/charm"
	"juju/hooks"
	"juju/hooks/hooktools"
	"juju/state/entity"
	"juju/state/entity/backoff"
	"juju/state/tracing"
	"juju/worker"
	"juju/worker/machineactions"
)

// retryDelay is the pause before a failed worker is restarted.
const retryDelay = 3 * time.Second

const usage = `Usage: %[1]s-agent [--log-format text|json] DIR

Run the agent of one %[1]s until it is stopped or the %[1]s is removed. DIR is the
agent's directory; it holds %[2]s, which says who the agent is, where its controller
is and, unless it is given, in which format the agent logs. juju starts agents itself:
to look at one, see its log in DIR/log, or juju debug-log.
`

const machineUsage = `
machine-agent supervise DIR runs the agent, again if it ends, where there is no systemd.
machine-agent uninstall DIR takes it off a host that was added with juju add-machine
ssh:HOST, when its controller is gone.
`

// Main is the main function of an agent binary. Its argument is the agent's directory, or --help.
// machine-agent also accepts a subcommand of onMachine before the directory, and unit-agent those of
// forUsers. Main runs the agent until SIGTERM or SIGINT, or until the agent terminates, and returns the exit
// status.
func Main(kind entity.TagKind, args []string) int {
	if len(args) == 1 && args[0] == "version" { // charms run "jujud version"
		fmt.Printf("%s-ubuntu-%s\n", charm.Contract, runtime.GOARCH)
		return 0
	}
	if len(args) == 1 && (args[0] == "--help" || args[0] == "-h") {
		fmt.Printf(usage, kind, ConfigName)
		if kind == entity.KindMachine {
			fmt.Print(machineUsage)
		}
		return 0
	}
	format, args, err := logFormatOf(args)
	run := func(ctx context.Context, kind entity.TagKind, dir string) error {
		return runProgram(ctx, kind, dir, format)
	}
	if len(args) == 2 && kind == entity.KindMachine && onMachine[args[0]] != nil {
		do := onMachine[args[0]]
		run = func(ctx context.Context, kind entity.TagKind, dir string) error {
			a, err := New(kind, dir, Options{})
			if err != nil {
				return err
			}
			return do(a, ctx)
		}
		args = args[1:]
	}
	if len(args) >= 3 && kind == entity.KindUnit && (args[0] == RunDebugHooks || args[0] == RunCharmHistory) {
		all := args
		run = func(ctx context.Context, _ entity.TagKind, root string) error {
			return forUsers(ctx, all[0], root, all[2], all[3:], os.Stdout)
		}
		args = args[1:2]
	}
	if err == nil && len(args) != 1 {
		err = entity.Errorf(entity.Invalid, "an agent needs one argument: its directory, which holds %s", ConfigName)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "ERROR %v\n", err)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := run(ctx, kind, args[0]); err != nil {
		fmt.Fprintf(os.Stderr, "ERROR %v\n", err)
		if hint := entity.Hint(err); hint != "" {
			fmt.Fprintln(os.Stderr, hint)
		}
		return 1
	}
	return 0
}

// onMachine has the subcommands of machine-agent.
var onMachine = map[string]func(*Agent, context.Context) error{
	"supervise": (*Agent).supervise,
	"uninstall": (*Agent).uninstallNow,
}

// runProgram runs the agent in dir as this process. format is that of its log; "" for the configured one.
func runProgram(ctx context.Context, kind entity.TagKind, dir string, format entity.LogFormat) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	installed := binariesDir(filepath.Dir(filepath.Dir(dir)))
	// Only starts of the machine's agent count towards the trial of new binaries.
	if err := installed.Enter(string(kind)+"-agent", kind == entity.KindMachine); err != nil {
		return err
	}
	unitAgent, err := sibling("unit-agent")
	if err != nil {
		return err
	}
	hookTool, err := sibling("hook-tool")
	if err != nil {
		return err
	}
	log, err := process.Log(dir)
	if err != nil {
		return err
	}
	a, err := New(kind, dir, Options{Host: processes{unitAgent}, HookTool: hookTool, RetryDelay: retryDelay, Log: log, LogFormat: format,
		Binaries: &installed})
	if err != nil {
		return err
	}
	defer a.trace(ctx)()
	if why, ended := process.Ended(a.dir); ended && kind == entity.KindMachine {
		if a.config.Manual {
			return a.uninstall(ctx) // an earlier attempt was interrupted
		}
		logger.Infof("agent of %s has terminated: %s", a.config.Tag, why)
		return nil // not an error, on which systemd would restart it
	}
	// The directory is held until the process has exited.
	if a.held, err = process.Hold(a.dir); err != nil {
		return fmt.Errorf("cannot run the agent of %s: %w", a.config.Tag, err)
	}
	if kind == entity.KindMachine {
		if err := a.installJujud(); err != nil {
			return err
		}
		if err := hooktools.InstallJujuExec(a.toolsDir(), a.options.HookTool); err != nil {
			return err
		}
		if err := install.LinkJujuExec("/usr/bin", a.toolsDir()); err != nil {
			logger.Warningf("%v", err)
		}
	}
	for {
		if err = a.Run(ctx); !errors.Is(err, worker.ErrReboot) {
			break
		}
		if a.restartFailed = a.reboot(ctx, stopProcess); a.restartFailed == nil {
			return nil
		}
		logger.Errorf("%v", a.restartFailed)
	}
	if _, ended := process.Ended(a.dir); ended && err == nil && a.config.Manual && kind == entity.KindMachine {
		return a.uninstall(ctx)
	}
	return err
}

// toolsDir returns the directory of commands for the machine's users.
func (a *Agent) toolsDir() string { return filepath.Join(a.root(), "tools", a.config.Tag.String()) }

// installJujud links this binary to where charms look for jujud, which they run to get the version.
func (a *Agent) installJujud() error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("cannot install jujud: %w", err)
	}
	link := filepath.Join(a.toolsDir(), "jujud")
	if at, err := os.Readlink(link); err == nil && at == self {
		return nil
	}
	err = os.MkdirAll(filepath.Dir(link), 0o755)
	if err == nil {
		err = os.Remove(link)
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = os.Symlink(self, link)
	}
	if err != nil {
		return fmt.Errorf("cannot install jujud: %w", err)
	}
	return nil
}

// Options configure an agent.
type Options struct {
	Host       Host          // runs the agents that it deploys
	HookTool   string        // the path of the hook-tool binary
	RetryDelay time.Duration // before a failed worker is restarted
	IdleDelay  time.Duration // see uniter.Config.IdleDelay
	// Log receives this process's log, which is also sent to the controller. If nil, nothing is sent.
	Log io.Writer
	// LogFormat is the format of what Log receives; "" for the one in the agent's configuration.
	LogFormat entity.LogFormat
	// Tracer begins the agent's spans, nil for none, and Started has the span in which it was started.
	Tracer  trace.Tracer
	Started *tracing.Causes
	// Binaries is where a machine's agent installs upgrades; nil if it can't be upgraded.
	Binaries *binaries.Dir
}

// An Agent is the agent of one machine or of one unit.
type Agent struct {
	options Options
	dir     string
	kind    entity.TagKind
	config  Config
	// current are the addresses of the controllers, if they are not those in config any more.
	current  atomic.Pointer[[]string]
	logs     *logQueue // nil if the agent sends no log
	failures *worker.Failures

	// held is the agent's directory; nil in tests that run an agent without a process of its own.
	held *process.Held
	// lock is the machine lock, held while the agent restarts the machine.
	lock *hooks.MachineLock
	// commands is a semaphore of size machineactions.AtOnce. Each of the machine's commands holds 1 of it while it runs,
	// and the agent all of it when none may start because it is about to stop.
	commands *semaphore.Weighted
	// restartFailed is why the last attempt to restart the machine failed.
	restartFailed error
}

// New returns the agent of the given kind whose configuration is in dir.
func New(kind entity.TagKind, dir string, o Options) (*Agent, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	a := &Agent{options: o, dir: dir, kind: kind, failures: worker.NewFailures(),
		commands: semaphore.NewWeighted(machineactions.AtOnce)}
	if a.config, err = ReadConfig(dir); err != nil {
		return nil, err
	}
	a.config.LogFormat = cmp.Or(o.LogFormat, a.config.LogFormat)
	if o.Log != nil {
		a.logs = startLog(LogWriter(o.Log, a.config.LogFormat, a.config.Tag, a.config.ModelName, formatEntry))
	}
	if a.config.Tag.Kind != kind {
		return nil, entity.Errorf(entity.Invalid, "cannot run a %s agent for %s", kind, a.config.Tag)
	}
	return a, nil
}

// Dir returns the directory of an agent on a machine with the given root.
func Dir(root string, tag entity.Tag) string { return filepath.Join(root, "agents", tag.String()) }

// root returns the machine's directory.
func (a *Agent) root() string { return filepath.Dir(filepath.Dir(a.dir)) }

// hookLock returns the file that is locked while a hook runs on the machine.
func (a *Agent) hookLock() string { return filepath.Join(a.root(), "hooks.lock") }

// hostLock returns the file that is locked while a hook runs that no other machine on the host may run at the same time;
// "" if the machine is the host. Configurations of earlier versions then have the machine's own lock.
func (a *Agent) hostLock() string {
	if a.config.OwnHost {
		return ""
	}
	return a.config.HostLock
}

// Run runs the agent until ctx ends, or until its entity is Dead or removed. In the latter case it marks its
// directory, so that the agent is not restarted. The error wraps worker.ErrReboot if the machine must be
// restarted now: see reboot. The caller must hold the directory with process.Hold, so that no other agent
// runs there.
func (a *Agent) Run(ctx context.Context) error {
	logger.Infof("agent of %s starting, version %s", a.config.Tag, ownBinaries().Build())
	var workers map[string]worker.Func
	var err error
	if a.kind == entity.KindUnit {
		workers = a.unitWorkers()
	} else if workers, err = a.machineWorkers(); err != nil {
		return err
	}
	if a.held != nil {
		workers["directory"] = a.removed
	}
	err = worker.Run(worker.WithFailures(ctx, a.failures), a.options.RetryDelay, workers)
	logger.Infof("agent of %s stopped: %v", a.config.Tag, err)
	switch {
	case errors.Is(err, process.ErrRemoved):
		return fmt.Errorf("agent of %s stopped: %w", a.config.Tag, err)
	case errors.Is(err, worker.ErrTerminateAgent):
		return process.MarkEnded(a.dir, err.Error())
	case ctx.Err() != nil:
		return nil
	}
	return err
}

// removed is the worker that stops the agent when its directory is removed. Without it the agent has lost its
// state, and its supervisor could no longer find it.
func (a *Agent) removed(ctx context.Context) error {
	err := a.held.AwaitRemoval(ctx)
	if errors.Is(err, process.ErrRemoved) {
		return fmt.Errorf("%w: %w", err, worker.ErrTerminateAgent)
	}
	return err
}

// connected returns the worker that connects to the controller and runs other workers on the connection. When the
// connection is lost, all of them restart on a new one.
func (a *Agent) connected(workers func(*client.Conn) map[string]worker.Func) worker.Func {
	return func(ctx context.Context) error {
		conn, err := a.dial(ctx)
		if errors.Is(err, entity.Unauthorized) || errors.Is(err, entity.NotFound) {
			// The entity or its model is removed, or its password has changed. The agent that deployed this one
			// restarts it if it is still needed.
			return fmt.Errorf("%w: %w", worker.ErrTerminateAgent, err)
		} else if err != nil {
			return err
		}
		defer conn.Close()
		during, cancel := conn.During(ctx)
		defer cancel()
		set := workers(conn)
		set["failures"] = a.failures.Report(func(ctx context.Context, all []worker.Failure) error {
			failures := make([]entity.WorkerFailure, len(all))
			for i, f := range all {
				failures[i] = entity.WorkerFailure(f)
			}
			return client.AgentFacade{Caller: conn}.SetFailures(ctx, a.config.Tag, failures)
		})
		set["api addresses"] = a.followAddresses(conn)
		if a.logs != nil {
			set["log sender"] = a.logs.send(conn)
		}
		return worker.Run(during, a.options.RetryDelay, set)
	}
}

// dial connects to the controller. A machine's agent may start before the controller has recorded the machine's instance, so
// it retries, quickly at first.
func (a *Agent) dial(ctx context.Context) (*client.Conn, error) {
	for pauses := backoff.New(firstPause, a.options.RetryDelay); ; {
		conn, err := client.Dial(ctx, client.Info{
			Addresses: a.reachable(), CACert: a.config.CACert, Model: a.config.Model,
			Tag: a.config.Tag, Password: a.config.Password, Nonce: a.config.Nonce, Binaries: ownBinaries(),
		})
		if !errors.Is(err, entity.NotProvisioned) {
			return conn, err
		}
		pause := pauses.Next()
		logger.Infof("waiting for the controller to record the machine's instance: next try in %v", pause)
		if err := backoff.Sleep(ctx, pause); err != nil {
			return nil, err
		}
	}
}

// sibling returns the path of another of Juju's binaries, which is installed next to this one.
func sibling(name string) (string, error) {
	dir, err := binaries.OwnDir()
	if err != nil {
		return "", fmt.Errorf("cannot find the binary %s: %w", name, err)
	}
	return filepath.Join(dir, name), nil
}
