package agent

import (
	"path/filepath"

	"juju/apiserver/client"
	"juju/hooks"
	"juju/worker"
	"juju/worker/uniter"
)

// unitWorkers are the workers of a unit's agent.
func (a *agent) unitWorkers(conn *client.Conn) (map[string]worker.Func, error) {
	launcher, err := a.host.hookTool()
	if err != nil {
		return nil, err
	}
	return map[string]worker.Func{
		"uniter": uniter.New(uniter.Config{
			API:       conn,
			Unit:      a.config.Tag,
			IdleDelay: a.idle,
			StateDir:  filepath.Join(a.dir, "state"),
			Hooks: hooks.RunnerParams{
				CharmDir:     filepath.Join(a.dir, "charm"),
				ToolsDir:     filepath.Join(a.dir, "tools"),
				RunDir:       filepath.Join(a.dir, "run"),
				LauncherPath: launcher,
				LockPath:     a.config.HookLock,
			},
			Context: hooks.ContextParams{
				Unit: a.config.Tag.ID, Machine: a.config.Machine, Principal: a.config.Principal,
				ModelName: a.config.ModelName, ModelUUID: a.config.Model,
				APIAddresses: a.config.Addresses, Version: Version,
			},
		}),
		"deployer": a.deployer(conn),
	}, nil
}
