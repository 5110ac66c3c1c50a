package controller

import (
	"context"
	"path/filepath"
	"sync"
	"time"

	"juju/agent"
	"juju/agent/install"
	"juju/apiserver/client"
	"juju/provider"
	"juju/state"
	"juju/state/entity"
	"juju/worker"
	"juju/worker/cleaner"
	"juju/worker/firewaller"
	"juju/worker/machiner"
	"juju/worker/minunits"
	"juju/worker/provisioner"
	"juju/worker/pruner"
	"juju/worker/resumer"
	"juju/worker/storageprovisioner"
)

// models returns the worker that runs a set of workers for each ready model.
func (c *running) models(open provider.Open) worker.Func {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithCancel(ctx)
		var running sync.WaitGroup
		defer running.Wait()
		defer cancel()
		begun := map[string]bool{}
		return worker.Strings(ctx, c.ctrl.WatchModels, func(ctx context.Context, ids []string) error {
			for _, id := range ids {
				_, err := c.ctrl.Model(ctx, id) // closes a model that is no longer ready
				switch {
				case entity.KindOf(err) == entity.NotFound:
					delete(begun, id)
				case !begun[id]:
					begun[id] = true
					running.Go(func() {
						// A model that can't be opened, or whose workers fail fatally, must not affect the
						// others.
						work := map[string]worker.Func{"model " + id: c.model(id, open)}
						if err := worker.Run(ctx, retryDelay, work); err != nil && ctx.Err() == nil {
							logger.Errorf("the workers of model %s ended: %v", id, err)
						}
					})
				}
			}
			return nil
		})
	}
}

// model returns the worker that runs the workers of one model while the model is ready.
func (c *running) model(id string, open provider.Open) worker.Func {
	return func(ctx context.Context) error {
		st, err := c.ctrl.Model(ctx, id)
		if entity.KindOf(err) == entity.NotFound {
			return nil
		} else if err != nil {
			return err
		}
		ctx, cancel := context.WithCancel(ctx)
		ended := make(chan struct{})
		defer func() {
			cancel()
			<-ended
		}()
		go func() {
			defer close(ended)
			select {
			case <-st.Done():
				cancel()
			case <-ctx.Done():
			}
		}()
		defer c.failures.forget(id)
		err = worker.Run(worker.WithFailures(ctx, c.failures.of(id)), retryDelay, c.modelWorkers(st, open))
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
}

// The intervals at which expired tasks and uploads are removed.
const (
	pruneTasks   = time.Hour
	pruneUploads = time.Hour
)

// modelWorkers returns the workers that a controller runs for one model.
func (c *running) modelWorkers(st *state.State, open provider.Open) map[string]worker.Func {
	workers := map[string]worker.Func{
		"provisioner": c.connected(st, func(ctx context.Context, conn *client.Conn) error {
			environ, err := open(ctx, provider.Config{Controller: c.conf.Controller, Model: st.UUID()})
			if err != nil {
				return err
			}
			config := c.options.Provisioner
			config.API, config.Environ, config.AgentConfig = client.ProvisionerFacade{Caller: conn}, environ, c.agentConfig(st)
			config.Tools = c.tools(st)
			return provisioner.New(config)(ctx)
		}),
		"storageprovisioner": c.connected(st, func(ctx context.Context, conn *client.Conn) error {
			environ, err := open(ctx, provider.Config{Controller: c.conf.Controller, Model: st.UUID()})
			if err != nil {
				return err
			}
			return storageprovisioner.New(storageprovisioner.Config{API: client.StorageProvisionerFacade{Caller: conn},
				Cloud: environ})(ctx)
		}),
		"firewaller": c.connected(st, func(ctx context.Context, conn *client.Conn) error {
			environ, err := open(ctx, provider.Config{Controller: c.conf.Controller, Model: st.UUID()})
			if err != nil {
				return err
			}
			return firewaller.New(firewaller.Config{API: client.FirewallerFacade{Caller: conn}, Cloud: environ})(ctx)
		}),
		"minunits": c.connected(st, func(ctx context.Context, conn *client.Conn) error {
			return minunits.New(minunits.Config{API: client.ApplicationScalerFacade{Caller: conn}})(ctx)
		}),
		"cleaner": cleaner.New(cleaner.Config{API: st.Cleaner()}),
		"undertaker": func(ctx context.Context) error {
			return worker.Notify(ctx, st.Watches().End, func(ctx context.Context) error { return c.endModel(ctx, st) })
		},
		"resumer": resumer.New(resumer.Config{API: st.Transactions()}),
		"pruner":  pruner.New(pruner.Config{API: st.Transactions(), Age: c.options.PruneAge}),
		"task pruner": func(ctx context.Context) error {
			return worker.Every(ctx, pruneTasks, func(ctx context.Context) error {
				_, err := st.Tasks().Prune(ctx)
				return err
			})
		},
		"upload pruner": func(ctx context.Context) error {
			return worker.Every(ctx, pruneUploads, st.Resources().Prune)
		},
	}
	if st.UUID() == c.conf.Model {
		// This process is the agent of its own machine.
		workers["machiner"] = c.connected(st, func(ctx context.Context, conn *client.Conn) error {
			return machiner.New(machiner.Config{API: client.MachinerFacade{Caller: conn}, Machine: entity.MachineTag("0"),
				Addresses: c.addresses, Configured: c.options.Configured})(ctx)
		})
	}
	return workers
}

// addresses returns the addresses of the controller's own machine.
func (c *running) addresses() ([]string, error) { return c.conf.hosts() }

// connected returns a worker that uses a model's API like any agent, but over an in-memory connection.
func (c *running) connected(st *state.State, work func(context.Context, *client.Conn) error) worker.Func {
	return func(ctx context.Context) error {
		conn, err := client.Dial(ctx, client.Info{Dial: c.server.Dial, Model: st.UUID(),
			Tag: entity.MachineTag("0"), Password: c.conf.Password, Nonce: state.ManagerNonce})
		if err != nil {
			return err
		}
		defer conn.Close()
		ctx, cancel := conn.During(ctx)
		defer cancel()
		return work(ctx, conn)
	}
}

// hookLock returns the lock file that serializes the hooks of all machines, if the machines share an
// operating system; "" if each has its own.
func (c *running) hookLock() string {
	if c.conf.Cloud == localCloud {
		return filepath.Join(c.dir, "hooks.lock")
	}
	return ""
}

// logDir returns the directory on a machine with links to the logs of its agents, or "" if machines have none.
func (c *running) logDir() string {
	if c.conf.Cloud == localCloud {
		return ""
	}
	return install.LogDir
}

// sshUser returns the user that people log in to a machine as, or "" if Juju manages none.
func (c *running) sshUser(m entity.MachineInfo) string {
	if c.conf.Cloud == lxdCloud && !m.IsManual() {
		return install.User
	}
	return ""
}

// agentConfig returns a function that creates the initial configuration file of a machine's agent.
func (c *running) agentConfig(st *state.State) func(entity.MachineInfo, string, string) ([]byte, error) {
	return func(m entity.MachineInfo, password, nonce string) ([]byte, error) {
		return agent.Config{
			Tag: entity.MachineTag(m.ID), Password: password, Nonce: nonce,
			Controller: c.conf.Controller, Model: st.UUID(), ModelName: st.Name(),
			Addresses: c.conf.addresses(), CACert: c.conf.CA.Cert, HookLock: c.hookLock(), SSHUser: c.sshUser(m),
			Manual: m.IsManual(), LogDir: c.logDir(), OwnHost: c.conf.Cloud == lxdCloud,
		}.Marshal()
	}
}
