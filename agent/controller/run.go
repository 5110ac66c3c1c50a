package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/juju/loggo"

	"juju/agent"
	"juju/agent/binaries"
	"juju/agent/controller/clouds"
	"juju/agent/controller/metrics"
	"juju/agent/controller/rehearsal"
	"juju/agent/host/process"
	"juju/apiserver"
	"juju/apiserver/facades"
	"juju/apiserver/logs"
	"juju/provider"
	"juju/provider/local"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/modelconfig"
	"juju/state/mongo"
	"juju/state/tracing/export"
	"juju/worker"
	"juju/worker/leadership"
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
	// LeadTerm is for how long the lease on the workers that must run once is claimed; leadTerm if zero.
	LeadTerm time.Duration
	// LogFormat is the format of the logs of new agents; that in the configuration if "".
	LogFormat entity.LogFormat
	// CommandLine is the program that runs command lines of users: see apiserver.Config.
	CommandLine []string
	// Node is the controller's own directory, if it is not the one below the cloud's.
	Node string
}

// Run runs the controller in the cloud's directory dir until ctx is done. It fails if another process is
// running it.
func Run(ctx context.Context, dir string, o Options) error {
	own := ownDir(dir, o.Node)
	conf, err := readConfig(own)
	if err == nil {
		err = conf.complete(os.Getenv(local.AddressVariable))
		conf.LogFormat = cmp.Or(o.LogFormat, conf.LogFormat)
	}
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
	if errors.Is(err, worker.ErrTerminateAgent) {
		logger.Infof("this controller ends for good: %v", err)
		return process.MarkEnded(own, err.Error())
	}
	if errors.Is(context.Cause(ctx), errUpgraded) {
		logger.Infof("%v", errUpgraded)
		return nil // whatever started this process restarts it
	}
	return c.goBack(ctx, err)
}

// ownDir returns the directory of the controller in the cloud's directory dir; node is Options.Node.
func ownDir(dir, node string) string { return cmp.Or(node, local.ControllerDir(dir)) }

// A running is the controller that runs in this process.
type running struct {
	dir     string // the cloud's directory
	own     string // the controller's own directory, below it
	conf    config
	options Options
	ready   func() // may be called more than once

	failures failures
	upgrades binaries.Dir
	restart  context.CancelCauseFunc // with errUpgraded or process.ErrRemoved
	binaries *facades.Binaries       // that machines download; nil if they share this host's

	replacing *upgrades  // replaces this controller's binaries
	fetching  sync.Mutex // held while an archive is copied from the store

	store   *mongo.Store
	ctrl    *controller.Controller
	lead    *lead       // nil if no other controller can share the store
	members *membership // as lead
	logs    *logs.Store
	server  *apiserver.Server
	cloud   *clouds.Cloud
	metrics *metrics.Metrics
	traces  *export.Provider // nil if there are none

	backingUp sync.Mutex // held while a backup is being made
}

