package apiserver

import (
	"context"
	"sync"

	"juju/state"
)

// endings ends the connections to a model when the model can't be used any more.
// One goroutine per model waits for that, as long as somebody is connected.
type endings struct {
	mu     sync.Mutex
	models map[*state.State]*modelConns
}

type modelConns struct {
	conns map[*conn]bool
	empty context.CancelFunc
}

// join ends c when the model does; the function it returns forgets c.
func (e *endings) join(model *state.State, c *conn) (leave func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.models == nil {
		e.models = map[*state.State]*modelConns{}
	}
	m := e.models[model]
	if m == nil {
		empty, cancel := context.WithCancel(context.Background())
		m = &modelConns{conns: map[*conn]bool{}, empty: cancel}
		e.models[model] = m
		// c, which the server waits for, is counted in as long as m is not empty.
		c.server.active.Go(func() { e.wait(empty, model, m) })
	}
	m.conns[c] = true
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if delete(m.conns, c); len(m.conns) == 0 {
			m.empty()
			if e.models[model] == m {
				delete(e.models, model)
			}
		}
	}
}

func (e *endings) wait(empty context.Context, model *state.State, m *modelConns) {
	select {
	case <-empty.Done():
		return
	case <-model.Done():
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for c := range m.conns {
		c.cancel(errNoModel)
	}
}
