package rehearsal

import (
	"context"
	"slices"
	"sync"
)

// atOnce is how many rehearsals there are at a time.
const atOnce = 4

// turns are those of rehearsals: a user has one at a time, and so has a model, and who has had one is behind the other users
// who wait. So nobody waits for many plans of another, and a small model's plan only for those of large ones if many plan.
type turns struct {
	mu      sync.Mutex
	taken   []*turn
	waiting []*turn // the next ones first
}

type turn struct {
	user, model string
	begins      chan struct{} // closed when it does
}

// take waits for a turn, which ends with done.
func (t *turns) take(ctx context.Context, user, model string) (done func(), err error) {
	one := t.ask(user, model)
	select {
	case <-one.begins:
		return func() { t.end(one) }, nil
	case <-ctx.Done():
		t.end(one)
		return nil, context.Cause(ctx)
	}
}

// ask joins those who wait.
func (t *turns) ask(user, model string) *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	one := &turn{user, model, make(chan struct{})}
	t.waiting = append(t.waiting, one)
	t.next()
	return one
}

// end ends a turn, or the wait for it. After a turn, the user's other plans are behind those of others.
func (t *turns) end(one *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	is := func(other *turn) bool { return other == one }
	had := slices.Contains(t.taken, one)
	t.taken, t.waiting = slices.DeleteFunc(t.taken, is), slices.DeleteFunc(t.waiting, is)
	if had {
		own := func(w *turn) bool { return w.user == one.user }
		others := slices.DeleteFunc(slices.Clone(t.waiting), own)
		t.waiting = append(others, slices.DeleteFunc(t.waiting, func(w *turn) bool { return !own(w) })...)
	}
	t.next()
}

// next has those begin who can.
func (t *turns) next() {
	for len(t.taken) < atOnce {
		i := slices.IndexFunc(t.waiting, func(w *turn) bool {
			return !slices.ContainsFunc(t.taken, func(o *turn) bool { return o.user == w.user || o.model == w.model })
		})
		if i < 0 {
			return
		}
		t.taken = append(t.taken, t.waiting[i])
		close(t.waiting[i].begins)
		t.waiting = slices.Delete(t.waiting, i, i+1)
	}
}