func (c *running) run(ctx context.Context) (err error) {
	defer func() {
		if ctx.Err() != nil && errors.Is(err, context.Canceled) {
			err = nil // it was stopped while it started
		}
	}()
	c.metrics = c.newMetrics()
	c.options.Store.Meter = c.metrics
	if c.traces, err = c.export(ctx); err != nil {
		logger.Errorf("the controller has no traces: %v", err)
	}
	defer c.traces.Close()
	c.options.Store.Traces = c.traces != nil
	if c.store, err = openStore(ctx, c.own, c.conf.MongoURL, c.options); err != nil {
		return err
	}
	defer c.store.Close()
	if c.logs, err = logs.Open(filepath.Join(c.own, "logs"), logShare); err != nil {
		return err
	}
	defer c.logs.Close()
	if err := loggo.RegisterWriter("store", logWriter{c.logs, c.conf.Model, c.conf.machine()}); err == nil {
		defer loggo.RemoveWriter("store")
	}
	sayLast(c.own)
	if c.ctrl, err = controller.Attach(ctx, c.store, c.options.State); err != nil {
		return err
	}
	defer c.ctrl.Close()
	c.replacing = &upgrades{running: c}
	if c.store.Shareable() {
		c.lead, c.members = newLead(), &membership{running: c}
		c.store.Guard(c.members.steady)
		if err := c.agree(ctx); err != nil {
			return err
		}
	}
	if err := c.useSecretKey(ctx); err != nil {
		return err
	}
	// This upgrades the stored data of an older version, before any request is served.
	if err := c.ctrl.Upgrade(ctx); err != nil {
		return err
	}
	l, err := listen(ctx, c.conf.Address)
	if err != nil {
		return entity.WithHint(fmt.Errorf("cannot serve the API: %w", err),
			"The port was chosen at bootstrap, and agents look for the controller there. "+
				"Find out who has taken it: ss -ltnp 'sport = :%s'\n"+
				"When that has ended, run the command again.", port(c.conf.Address))
	}
	err = c.openCloud(ctx)
	if err == nil {
		err = c.packBinaries()
	}
	var open provider.Open
	if err == nil {
		open = c.metrics.Open(c.cloud.Open)
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
		"models":   c.models(open),
		"machiner": c.machiner,
	}
	if c.cloud.Follow != nil {
		workers["credential"] = c.cloud.Follow
	}
	singular := c.singularWorkers(open)
	workers["singular"] = c.singly(nil, func(ctx context.Context) error { return worker.Run(ctx, retryDelay, singular) })
	if c.lead != nil {
		defer c.share(workers)(ctx)
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

// export begins to export the controller's spans, if its configuration says where to.
func (c *running) export(ctx context.Context) (*export.Provider, error) {
	return export.New(ctx, c.conf.Tracing, export.Source{Service: "jujud", Instance: c.conf.Controller + "/" + c.conf.machine(), Version: agent.Version})
}

// singularWorkers returns the workers for the controller itself of which one controller runs each.
func (c *running) singularWorkers(open provider.Open) map[string]worker.Func {
	workers := map[string]worker.Func{
		"models on their way out": c.resumeModels(open),
		"pruner":                  pruner.New(pruner.Config{API: c.ctrl, Age: c.options.PruneAge}),
	}
	if c.store.LeavesTransactions() {
		workers["resumer"] = resumer.New(resumer.Config{API: c.ctrl})
	}
	if c.cloud.Worker != nil {
		workers["cloud"] = c.cloud.Worker
	}
	if c.lead != nil {
		workers["controllers"] = c.dropNodes()
	}
	return workers
}

// share adds the workers that a controller needs to share its store. release must be called when all workers have ended:
// another controller can then run the singular ones at once.
func (c *running) share(workers map[string]worker.Func) (release func(context.Context)) {
	claims := &sync.WaitGroup{}
	tracker := leadership.NewTracker(leadClaim{c, claims}, entity.MachineTag(c.conf.machine()),
		cmp.Or(c.options.LeadTerm, leadTerm))
	workers["lead"] = c.claimLead(tracker)
	workers["node"] = c.join()
	workers["upgrade"] = c.takeTurns()
	workers["presence"] = c.sharePresence()
	workers["agents"] = c.sendAway()
	workers["api addresses"] = c.members.followAddresses()
	return func(ctx context.Context) {
		claims.Wait()
		tracker.Release(ctx)
	}
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
	var controllers facades.Controllers
	var otherLogs func(context.Context, string) []logs.Source
	var steady func(context.Context) error
	if c.members != nil {
		controllers, otherLogs, steady = c.members, c.members.logs, c.members.steady
	}
	c.server, err = apiserver.New(ctx, apiserver.Config{
		TLS: tls, Logs: c.logs, OtherLogs: otherLogs, Steady: steady, Addresses: c.apiAddresses, TempDir: c.own,
		Restored: c.conf.Restored, CommandLine: c.options.CommandLine, Metrics: c.metrics.Handler(), Tracer: c.traces.Tracer(),
		Config: facades.Config{
			Meter: c.metrics, Controller: c.ctrl, Version: agent.Version, Commit: agent.BuiltFrom(), Series: c.conf.Series,
			Binaries: c.binaries, Upgrades: c.replacing, Backups: backups{c}, Plans: &rehearsal.Stage{Store: c.store, Controller: c.ctrl, Temp: c.own}, Controllers: controllers, ManualHosts: manual, Failures: c.workerFailures,
			CloudSpec: c.conf.cloudSpec(), CredentialName: c.conf.CredentialName, CheckCredential: c.checkCredential, Settings: c.conf.settings(),
			API: func() ([]string, string) { return c.apiAddresses(), c.conf.CA.Cert }, Reach: reachSecrets,
			Cloud: func(ctx context.Context, model string) (facades.Cloud, error) {
				environ, err := c.openModel(ctx, open, model)
				return clouds.Facade(environ), err
			},
		},
	})
	return err
}

// workerFailures returns which workers for a model, or for "" for all models, keep failing: here, or where the controller
// that runs them is.
func (c *running) workerFailures(model string) []entity.WorkerFailure {
	all := c.failures.list(model)
	if c.members != nil {
		all = append(all, c.members.failures(model)...)
	}
	return all
}

// apiAddresses returns the addresses of the APIs of all controllers, those of this one first.
func (c *running) apiAddresses() []string {
	if c.members == nil {
		return c.conf.addresses()
	}
	return c.members.Addresses()
}

// openCloud opens the cloud of the controller.
func (c *running) openCloud(ctx context.Context) (err error) {
	if c.cloud = (&clouds.Cloud{Open: c.options.Open}); c.cloud.Open == nil {
		c.cloud, err = c.conf.kind().Open(ctx, clouds.Controller{UUID: c.conf.Controller, Dir: c.dir, Access: c.access,
			WatchCredentials: c.ctrl.WatchCloudCredentials})
	}
	return err
}

// sayLast logs that the previous controller process was killed, which it could not log itself.
func sayLast(own string) {
	if how, _ := process.Killed(own); how != "" {
		logger.Errorf("the previous controller process: %s", how)
	}
}
