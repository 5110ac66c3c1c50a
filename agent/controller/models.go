package controller

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"juju/agent"
	"juju/agent/host/process"
	"juju/agent/install"
	"juju/agent/storeconf"
	"juju/apiserver/client"
	"juju/provider"
	"juju/provider/local"
	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/worker"
	"juju/worker/cleaner"
	"juju/worker/firewaller"
	"juju/worker/instancemutater"
	"juju/worker/machiner"
	"juju/worker/minunits"
	"juju/worker/provisioner"
	"juju/worker/pruner"
	"juju/worker/remoterelations"
	"juju/worker/resumer"
	"juju/worker/rollouts"
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
		ctx, end := endsWith(ctx, st.Done())
		defer end()
		defer c.failures.forget(id)
		err = c.modelWorkers(st, open)(worker.WithFailures(ctx, c.failures.of(id)))
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
}

// endsWith returns a context that also ends when a channel is closed. end ends it in any case, and must be called.
func endsWith(ctx context.Context, closed <-chan struct{}) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-closed:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		cancel()
		<-ended
	}
}

// The intervals at which expired tasks and uploads are removed.
const (
	pruneTasks   = time.Hour
	pruneUploads = time.Hour
	pruneGrants  = time.Hour
)

// secretsAgain is how long at most the clock is not looked at for secrets that are to be rotated: it may be set, or go on while
// the host sleeps.
const secretsAgain = 5 * time.Minute

// modelWorkers returns the worker that runs the workers of one model. Only one of the controllers that share a store does.
func (c *running) modelWorkers(st *state.State, open provider.Open) worker.Func {
	workers := map[string]worker.Func{
		"provisioner": c.inCloud(st, open, func(ctx context.Context, conn *client.Conn, environ provider.Environ) error {
			config := c.options.Provisioner
			config.API, config.Environ, config.AgentConfig = client.ProvisionerFacade{Caller: conn}, environ, c.agentConfig(st)
			config.Tools, config.Tracer = c.tools(st), c.traces.Tracer()
			return provisioner.New(config)(ctx)
		}),
		"storageprovisioner": c.inCloud(st, open, func(ctx context.Context, conn *client.Conn, environ provider.Environ) error {
			return storageprovisioner.New(storageprovisioner.Config{API: client.StorageProvisionerFacade{Caller: conn},
				Cloud: environ})(ctx)
		}),
		"firewaller": c.inCloud(st, open, func(ctx context.Context, conn *client.Conn, environ provider.Environ) error {
			return firewaller.New(firewaller.Config{API: client.FirewallerFacade{Caller: conn}, Cloud: environ})(ctx)
		}),
		"instancemutater": c.inCloud(st, open, func(ctx context.Context, conn *client.Conn, environ provider.Environ) error {
			profiler := environ.Profiler()
			if profiler == nil {
				<-ctx.Done()
				return context.Cause(ctx)
			}
			return instancemutater.New(instancemutater.Config{API: client.InstanceMutaterFacade{Caller: conn}, Cloud: profiler})(ctx)
		}),
		"minunits": c.connected(st, func(ctx context.Context, conn *client.Conn) error {
			return minunits.New(minunits.Config{API: client.ApplicationScalerFacade{Caller: conn}})(ctx)
		}),
		"rollouts": c.connected(st, func(ctx context.Context, conn *client.Conn) error {
			return rollouts.New(rollouts.Config{API: client.RolloutsFacade{Caller: conn}})(ctx)
		}),
		"cleaner": cleaner.New(cleaner.Config{API: st.Cleaner()}),
		"secrets": func(ctx context.Context) error {
			return worker.NotifyAgain(ctx, st.Secrets().WatchSecrets, func(ctx context.Context) (time.Duration, error) {
				again, err := st.Secrets().Due(ctx)
				return min(again, secretsAgain), err
			})
		},
		"undertaker": func(ctx context.Context) error {
			return worker.Notify(ctx, st.Watches().End, func(ctx context.Context) error { return c.endModel(ctx, st) })
		},
		"remoterelations": remoterelations.New(remoterelations.Config{UUID: st.UUID(), Model: sharing{st.CrossModel(), c.ctrl, st},
			Open: func(ctx context.Context, uuid string) (remoterelations.Model, error) {
				other, err := c.ctrl.Model(ctx, uuid)
				if err != nil {
					return nil, err
				}
				return sharing{other.CrossModel(), c.ctrl, other}, nil
			},
			Reach: reachOffer, Retry: time.Second}),
		"pruner": pruner.New(pruner.Config{API: st.Transactions(), Age: c.options.PruneAge}),
		"task pruner": func(ctx context.Context) error {
			return worker.Every(ctx, pruneTasks, func(ctx context.Context) error {
				_, err := st.Tasks().Prune(ctx)
				return err
			})
		},
		"offer pruner": func(ctx context.Context) error {
			return worker.Every(ctx, pruneGrants, func(ctx context.Context) error { return c.pruneOffers(ctx, st) })
		},
		"upload pruner": func(ctx context.Context) error {
			return worker.Every(ctx, pruneUploads, st.Resources().Prune)
		},
	}
	if c.store.LeavesTransactions() {
		workers["resumer"] = resumer.New(resumer.Config{API: st.Transactions()})
	}
	return c.singly(st, func(ctx context.Context) error { return worker.Run(ctx, retryDelay, workers) })
}

// A sharing is a model as the remoterelations worker sees it. It checks that who consumed an offer still may.
type sharing struct {
	state.CrossModel
	ctrl *controller.Controller
	st   *state.State
}

