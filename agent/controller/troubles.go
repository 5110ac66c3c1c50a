package controller

import (
	"sync"

	"juju/state/entity"
	"juju/worker"
)

// troubles are the workers that fail again and again, by the UUID of the model that they
// work for; those that work for all are under "".
type troubles struct {
	mu  sync.Mutex
	all map[string]*worker.Troubles
}

// of returns those of a model.
func (t *troubles) of(model string) *worker.Troubles {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all == nil {
		t.all = map[string]*worker.Troubles{}
	}
	if t.all[model] == nil {
		t.all[model] = worker.NewTroubles()
	}
	return t.all[model]
}

// forget drops those of a model that has no workers any more.
func (t *troubles) forget(model string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.all, model)
}

// list returns those of a model for the API server.
func (t *troubles) list(model string) []entity.Trouble {
	t.mu.Lock()
	known := t.all[model]
	t.mu.Unlock()
	if known == nil {
		return nil
	}
	var all []entity.Trouble
	for _, one := range known.List() {
		all = append(all, entity.Trouble(one))
	}
	return all
}
