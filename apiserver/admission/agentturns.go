package admission

import (
	"context"
	"slices"
	"sync"
)

// AgentTurns bound how many requests of agents are worked on at once. When thousands of agents ask at the same moment, as
// while models are destroyed, a user's request would wait behind all of them at each of its steps: Go's scheduler is fair to
// goroutines, and so to those who have most. The next turn goes to the model that has the fewest, so that a model's agents
// do not wait for those of others either; among equals to the one that has waited longest, and in a model to the first.
type AgentTurns struct {
	mu      sync.Mutex
	free    int
	working map[string]int             // turns, by model
	waiting map[string][]chan struct{} // requests, by model; none is empty
	order   []string                   // the models of waiting; the one that got the last turn is at the end
}

// NewAgentTurns returns n turns.
func NewAgentTurns(n int) *AgentTurns {
	return &AgentTurns{free: n, working: map[string]int{}, waiting: map[string][]chan struct{}{}}
}

// Take waits for a turn, which release ends. The error is the context's cause.
func (t *AgentTurns) Take(ctx context.Context, model string) (release func(), err error) {
	mine := make(chan struct{})
	t.mu.Lock()
	if len(t.waiting[model]) == 0 {
		t.order = append(t.order, model)
	}
	t.waiting[model] = append(t.waiting[model], mine)
	t.give()
	t.mu.Unlock()
	release = sync.OnceFunc(func() { t.release(model) })
	select {
	case <-mine:
		return release, nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	i := slices.Index(t.waiting[model], mine)
	if i >= 0 {
		t.drop(model, i)
	}
	t.mu.Unlock()
	if i < 0 { // it was given in the meantime
		release()
	}
	return nil, context.Cause(ctx)
}

// Waiting returns how many requests wait for a turn.
func (t *AgentTurns) Waiting() (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, of := range t.waiting {
		n += len(of)
	}
	return n
}

func (t *AgentTurns) release(model string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.free++
	if t.working[model]--; t.working[model] == 0 {
		delete(t.working, model)
	}
	t.give()
}

// give gives free turns. The caller holds t.mu.
func (t *AgentTurns) give() {
	for t.free > 0 && len(t.order) > 0 {
		next := slices.MinFunc(t.order, func(a, b string) int { return t.working[a] - t.working[b] }) // the first of equals
		t.free--
		t.working[next]++
		close(t.drop(next, 0))
	}
}

// drop removes a waiting request. Its model goes to the end of the order. The caller holds t.mu.
func (t *AgentTurns) drop(model string, i int) chan struct{} {
	dropped := t.waiting[model][i]
	t.waiting[model] = slices.Delete(t.waiting[model], i, i+1)
	at := slices.Index(t.order, model)
	t.order = slices.Delete(t.order, at, at+1)
	if len(t.waiting[model]) == 0 {
		delete(t.waiting, model)
	} else {
		t.order = append(t.order, model)
	}
	return dropped
}
