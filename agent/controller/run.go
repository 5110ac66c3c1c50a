package controller

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"sync"
	"time"

	"github.com/juju/loggo"

	"juju/agent"
	"juju/agent/binaries"
	"juju/agent/host/process"
	"juju/apiserver"
	"juju/apiserver/facades"
	"juju/apiserver/logs"
	"juju/provider"
	"juju/provider/local"
	"juju/provider/lxd"
	"juju/state/constraints"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/modelconfig"
	"juju/state/mongo"
	"juju/worker"
	"juju/worker/provisioner"
	"juju/worker/pruner"
	"juju/worker/resumer"
)

var logger = loggo.GetLogger("juju.controller")

const (
	retryDelay = 3 * time.Second // before a failed worker is restarted
	logShare   = 20 << 20        // bytes of one model's log
)

// Options change what a controller does, mainly for tests. The zero value is the default.
type Options struct {
	State    controller.Options
	Store    mongo.Options
	PruneAge time.Duration // of finished transactions; an hour if zero
	// Retry is the maximum pause before the removal of a model is retried; ten seconds if zero.
	Retry time.Duration
	// Open opens a model's cloud; if nil, the one in the configuration is used.
	Open provider.Open
	// Configured is called with the settings of the controller's own model initially and when they may have
	// changed. It may be nil.
	Configured func(modelconfig.Config)
	// Provisioner has the provisioners' intervals; its other fields are ignored.
	Provisioner provisioner.Config
	// Binaries has the options of upgrades.
	Binaries binaries.Options
}

// Run runs the controller in the cloud's directory dir until ctx is done. It fails if another process is
// running it.
func Run(ctx context.Context, dir string, o Options) error {
	own := local.ControllerDir(dir)
	conf, err := readConfig(own)
	if err != nil {
		return err
	}
	held, err := process.HoldStarting(own)
	if err != nil {
		return fmt.Errorf("cannot run the controller: %w", err)
	}
	// The hold is never released, because the next controller must not start before this process has exited.
	c := &running{dir: dir, own: own, conf: conf, options: o, ready: held.Ready, upgrades: upgradesIn(dir, o)}
	ctx, c.restart = context.WithCancelCause(ctx)
	defer c.restart(nil)
	go func() {
		if err := held.AwaitRemoval(ctx); errors.Is(err, process.ErrRemoved) {
			logger.Errorf("the controller ends: %v", err)
			c.restart(err)
		}
	}()
	err = c.run(ctx)
	if cause := context.Cause(ctx); errors.Is(cause, process.ErrRemoved) {
		return fmt.Errorf("the controller ends: %w", cause)
	}
	if errors.Is(context.Cause(ctx), errUpgraded) {
		logger.Infof("%v", errUpgraded)
		return nil // whatever started this process restarts it
	}
	return c.goBack(ctx, err)
}

// A running is the controller that runs in this process.
type running struct {
	dir     string // the cloud's directory
	own     string // the controller's own directory, below it
	conf    config
	options Options
	ready   func()

	failures failures
	upgrades binaries.Dir
	restart  context.CancelCauseFunc // with errUpgraded or process.ErrRemoved
	binaries *facades.Binaries       // that machines download; nil if they share this host's

	store  *mongo.Store
	ctrl   *controller.Controller
	logs   *logs.Store
	server *apiserver.Server

	backingUp sync.Mutex // held while a backup is being made
}

func (c *running) run(ctx context.Context) (err error) {
	defer func() {
		if ctx.Err() != nil && errors.Is(err, context.Canceled) {
			err = nil // it was stopped while it started
		}
	}()
	if c.store, err = openStore(ctx, c.own, c.options); err != nil {
		return err
	}
	defer c.store.Close()
	if c.logs, err = logs.Open(filepath.Join(c.own, "logs"), logShare); err != nil {
		return err
	}
	defer c.logs.Close()
	if err := loggo.RegisterWriter("store", logWriter{c.logs, c.conf.Model}); err == nil {
		defer loggo.RemoveWriter("store")
	}
	sayLast(c.own)
	// This also upgrades the stored data of an older version, before any request is served.
	if c.ctrl, err = controller.Open(ctx, c.store, c.options.State); err != nil {
		return err
	}
	defer c.ctrl.Close()
	l, err := net.Listen("tcp", c.conf.Address)
	if err != nil {
		return entity.WithHint(fmt.Errorf("cannot serve the API: %w", err),
			"The port was chosen at bootstrap, and agents look for the controller there. "+
				"Find out who has taken it: ss -ltnp 'sport = :%s'\n"+
				"When that has ended, run the command again.", port(c.conf.Address))
	}
	open, cloudWorker, err := c.cloud()
	if err == nil {
		err = c.packBinaries()
	}
	if err == nil {
		err = c.newServer(ctx, open)
	}
	if err != nil {
		l.Close()
		return err
	}
	workers := map[string]worker.Func{
		"api server": func(ctx context.Context) error {
			err := c.server.Serve(ctx, l)
			if ctx.Err() != nil {
				return err
			}
			// Nothing works without the API server, so the controller stops with it.
			return fmt.Errorf("%w: the API server ended: %w", worker.ErrFatal, err)
		},
		"models":                  c.models(open),
		"models on their way out": c.resumeModels(open),
		"resumer":                 resumer.New(resumer.Config{API: c.ctrl}),
		"pruner":                  pruner.New(pruner.Config{API: c.ctrl, Age: c.options.PruneAge}),
	}
	if cloudWorker != nil {
		workers["cloud"] = cloudWorker
	}
	logger.Infof("the controller serves at %s", c.conf.Address)
	c.ready()
	if err := c.confirm(ctx); err != nil {
		return err
	}
	if err := worker.Run(worker.WithFailures(ctx, c.failures.of("")), retryDelay, workers); ctx.Err() == nil {
		return err
	}
	return nil
}

