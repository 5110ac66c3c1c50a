package controller

import (
	"maps"
	"slices"
	"sync"

	"juju/state/controller"
	"juju/state/entity"
	"juju/worker"
)

// failures tracks the workers that keep failing, by the UUID of their model; "" for the controller's own workers.
type failures struct {
	mu  sync.Mutex
	all map[string]*worker.Failures
}

// of returns the Failures of a model, which it creates if necessary.
func (f *failures) of(model string) *worker.Failures {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.all == nil {
		f.all = map[string]*worker.Failures{}
	}
	if f.all[model] == nil {
		f.all[model] = worker.NewFailures()
	}
	return f.all[model]
}

// forget deletes the Failures of a model that no longer has workers.
func (f *failures) forget(model string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.all, model)
}

// everything returns the failures in all models, for other controllers.
func (f *failures) everything() (all []controller.NodeFailure) {
	f.mu.Lock()
	models := slices.Sorted(maps.Keys(f.all))
	f.mu.Unlock()
	for _, model := range models {
		for _, one := range f.list(model) {
			all = append(all, controller.NodeFailure{Model: model, WorkerFailure: one})
		}
	}
	return all
}

// list returns the failures in a model.
func (f *failures) list(model string) []entity.WorkerFailure {
	f.mu.Lock()
	known := f.all[model]
	f.mu.Unlock()
	if known == nil {
		return nil
	}
	var all []entity.WorkerFailure
	for _, one := range known.List() {
		all = append(all, entity.WorkerFailure(one))
	}
	return all
}