// Connect implements remoterelations.Model.
func (s sharing) Connect(ctx context.Context, model string, c entity.Connection) error {
	may, err := s.MayConsume(ctx, c)
	if err != nil {
		return err
	}
	if !may {
		return entity.Errorf(entity.Unauthorized, "%s may not consume the offer", entity.UserOf(c.User))
	}
	return s.CrossModel.Connect(ctx, model, c)
}

// WatchUsers implements remoterelations.Model.
func (s sharing) WatchUsers(ctx context.Context) (<-chan struct{}, error) {
	return s.ctrl.WatchUsers(ctx), nil
}

// MayConsume implements remoterelations.Model.
func (s sharing) MayConsume(ctx context.Context, c entity.Connection) (bool, error) {
	return s.ctrl.MayConsume(ctx, c.User, s.st.UUID(), c.Offer)
}

// pruneOffers removes the access to offers of a model that are gone: the cleaner destroys them without knowing of it.
func (c *running) pruneOffers(ctx context.Context, st *state.State) error {
	granted, err := c.ctrl.GrantedOffers(ctx, st.UUID())
	if err != nil || len(granted) == 0 {
		return err
	}
	offers, err := st.CrossModel().Offers(ctx)
	if err != nil {
		return err
	}
	for _, uuid := range granted {
		if slices.ContainsFunc(offers, func(o entity.Offer) bool { return o.UUID == uuid }) {
			continue
		}
		if err := c.ctrl.DropOffer(ctx, uuid); err != nil {
			return err
		}
	}
	return nil
}

// machiner returns the worker for the controller's own machine, whose agent is this process.
func (c *running) machiner(ctx context.Context) error {
	st, err := c.ctrl.Model(ctx, c.conf.Model)
	if entity.IsNotFound(err) {
		return nil // the controller is being destroyed
	} else if err != nil {
		return err
	}
	work := c.connected(st, func(ctx context.Context, conn *client.Conn) error {
		api, tag := client.MachinerFacade{Caller: conn}, entity.MachineTag(c.conf.machine())
		return worker.Run(ctx, retryDelay, map[string]worker.Func{
			"machiner": machiner.New(machiner.Config{API: api, Machine: tag, Addresses: c.addresses, Configured: c.options.Configured}),
			"disk":     machiner.WatchDisk(api, tag, local.ControllerDir(c.dir), process.Room),
		})
	})
	for {
		// Like any agent, it may start shortly before its machine's instance is recorded.
		err := work(ctx)
		if !errors.Is(err, entity.NotProvisioned) {
			return err
		}
		select {
		case <-time.After(firstRetry):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// addresses returns the addresses of the controller's own machine.
func (c *running) addresses() ([]string, error) { return c.conf.hosts() }

// connected returns a worker that uses a model's API like any agent, but over an in-memory connection.
func (c *running) connected(st *state.State, work func(context.Context, *client.Conn) error) worker.Func {
	return func(ctx context.Context) error {
		conn, err := client.Dial(ctx, client.Info{Dial: c.server.Dial, Model: st.UUID(),
			Tag: entity.MachineTag(c.conf.machine()), Password: c.conf.Password, Nonce: c.conf.nonce()})
		if err != nil {
			return err
		}
		defer conn.Close()
		ctx, cancel := conn.During(ctx)
		defer cancel()
		return work(ctx, conn)
	}
}

// hostLock returns the lock file for hooks of which the controller's host runs one at a time, if its machines share
// it; "" if each is a host of its own.
func (c *running) hostLock() string {
	if c.conf.kind().Machines().ShareHost {
		return filepath.Join(c.dir, "hooks.lock")
	}
	return ""
}

// logDir returns the directory on a machine with links to the logs of its agents, or "" if machines have none.
func (c *running) logDir() string {
	if c.conf.kind().Machines().ShareHost {
		return ""
	}
	return install.LogDir
}

// sshUser returns the user that people log in to a machine as, or "" if Juju manages none.
func (c *running) sshUser(m entity.MachineInfo) string {
	if c.conf.kind().Machines().OwnHost && !m.IsManual() {
		return install.User
	}
	return ""
}

// nodeConfig returns the configuration file of another controller, on a machine of the controller's model.
func (c *running) nodeConfig(m entity.MachineInfo, password, nonce string) ([]byte, error) {
	url := c.conf.MongoURL
	if own, err := storeconf.Read(c.own); err != nil {
		return nil, err
	} else if own != nil {
		url = own.URL
	}
	if url == "" {
		return nil, entity.Errorf(entity.NotSupported, "the store is embedded, so only this controller can use it")
	}
	return c.conf.ofNode(m.ID, password, nonce, url).marshal()
}

// agentConfig returns a function that creates the initial configuration file of a machine's agent.
func (c *running) agentConfig(st *state.State) func(entity.MachineInfo, string, string) ([]byte, error) {
	return func(m entity.MachineInfo, password, nonce string) ([]byte, error) {
		if m.Manager {
			return c.nodeConfig(m, password, nonce)
		}
		return agent.Config{
			Tag: entity.MachineTag(m.ID), Password: password, Nonce: nonce,
			Controller: c.conf.Controller, Model: st.UUID(), ModelName: st.Name(),
			Addresses: c.apiAddresses(), CACert: c.conf.CA.Cert, HostLock: c.hostLock(), SSHUser: c.sshUser(m),
			Manual: m.IsManual(), LogDir: c.logDir(), LogFormat: c.conf.LogFormat, Tracing: c.conf.Tracing, OwnHost: c.conf.kind().Machines().OwnHost,
		}.Marshal()
	}
}
