package provisioner

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"

	"github.com/juju/loggo"

	"juju/provider"
	"juju/state/entity"
	"juju/state/modelconfig"
	"juju/worker"
)

var logger = loggo.GetLogger("juju.worker.provisioner")

// Environ is what a provisioner needs of a cloud. A provider.Environ implements it.
type Environ interface {
	StartInstance(ctx context.Context, params provider.StartParams) (provider.Instance, error)
	StopInstances(ctx context.Context, ids ...string) error
	Instances(ctx context.Context) ([]provider.Instance, error)
	Zones(ctx context.Context, params provider.PrecheckParams) ([]string, error)
}

// Config is what a provisioner needs. A zero field with a default takes the default.
type Config struct {
	API     API
	Environ Environ
	// AgentConfig returns the configuration file with which the machine's agent starts.
	AgentConfig func(machine entity.MachineInfo, password, nonce string) ([]byte, error)
	// Tools returns the programs of agents, by architecture, for clouds whose instances download them;
	// nil where none do.
	Tools func(context.Context) (map[string]provider.Tools, error)

	Parallel int           // how many instances are started at once, and how many are stopped; default 16
	Attempts int           // how often a start that fails with a retryable error is tried; default 10
	Pause    time.Duration // between those attempts; default 10 s
	Retry    time.Duration // until a machine that failed is tried again; default 30 s
	Look     time.Duration // between two looks at the cloud's instances; default 2 min
	Poll     time.Duration // until the first look after that, when a machine has no address or has not started; default 1 s
	Sure     time.Duration // how long an instance must be missing before it counts as lost; default 1 min
}

// New returns the provisioner of one model.
func New(config Config) worker.Func {
	config.Parallel = cmp.Or(config.Parallel, 16)
	config.Attempts = cmp.Or(config.Attempts, 10)
	config.Pause = cmp.Or(config.Pause, 10*time.Second)
	config.Retry = cmp.Or(config.Retry, 30*time.Second)
	config.Look = cmp.Or(config.Look, 2*time.Minute)
	config.Poll = cmp.Or(config.Poll, time.Second)
	config.Sure = cmp.Or(config.Sure, time.Minute)
	return func(ctx context.Context) error {
		ctx, cancel := context.WithCancel(ctx)
		p := &provisioner{
			Config:   config,
			starts:   make(slots, config.Parallel),
			stops:    make(slots, config.Parallel),
			done:     make(chan tended),
			busy:     map[string]*tending{},
			looked:   make(chan looked),
			homeless: make(chan struct{}, 1),
			stopping: map[string]bool{},
			stopped:  make(chan stopped),
			stuck:    map[string]error{},
			missed:   map[string]missing{},
			kept:     map[string]bool{},
			zones:    zones{starts: map[string]zoneStart{}},
		}
		defer func() {
			cancel()
			for range p.busy {
				<-p.done
			}
			if p.looking {
				<-p.looked
			}
			for range p.stopping {
				<-p.stopped
			}
		}()
		return p.loop(ctx)
	}
}

// A provisioner's loop owns its fields. Slow work runs in goroutines: at most one for each
// machine, one for each stray, and one that looks at the cloud.
type provisioner struct {
	Config
	// A start may take minutes, or wait for room on a disk that only a stop can make: they don't wait for
	// each other.
	starts, stops slots

	done chan tended
	busy map[string]*tending // machines that have a goroutine

	model atomic.Pointer[modelconfig.Config] // the model's settings when the loop last read them

	looked  chan looked
	looking bool  // a look is running
	soon    bool  // it must be followed by another
	failed  error // of the last

	stopping map[string]bool // strays that are being stopped
	stopped  chan stopped
	stuck    map[string]error // strays that could not be stopped the last time

	// The next five belong to the look that runs.
	missed    map[string]missing
	observed  map[string]observed // what is recorded of the machines' instances
	unsettled []string            // machines that the last look was followed by another for
	poll      time.Duration       // which was so much later; 0 if it was not
	wait      time.Duration       // after a look that failed; 0 if it did not
	homeless  chan struct{}       // a machine's instance was started that has no address yet
	kept      map[string]bool     // strays that the harvest mode keeps, already logged

	zones zones
}

