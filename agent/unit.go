package agent

import (
	"context"
	"errors"
	"path/filepath"

	"juju/apiserver/client"
	"juju/hooks"
	"juju/worker"
	"juju/worker/uniter"
)

// unitWorkers returns the workers of a unit's agent. The uniter outlives connections, because a running hook must
// not notice that the controller was unavailable.
func (a *Agent) unitWorkers() map[string]worker.Func {
	api := newLink()
	uniter := uniter.New(uniter.Config{
		API:        client.UniterFacade{Caller: api},
		Leadership: client.LeadershipServiceFacade{Caller: api},
		Unit:       a.config.Tag,
		Configured: a.configured,
		IdleDelay:  a.options.IdleDelay,
		Tracer:     a.options.Tracer,
		Started:    a.options.Started,
		StateDir:   filepath.Join(a.dir, "state"),
		Hooks: hooks.RunnerParams{
			CharmDir:     filepath.Join(a.dir, "charm"),
			ToolsDir:     filepath.Join(a.dir, "tools"),
			RunDir:       filepath.Join(a.dir, "run"),
			LauncherPath: a.options.HookTool,
			LockPath:     a.hookLock(),
			HostLockPath: a.hostLock(),
		},
		Context: hooks.ContextParams{
			Unit: a.config.Tag.ID, Machine: a.config.Machine, Principal: a.config.Principal,
			ModelName: a.config.ModelName, ModelUUID: a.config.Model,
			APIAddresses: a.addresses,
			ResourcesDir: filepath.Join(a.dir, "resources"),
			CanReboot:    a.config.OwnHost,
		},
	})
	// An agent that stops lets its hook finish and releases its leadership.
	return a.outliving(api, "uniter", uniter, func(conn *client.Conn) map[string]worker.Func {
		return map[string]worker.Func{"deployer": a.deployer(conn)}
	})
}

// outliving returns an agent's workers: those of a connection, and one that outlives connections and uses
// api. When the agent stops, the others keep running until that one has ended, so that the hook it waits for
// can still reach the controller.
func (a *Agent) outliving(
	api *link, name string, work worker.Func, workers func(*client.Conn) map[string]worker.Func,
) map[string]worker.Func {
	running := make(chan struct{}, 1) // a semaphore held while work runs
	connected := a.connected(func(conn *client.Conn) map[string]worker.Func {
		set := workers(conn)
		set["link"] = func(ctx context.Context) error {
			api.set(conn)
			<-ctx.Done()
			return nil
		}
		return set
	})
	return map[string]worker.Func{
		"connection": func(ctx context.Context) error {
			lasting, end := context.WithCancelCause(context.WithoutCancel(ctx))
			defer end(nil)
			defer context.AfterFunc(ctx, func() {
				running <- struct{}{}
				<-running
				end(context.Cause(ctx))
			})()
			return worker.Run(lasting, a.options.RetryDelay, map[string]worker.Func{"api": connected})
		},
		name: func(ctx context.Context) error {
			running <- struct{}{}
			defer func() { <-running }()
			ctx, abort := hooks.WithAbort(ctx)
			defer abort()
			defer context.AfterFunc(ctx, func() {
				if errors.Is(context.Cause(ctx), worker.ErrTerminateAgent) {
					abort() // the unit is removed, so finishing the hook is pointless
				}
			})()
			return work(ctx)
		},
	}
}
