package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"juju/apiserver/client"
	"juju/provider/process"
	"juju/state/entity"
	"juju/worker"
)

// Main is the main function of an agent's program. Its one argument is the agent's directory.
// It runs the agent until SIGTERM or SIGINT, or until the agent has nothing left to do, and
// returns the exit status.
func Main(kind entity.TagKind, args []string) int {
	if len(args) != 1 {
		fmt.Fprintf(os.Stderr, "ERROR an agent needs one argument: its directory, which holds %s\n", ConfigName)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	unitAgent, err := sibling("unit-agent")
	var log io.Writer
	if err == nil {
		log, err = process.Log(args[0])
	}
	if err == nil {
		err = run(ctx, kind, args[0], runParams{host: processes{unitAgent}, logs: startLog(log)})
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "ERROR %v\n", err)
		return 1
	}
	return 0
}

// runParams are the differences between an agent in production and one in a test.
type runParams struct {
	host  host
	logs  *logQueue     // nil if the agent has no log of its own
	delay time.Duration // before a failed worker is restarted; retryDelay if zero
	idle  time.Duration // see uniter.Config.IdleDelay
	// shared says that the process does not only run this agent.
	shared bool
}

// run runs the agent in dir until ctx ends, or until its entity is Dead or gone. Then it
// leaves a mark, so that the agent is not started again. It refuses to run while another
// agent runs in the same directory.
func run(ctx context.Context, kind entity.TagKind, dir string, p runParams) error {
	if p.delay == 0 {
		p.delay = retryDelay
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	config, err := ReadConfig(dir)
	if err != nil {
		return err
	}
	if config.Tag.Kind != kind {
		return entity.Errorf(entity.Invalid, "cannot run a %s agent for %s", kind, config.Tag)
	}
	held, err := process.Hold(dir)
	if err != nil {
		return fmt.Errorf("cannot run the agent of %s: %w", config.Tag, err)
	}
	if p.shared {
		defer held.Close()
	} // else it is held until the process has exited
	a := &agent{runParams: p, dir: dir, config: config, failures: worker.NewFailures()}
	logger.Infof("agent of %s begins", config.Tag)
	workers := a.machineWorkers
	if kind == entity.KindUnit {
		workers = a.unitWorkers
	}
	set, err := workers()
	if err != nil {
		return err
	}
	err = worker.Run(worker.WithFailures(ctx, a.failures), p.delay, set)
	logger.Infof("agent of %s ends: %v", config.Tag, err)
	switch {
	case errors.Is(err, worker.ErrTerminateAgent):
		return process.MarkEnded(dir, err.Error())
	case ctx.Err() != nil:
		return nil
	}
	return err
}

// An agent is what all workers of an agent need.
type agent struct {
	runParams
	dir      string
	config   Config
	failures *worker.Failures
}

// connected is the worker that connects to the controller and runs other workers on the
// connection. When the connection is lost, all of them restart on another.
func (a *agent) connected(workers func(*client.Conn) map[string]worker.Func) worker.Func {
	return func(ctx context.Context) error {
		conn, err := client.Dial(ctx, client.Info{
			Addresses: a.config.Addresses, CACert: a.config.CACert, Model: a.config.Model,
			Tag: a.config.Tag, Password: a.config.Password, Nonce: a.config.Nonce,
		})
		if errors.Is(err, entity.Unauthorized) || errors.Is(err, entity.NotFound) {
			// The entity or its model is gone, or its password has changed. The agent that deployed
			// this one starts it again if it is still wanted.
			return fmt.Errorf("%w: %w", worker.ErrTerminateAgent, err)
		} else if err != nil {
			return err
		}
		defer conn.Close()
		ctx, cancel := conn.During(ctx)
		defer cancel()
		set := workers(conn)
		set["failures"] = a.failures.Report(func(ctx context.Context, all []worker.Failure) error {
			said := make([]entity.WorkerFailure, len(all))
			for i, t := range all {
				said[i] = entity.WorkerFailure(t)
			}
			return client.AgentFacade{Caller: conn}.SetFailures(ctx, a.config.Tag, said)
		})
		if a.logs != nil {
			set["log sender"] = a.logs.send(conn)
		}
		return worker.Run(ctx, a.delay, set)
	}
}

// sibling returns the path of another of our programs, which is installed next to this one.
func sibling(name string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("cannot find the program %s: %w", name, err)
	}
	if self, err = filepath.EvalSymlinks(self); err != nil {
		return "", fmt.Errorf("cannot find the program %s: %w", name, err)
	}
	return filepath.Join(filepath.Dir(self), name), nil
}
