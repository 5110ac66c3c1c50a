package agent

import (
	"context"
	"path/filepath"
	"sync"
	"sync/atomic"

	"juju/agent/host/process"
	"juju/apiserver/client"
	"juju/hooks"
	"juju/state/modelconfig"
	"juju/worker"
	"juju/worker/deployer"
	"juju/worker/machineactions"
	"juju/worker/machiner"
	"juju/worker/proxyupdater"
)

// machineWorkers returns the workers of a machine's agent.
func (a *Agent) machineWorkers() (map[string]worker.Func, error) {
	boot := ""
	if a.config.OwnHost {
		var err error
		if boot, err = process.Boot(); err != nil {
			return nil, err
		}
	}
	var settings atomic.Pointer[modelconfig.Config] // the model's settings as last read
	changed := make(chan struct{}, 1)               // signalled when they may have changed
	configured := func(config modelconfig.Config) {
		settings.Store(&config)
		a.configured(config)
		a.authorize(config[modelconfig.AuthorizedKeys].Value)
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	api := newLink()
	actions := machineactions.New(machineactions.Config{
		API:     client.MachineActionsFacade{Caller: api},
		Machine: a.config.Tag,
		Room:    a.commands,
		Hooks: hooks.RunnerParams{
			CharmDir:     a.root(),
			ToolsDir:     a.toolsDir(),
			RunDir:       filepath.Join(a.dir, "run"),
			LauncherPath: a.options.HookTool,
			LockPath:     a.hookLock(),
		},
		Context: func() hooks.ContextParams {
			params := hooks.ContextParams{ModelName: a.config.ModelName, ModelUUID: a.config.Model,
				APIAddresses: a.addresses}
			if config := settings.Load(); config != nil {
				params.Settings = config.Values()
			}
			return params
		},
	})
	return a.outliving(api, "machine actions", actions, func(conn *client.Conn) map[string]worker.Func {
		restart := make(chan struct{})
		workers := map[string]worker.Func{
			"machiner": machiner.New(machiner.Config{
				API: client.MachinerFacade{Caller: conn}, Machine: a.config.Tag, Configured: configured, Boot: boot,
				Restart: sync.OnceFunc(func() { close(restart) }),
			}),
			"deployer": a.deployer(conn),
			"disk":     machiner.WatchDisk(client.MachinerFacade{Caller: conn}, a.config.Tag, a.root(), process.Room),
		}
		if a.options.Binaries != nil {
			workers["upgrader"] = a.upgrader(conn)
			workers["unit upgrader"] = a.unitUpgrader(conn)
		}
		if a.config.SSHUser != "" || a.config.Manual {
			workers["host keys"] = a.hostKeys(conn)
		}
		if a.config.Manual {
			workers["firewaller"] = a.firewaller(conn)
		}
		if a.config.OwnHost {
			workers["restart"] = a.restart(client.MachinerFacade{Caller: conn}, restart)
			workers["proxies"] = proxyupdater.New(a.proxies(), func() modelconfig.Config {
				if config := settings.Load(); config != nil {
					return *config
				}
				return nil
			}, changed)
			workers["facts"] = a.facts(client.MachinerFacade{Caller: conn}, networkCards)
		}
		return workers
	}), nil
}

// proxies returns the host whose proxies and mirror the agent configures.
func (a *Agent) proxies() proxyupdater.Host { return proxyupdater.Host{Root: "/", Keep: a.dir} }

// deployer returns the worker that deploys a machine's units or a unit's subordinates.
func (a *Agent) deployer(conn *client.Conn) worker.Func {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithCancel(ctx)
		agents := newDeployed(ctx, filepath.Dir(a.dir), a.options.Host, a.config, a.addresses)
		defer func() {
			cancel()
			agents.waits.Wait()
		}()
		if err := agents.sweep(); err != nil {
			return err
		}
		api := client.DeployerFacade{Caller: conn}
		return deployer.New(deployer.Config{API: api, Agents: agents, Parent: a.config.Tag,
			Tracer: a.options.Tracer, Started: a.options.Started})(ctx)
	}
}
