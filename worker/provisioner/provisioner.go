package provisioner

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"

	"github.com/juju/loggo"
	"go.opentelemetry.io/otel/trace"

	"juju/provider"
	"juju/state/entity"
	"juju/state/modelconfig"
	"juju/state/tracing"
	"juju/worker"
)

var logger = loggo.GetLogger("juju.worker.provisioner")

// Environ is what a provisioner needs of a cloud. A provider.Environ implements it.
type Environ interface {
	StartInstance(ctx context.Context, params provider.StartParams) (provider.Instance, error)
	StopInstances(ctx context.Context, ids ...string) error
	Instances(ctx context.Context) ([]provider.Instance, error)
	Zones(ctx context.Context, params provider.PrecheckParams) ([]string, error)
	Profiler() provider.Profiler
}

// Config is what a provisioner needs. A zero field with a default takes the default.
type Config struct {
	API     API
	Environ Environ
	// AgentConfig returns the initial configuration file of the machine's agent.
	AgentConfig func(machine entity.MachineInfo, password, nonce string) ([]byte, error)
	// Tools returns the agent binaries by architecture. It is nil for clouds whose instances don't download
	// them.
	Tools func(context.Context) (map[string]provider.Tools, error)
	// Tracer begins the spans of starts; nil for none.
	Tracer trace.Tracer

	Parallel     int           // how many instances are started at once, and how many are stopped; default 16
	Attempts     int           // how often to try a start that fails with a retryable error; default 10
	Pause        time.Duration // between those attempts; default 10 s
	Retry        time.Duration // until a failed machine is retried; default 30 s
	ScanInterval time.Duration // between scans of the cloud's instances; default 2 min
	Poll         time.Duration // initial interval while a machine has no address or has not started; default 1 s
	LostAfter    time.Duration // how long an instance must be missing to be treated as lost; default 1 min
}

// New returns the provisioner of one model.
func New(config Config) worker.Func {
	config.Parallel = cmp.Or(config.Parallel, 16)
	config.Attempts = cmp.Or(config.Attempts, 10)
	config.Pause = cmp.Or(config.Pause, 10*time.Second)
	config.Retry = cmp.Or(config.Retry, 30*time.Second)
	config.ScanInterval = cmp.Or(config.ScanInterval, 2*time.Minute)
	config.Poll = cmp.Or(config.Poll, time.Second)
	config.LostAfter = cmp.Or(config.LostAfter, time.Minute)
	return func(ctx context.Context) error {
		ctx, cancel := context.WithCancel(ctx)
		p := &provisioner{
			Config:      config,
			starts:      make(slots, config.Parallel),
			stops:       make(slots, config.Parallel),
			done:        make(chan handled),
			busy:        map[string]*activeHandler{},
			scanned:     make(chan scanResult),
			addressless: make(chan struct{}, 1),
			stopping:    map[string]bool{},
			stopped:     make(chan stopped),
			stuck:       map[string]error{},
			missed:      map[string]missing{},
			kept:        map[string]bool{},
			zones:       zones{starts: map[string]zoneStart{}},
		}
		p.work, ctx = tracing.NewWork(ctx, config.Tracer, nil)
		defer func() {
			cancel()
			for range p.busy {
				<-p.done
			}
			if p.scanning {
				<-p.scanned
			}
			for range p.stopping {
				<-p.stopped
			}
		}()
		return p.loop(ctx)
	}
}

// A provisioner's fields are owned by its loop. Slow work runs in goroutines: at most one for each machine,
// one for each stray, and one that scans the cloud.
type provisioner struct {
	Config
	// Starts and stops have separate slots: a start may take minutes, or wait for disk space that only a stop
	// can free.
	starts, stops slots

	done chan handled
	busy map[string]*activeHandler // machines that have a goroutine

	model atomic.Pointer[modelconfig.Config] // the model's settings when the loop last read them

	scanned  chan scanResult
	scanning bool  // a scan is running
	soon     bool  // another must follow it immediately
	failed   error // the error of the last scan

	stopping map[string]bool // strays that are being stopped
	stopped  chan stopped
	stuck    map[string]error // strays that could not be stopped the last time

	addressless chan struct{} // signalled when an instance without an address has started

	// The running scan owns these.
	missed    map[string]missing
	observed  map[string]observed // the last recorded observations, by machine
	unsettled []string            // the machines that the last scan found not settled
	poll      time.Duration       // the last interval because of them; 0 if there were none
	wait      time.Duration       // the last pause after a failed scan; 0 if it succeeded
	kept      map[string]bool     // strays kept because of the harvest mode, already logged

	zones zones
	work  *tracing.Work
}

// slots is a semaphore that limits concurrency, first come, first served.
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

// An activeHandler is a running handler, as the loop sees it.
type activeHandler struct {
	again bool          // start another when it has ended
	wake  chan struct{} // cuts its pause short
}

// handled is the result of a handler.
type handled struct {
	machine string
	stray   bool // the machine is removed, and its instance may still run
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
	var next <-chan time.Time // fires when the next scan is due
	for {
		var ids []string
		var halfMade map[string]bool
		urgent := false // ids come from the watch
		if len(p.busy) == 0 {
			p.work.Idle()
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case changed, ok := <-events:
			if !ok {
				return worker.Ended(ctx)
			}
			// Strays can be identified only now that all machines are known.
			if first {
				if halfMade, err = p.firstScan(ctx); err != nil {
					return err
				}
				first = false
			}
			ids, urgent = changed, true
		case _, ok := <-agents:
			if !ok {
				return worker.Ended(ctx)
			}
			// The agent's instance may be lost too.
			if !first {
				p.scanNow(ctx)
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
				p.scanNow(ctx)
			}
		case t := <-p.done:
			if p.busy[t.machine].again {
				ids = []string{t.machine}
			}
			delete(p.busy, t.machine)
			p.wakeContainers(t.machine)
			if t.stray {
				p.scanNow(ctx)
			}
		case l := <-p.scanned:
			p.scanning, ids = false, l.machines
			p.scanDone(ctx, l)
			if next = time.After(l.next); p.soon {
				p.scanNow(ctx)
			}
		case s := <-p.stopped:
			p.stopDone(ctx, s)
		case <-p.addressless:
			if !first {
				p.scanNow(ctx)
			}
		case <-next:
			p.scanNow(ctx)
		}
		for _, id := range ids {
			p.dispatch(ctx, &handler{id: id, halfMade: halfMade[id]}, urgent)
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

// dispatch starts a handler for a machine. If one is running, another follows it; urgent also cuts the pause
// of the running one short.
func (p *provisioner) dispatch(ctx context.Context, t *handler, urgent bool) {
	if busy := p.busy[t.id]; busy != nil {
		busy.again = true
		if urgent {
			busy.wakeUp()
		}
		return
	}
	busy := &activeHandler{wake: make(chan struct{}, 1)}
	p.busy[t.id] = busy
	go func() { p.done <- handled{t.id, p.handle(ctx, t, busy.wake)} }()
}

// wakeUp cuts the handler's current or next pause short.
func (t *activeHandler) wakeUp() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}
