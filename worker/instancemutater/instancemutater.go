package instancemutater

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/juju/loggo"

	"juju/provider"
	"juju/state/entity"
	"juju/worker"
)

var logger = loggo.GetLogger("juju.worker.instancemutater")

// API is what the worker needs of the controller, for one model.
type API interface {
	// WatchProfiles fires when the result of ProfileWork may have changed.
	WatchProfiles(ctx context.Context) (<-chan struct{}, error)
	// ProfileWork returns the machines whose instances must get other profiles.
	ProfileWork(ctx context.Context) ([]entity.ProfileWork, error)
	// CharmProfiles returns the profiles that a machine's instance should have. The error is NotFound if there is no such
	// machine.
	CharmProfiles(ctx context.Context, machine entity.Tag) ([]entity.CharmProfile, error)
	// SetCharmProfiles records which profiles an instance has. It does nothing if the machine has another instance by now,
	// or is removed.
	SetCharmProfiles(ctx context.Context, machine entity.Tag, set entity.ProfilesSet) error
}

// Config is what the worker needs.
type Config struct {
	API   API
	Cloud provider.Profiler
	// Retry is the initial pause after a failure and MaxRetry the maximum; 10 seconds and 5 minutes if zero.
	Retry, MaxRetry time.Duration
	// Bound limits each call to the cloud; 5 minutes if zero.
	Bound time.Duration
}

// New returns the worker for one model.
func New(config Config) worker.Func {
	config.Retry = cmp.Or(config.Retry, 10*time.Second)
	config.MaxRetry = cmp.Or(config.MaxRetry, 5*time.Minute)
	config.Bound = cmp.Or(config.Bound, 5*time.Minute)
	return func(ctx context.Context) error {
		ctx, cancel := context.WithCancel(ctx)
		m := &mutater{Config: config, done: make(chan *step, parallel), busy: map[string]bool{},
			retries: worker.Retries[entity.ProfileWork]{First: config.Retry, Longest: config.MaxRetry}}
		defer func() {
			cancel()
			for range m.busy {
				<-m.done
			}
		}()
		return worker.NotifySteps(ctx, m.API.WatchProfiles, m.done, m.ended,
			func(ctx context.Context, _ bool) (time.Duration, error) { return m.pass(ctx) })
	}
}

// parallel is the maximum number of instances that are changed at once.
const parallel = 4

// A mutater's fields are owned by its loop. Instances are changed in goroutines, so that a slow one holds up no other.
type mutater struct {
	Config
	done    chan *step
	busy    map[string]bool // by machine
	retries worker.Retries[entity.ProfileWork]
}

// A step changes one instance.
type step struct {
	work   entity.ProfileWork
	pause  time.Duration // until it is retried, if it fails
	failed bool
	err    error // from the controller
}

// ended records the end of a step. It fails only if the controller does.
func (m *mutater) ended(s *step) error {
	delete(m.busy, s.work.Machine)
	if s.failed {
		m.retries.Failed(s.work.Machine, s.work, s.pause)
	}
	return s.err
}

// pass starts the steps that are due. It returns the time until the first retry, or 0 if there is none: the end of a step
// leads to the next pass.
func (m *mutater) pass(ctx context.Context) (again time.Duration, err error) {
	all, err := m.API.ProfileWork(ctx)
	if err != nil {
		return 0, err
	}
	m.retries.Begin()
	for _, w := range all {
		left, pause := m.retries.Ask(w.Machine, w)
		switch {
		case m.busy[w.Machine]:
		case left > 0:
			again = worker.Sooner(again, left)
		case len(m.busy) < parallel:
			m.busy[w.Machine] = true
			s := &step{work: w, pause: pause}
			go func() {
				m.change(ctx, s)
				m.done <- s
			}()
		}
	}
	return again, nil
}

// change gives an instance its profiles, and records that, or why it can't get them.
func (m *mutater) change(ctx context.Context, s *step) {
	tag := entity.MachineTag(s.work.Machine)
	var profiles []entity.CharmProfile
	if profiles, s.err = m.API.CharmProfiles(ctx, tag); s.err != nil {
		if errors.Is(s.err, entity.NotFound) {
			s.err = nil
		}
		return
	}
	set := entity.ProfilesSet{Instance: s.work.Instance, Has: entity.ProfileRefs(profiles)}
	bounded, cancel := context.WithTimeout(ctx, m.Bound)
	defer cancel()
	err := m.Cloud.SetProfiles(bounded, s.work.Instance, profiles)
	if ctx.Err() != nil {
		return // the worker is stopping; it is not the cloud's failure
	}
	if err != nil {
		s.failed = true
		logger.Warningf("cannot set the profiles of machine %s; retrying in %v: %v", s.work.Machine, s.pause, err)
		set = entity.ProfilesSet{Instance: s.work.Instance, Failed: err.Error()}
	}
	s.err = m.API.SetCharmProfiles(ctx, tag, set)
}
