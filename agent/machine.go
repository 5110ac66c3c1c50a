package agent

import (
	"context"
	"path/filepath"

	"juju/apiserver/client"
	"juju/worker"
	"juju/worker/deployer"
	"juju/worker/machiner"
)

// machineWorkers returns the workers of a machine's agent.
func (a *Agent) machineWorkers() map[string]worker.Func {
	if a.config.HookLock == "" {
		a.config.HookLock = filepath.Join(a.root(), "hooks.lock")
	}
	return map[string]worker.Func{
		"api": a.connected(func(conn *client.Conn) map[string]worker.Func {
			return map[string]worker.Func{
				"machiner": machiner.New(machiner.Config{
					API: client.MachinerFacade{Caller: conn}, Machine: a.config.Tag, Configured: a.configured,
				}),
				"deployer": a.deployer(conn),
			}
		}, nil),
	}
}

// deployer is the worker that deploys the units of a machine, or the subordinates of a unit.
func (a *Agent) deployer(conn *client.Conn) worker.Func {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithCancel(ctx)
		agents := newDeployed(ctx, filepath.Dir(a.dir), a.options.Host, a.config)
		defer func() {
			cancel()
			agents.waits.Wait()
		}()
		if err := agents.sweep(); err != nil {
			return err
		}
		api := client.DeployerFacade{Caller: conn}
		return deployer.New(deployer.Config{API: api, Agents: agents, Parent: a.config.Tag})(ctx)
	}
}
