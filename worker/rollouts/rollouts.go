package rollouts

import (
	"context"
	"errors"
	"sync"
	"time"

	"juju/state/entity"
	"juju/worker"
)

// pause is the least time between two steps: the watch of a rollout fires for every status in the model.
const pause = time.Second

// Config is what the worker needs.
type Config struct {
	API API
}

// New returns the worker for one model. If a step fails the worker fails; after a restart it continues all rollouts.
func New(config Config) worker.Func {
	return func(ctx context.Context) error {
		ctx, fail := context.WithCancelCause(ctx)
		var running sync.WaitGroup
		defer running.Wait()
		defer fail(nil)
		follows := map[string]*follow{}
		return worker.Strings(ctx, config.API.WatchRollouts, func(ctx context.Context, services []string) error {
			for _, service := range services {
				// What follows it may just be ending, because it had stopped.
				follows[service].end()
				f := &follow{API: config.API, service: entity.ServiceTag(service), done: make(chan struct{})}
				follows[service] = f
				var own context.Context
				own, f.cancel = context.WithCancel(ctx)
				running.Go(func() {
					defer close(f.done)
					if err := f.run(own); err != nil && own.Err() == nil {
						fail(err)
					}
				})
			}
			return nil
		})
	}
}

// A follow continues one rollout until that ends or stops.
type follow struct {
	API
	service entity.Tag
	cancel  context.CancelFunc
	done    chan struct{}
}

// end ends the following, if there is one.
func (f *follow) end() {
	if f != nil {
		f.cancel()
		<-f.done
	}
}

// errOver means that a rollout has ended or stopped.
var errOver = errors.New("the rollout is over")

func (f *follow) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watch := func(ctx context.Context) (<-chan struct{}, error) { return f.WatchRollout(ctx, f.service) }
	err := worker.NotifyAgain(ctx, watch, func(ctx context.Context) (time.Duration, error) {
		again, err := f.AdvanceRollout(ctx, f.service)
		if err == nil && again == 0 {
			err = errOver
		}
		if err != nil {
			return 0, err
		}
		timer := time.NewTimer(pause)
		defer timer.Stop()
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		return max(again-pause, time.Millisecond), nil
	})
	if errors.Is(err, errOver) {
		return nil
	}
	return err
}
