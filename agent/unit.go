package agent

import (
	"context"
	"path/filepath"

	"juju/apiserver/client"
	"juju/hooks"
	"juju/worker"
	"juju/worker/uniter"
)

// unitWorkers are the workers of a unit's agent.
func (a *agent) unitWorkers(ctx context.Context, conn *client.Conn) (map[string]worker.Func, error) {
	subordinates, err := a.deployer(ctx, conn)
	if err != nil {
		return nil, err
	}
	launcher, err := sibling("hook-tool")
	if err != nil {
		return nil, err
	}
	return map[string]worker.Func{
		"uniter": uniter.New(uniter.Config{
			API:      conn,
			Unit:     a.config.Tag,
			StateDir: filepath.Join(a.dir, "state"),
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
		"deployer": subordinates,
	}, nil
}