func port(address string) string {
	_, port, _ := net.SplitHostPort(address)
	return port
}

func (c *running) newServer(ctx context.Context, open provider.Open) error {
	tls, err := apiserver.TLSConfig(c.conf.Server)
	if err != nil {
		return err
	}
	var manual facades.ManualHosts
	if c.hasTools() {
		manual = manualHosts{c}
	}
	c.server, err = apiserver.New(ctx, apiserver.Config{
		TLS: tls, Logs: c.logs, Addresses: c.conf.addresses, TempDir: c.own,
		Config: facades.Config{
			Controller: c.ctrl, Version: agent.Version, Commit: agent.BuiltFrom(), Series: c.conf.Series,
			Binaries: c.binaries, Upgrades: &upgrades{running: c}, Backups: backups{c}, ManualHosts: manual, Failures: c.failures.list,
			Cloud: func(ctx context.Context, model string) (facades.Cloud, error) {
				environ, err := open(ctx, provider.Config{Controller: c.conf.Controller, Model: model})
				return cloud{environ}, err
			},
		},
	})
	return err
}

// A cloud adapts a model's cloud to facades.Cloud.
type cloud struct{ provider.Environ }

// Precheck implements facades.Cloud.
func (c cloud) Precheck(ctx context.Context, series string, constraints constraints.Value, at facades.Place) error {
	return c.PrecheckInstance(ctx, provider.PrecheckParams{Series: series, Constraints: constraints,
		Placement: at.Placement, Container: at.Container})
}

// InstancesOf implements facades.Cloud.
func (c cloud) InstancesOf(ctx context.Context) ([]facades.CloudInstance, error) {
	all, err := c.Instances(ctx)
	instances := make([]facades.CloudInstance, len(all))
	for i, in := range all {
		instances[i] = facades.CloudInstance{ID: in.ID, Machine: in.MachineID}
	}
	return instances, err
}

// IsAttached implements facades.Cloud.
func (c cloud) IsAttached(ctx context.Context, a entity.Attached) (bool, error) {
	return c.IsFilesystemAttached(ctx, attachmentOf(a))
}

// Detach implements facades.Cloud.
func (c cloud) Detach(ctx context.Context, a entity.Attached) error {
	return c.DetachFilesystem(ctx, attachmentOf(a))
}

// Import implements facades.Cloud.
func (c cloud) Import(
	ctx context.Context, filesystem, storage string, pool entity.StoragePool,
) (entity.Filesystem, error) {
	return c.ImportFilesystem(ctx, provider.ImportParams{ID: filesystem, Storage: storage, Pool: pool})
}

func attachmentOf(a entity.Attached) provider.AttachmentParams {
	return provider.AttachmentParams{Filesystem: a.Filesystem, Instance: a.Instance, Mount: a.Mount}
}

// cloud returns a function that opens a model's cloud, and a worker that the cloud needs, or nil.
func (c *running) cloud() (provider.Open, worker.Func, error) {
	if c.options.Open != nil {
		return c.options.Open, nil, nil
	}
	switch c.conf.Cloud {
	case localCloud:
		dir, err := programDir()
		if err != nil {
			return nil, nil, err
		}
		cloud, err := local.New(local.Config{Dir: c.dir, Controller: c.conf.Controller,
			MachineAgent: filepath.Join(dir, "machine-agent")})
		if err != nil {
			return nil, nil, err
		}
		return cloud.Open, cloud.Supervise, nil
	case lxdCloud:
		if c.conf.LXD == nil {
			return nil, nil, entity.Errorf(entity.Invalid, "cannot use LXD: the controller's configuration does not name it")
		}
		config := *c.conf.LXD
		config.Controller = c.conf.Controller
		cloud, err := lxd.New(config)
		if err != nil {
			return nil, nil, err
		}
		return cloud.Open, nil, nil
	}
	return nil, nil, entity.Errorf(entity.NotSupported, "cannot run on cloud %q: it is not known", c.conf.Cloud)
}

// programDir returns the directory of this binary and the agent binaries.
func programDir() (string, error) {
	dir, err := binaries.OwnDir()
	if err != nil {
		return "", fmt.Errorf("cannot find the agent binaries: %w", err)
	}
	return dir, nil
}