// slots bound how much is done at once. What has waited longest is next.
type slots chan struct{}

func (s slots) do(ctx context.Context, what func() error) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case s <- struct{}{}:
	}
	defer func() { <-s }()
	return what()
}

// tending is a machine's goroutine, as the loop sees it.
type tending struct {
	again bool          // another round when it has ended
	wake  chan struct{} // cuts its pause short
}

// tended is what a machine's goroutine reports when it ends.
type tended struct {
	machine string
	stray   bool // the machine is gone, and its instance may still run
}

func (p *provisioner) loop(ctx context.Context) error {
	config, err := p.API.WatchForModelConfigChanges(ctx)
	if err != nil {
		return err
	}
	if err := p.readConfig(ctx); err != nil {
		return err
	}
	agents, err := p.API.WatchAgents(ctx)
	if err != nil {
		return err
	}
	events, err := p.API.WatchMachines(ctx)
	if err != nil {
		return err
	}
	first := true
	var next <-chan time.Time // fires when the cloud is to be looked at
	for {
		var ids []string
		var halfMade map[string]bool
		news := false // the watch has named these
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case changed, ok := <-events:
			if !ok {
				return worker.Ended(ctx)
			}
			// A stray can be told only now that all machines are known.
			if first {
				if halfMade, err = p.firstLook(ctx); err != nil {
					return err
				}
				first = false
			}
			ids, news = changed, true
		case _, ok := <-agents:
			if !ok {
				return worker.Ended(ctx)
			}
			// Its instance may be gone too.
			if !first {
				p.lookNow(ctx)
			}
		case _, ok := <-config:
			if !ok {
				return worker.Ended(ctx)
			}
			before := p.harvest()
			if err := p.readConfig(ctx); err != nil {
				return err
			}
			if !first && p.harvest() != before {
				p.lookNow(ctx)
			}
		case t := <-p.done:
			if p.busy[t.machine].again {
				ids = []string{t.machine}
			}
			delete(p.busy, t.machine)
			p.wakeContainers(t.machine)
			if t.stray {
				p.lookNow(ctx)
			}
		case l := <-p.looked:
			p.looking, ids = false, l.machines
			p.hasLooked(ctx, l)
			if next = time.After(l.next); p.soon {
				p.lookNow(ctx)
			}
		case s := <-p.stopped:
			p.hasStopped(ctx, s)
		case <-p.homeless:
			if !first {
				p.lookNow(ctx)
			}
		case <-next:
			p.lookNow(ctx)
		}
		for _, id := range ids {
			p.attend(ctx, &tender{id: id, halfMade: halfMade[id]}, news)
		}
	}
}

// readConfig reads the model's settings.
func (p *provisioner) readConfig(ctx context.Context) error {
	config, err := p.API.ModelConfig(ctx)
	if err == nil {
		p.model.Store(&config)
	}
	return err
}

// harvest returns the model's harvest mode.
func (p *provisioner) harvest() string { return (*p.model.Load())[modelconfig.HarvestMode].Value }

// attend starts a goroutine for a machine. If there is one, it is told to look again, and with
// news also to cut its pause short.
func (p *provisioner) attend(ctx context.Context, t *tender, news bool) {
	if busy := p.busy[t.id]; busy != nil {
		busy.again = true
		if news {
			busy.wakeUp()
		}
		return
	}
	busy := &tending{wake: make(chan struct{}, 1)}
	p.busy[t.id] = busy
	go func() { p.done <- tended{t.id, p.tend(ctx, t, busy.wake)} }()
}

// wakeUp cuts the pause of a machine's goroutine short, or its next one.
func (t *tending) wakeUp() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}
