package provisioner

import (
	"context"
	"time"

	"github.com/juju/loggo"

	"juju/provider"
	"juju/state/entity"
	"juju/worker"
)

var logger = loggo.GetLogger("juju.worker.provisioner")

// Environ is what a provisioner needs of a cloud; provider.Environ has it.
type Environ interface {
	StartInstance(ctx context.Context, params provider.StartParams) (provider.Instance, error)
	StopInstances(ctx context.Context, ids ...string) error
	Instances(ctx context.Context) ([]provider.Instance, error)
}

// Config is what a provisioner needs. The zero value of what has a default is that.
type Config struct {
	API     API
	Environ Environ
	// AgentConfig writes the configuration that the machine's agent starts with.
	AgentConfig func(machine entity.MachineInfo, password, nonce string) ([]byte, error)

	Parallel int           // how many instances are started or stopped at once; 16
	Attempts int           // how often a start is tried whose failure may pass; 10
	Pause    time.Duration // between those; 10 s
	Retry    time.Duration // until a machine is looked at again whose handling failed; 30 s
}

// New returns the provisioner of one model.
func New(config Config) worker.Func {
	orDefault(&config.Parallel, 16)
	orDefault(&config.Attempts, 10)
	orDefault(&config.Pause, 10*time.Second)
	orDefault(&config.Retry, 30*time.Second)
	return func(ctx context.Context) error {
		ctx, cancel := context.WithCancel(ctx)
		p := &provisioner{
			Config: config,
			slots:  make(chan struct{}, config.Parallel),
			done:   make(chan string),
			busy:   map[string]bool{},
		}
		defer func() {
			cancel()
			for range p.busy {
				<-p.done
			}
		}()
		return p.loop(ctx)
	}
}

func orDefault[T comparable](value *T, otherwise T) {
	var zero T
	if *value == zero {
		*value = otherwise
	}
}

// A provisioner's loop owns its maps. What takes time, it does in a goroutine per
// machine, of which each machine has at most one.
type provisioner struct {
	Config
	slots chan struct{}
	done  chan string     // a machine's goroutine has ended
	busy  map[string]bool // machines that have a goroutine; true: look again when it has ended
}

func (p *provisioner) loop(ctx context.Context) error {
	events, err := p.API.WatchMachines(ctx)
	if err != nil {
		return err
	}
	first := true
	for {
		var look []string
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case ids, ok := <-events:
			if !ok {
				return worker.Ended(ctx)
			}
			// Only now, when it is known what machines there are, can a stray be told.
			if first {
				if err := p.stopStrays(ctx); err != nil {
					return err
				}
				first = false
			}
			look = ids
		case id := <-p.done:
			again := p.busy[id]
			delete(p.busy, id)
			if again {
				look = []string{id}
			}
		}
		for _, id := range look {
			if _, is := p.busy[id]; is {
				p.busy[id] = true
				continue
			}
			p.busy[id] = false
			go p.tend(ctx, id)
		}
	}
}

// stopStrays stops every instance of ours that is not that of its machine. Nothing
// is being started yet, so one whose machine has none is what an earlier provisioner
// could not finish; its agent's password is about to be replaced.
func (p *provisioner) stopStrays(ctx context.Context) error {
	instances, err := p.Environ.Instances(ctx)
	if err != nil || len(instances) == 0 {
		return err
	}
	machines, err := p.API.Machines(ctx)
	if err != nil {
		return err
	}
	ours := map[string]bool{}
	for _, m := range machines {
		ours[m.InstanceID] = true
	}
	var strays []string
	for _, in := range instances {
		if !ours[in.ID] {
			logger.Infof("stopping instance %s, which was of machine %s and is nobody's", in.ID, in.MachineID)
			strays = append(strays, in.ID)
		}
	}
	if len(strays) == 0 {
		return nil
	}
	return p.Environ.StopInstances(ctx, strays...)
}
