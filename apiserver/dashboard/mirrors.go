package dashboard

import (
	"context"
	"errors"
	"sync"
	"time"

	"juju/apiserver/deltas"
)

// Mirrors has a mirror of each model that someone looks at, which all who look at it share.
type Mirrors struct {
	mu  sync.Mutex
	all map[string]*followed // by the model's UUID
}

// A followed is a mirror that follows its model.
type followed struct {
	*Mirror
	users int
	ready chan struct{} // closed once the mirror has everything, or has ended
	ended error         // why it has
	done  chan struct{} // closed when it has
	end   context.CancelFunc
}

// keptFor is how long a mirror follows its model after the last page was left: the next one needs it at once.
const keptFor = time.Minute

// errAway is the end of a mirror whose model has ended, or which could not keep up.
var errAway = errors.New("the model can no longer be followed")

// Open returns the mirror of a model, once it has everything. watch begins to follow the model. done is closed when the
// mirror is no longer one; leave must be called.
func (f *Mirrors) Open(
	ctx context.Context, model string, watch func(context.Context) (<-chan deltas.Take, error),
) (m *Mirror, done <-chan struct{}, leave func(), err error) {
	k := f.join(model, watch)
	leave = sync.OnceFunc(func() { time.AfterFunc(keptFor, func() { f.leave(model, k) }) })
	select {
	case <-k.ready:
	case <-ctx.Done():
		leave()
		return nil, nil, nil, context.Cause(ctx)
	}
	select {
	case <-k.done:
		leave()
		return nil, nil, nil, k.ended
	default:
		return k.Mirror, k.done, leave, nil
	}
}

// join counts one more user of a mirror, and makes it for the first.
func (f *Mirrors) join(model string, watch func(context.Context) (<-chan deltas.Take, error)) *followed {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.all == nil {
		f.all = map[string]*followed{}
	}
	k := f.all[model]
	if k == nil {
		ctx, end := context.WithCancel(context.Background())
		k = &followed{Mirror: NewMirror(), ready: make(chan struct{}), done: make(chan struct{}), end: end}
		f.all[model] = k
		go func() {
			defer end()
			err := k.follow(ctx, watch)
			f.mu.Lock()
			defer f.mu.Unlock()
			if k.ended = err; f.all[model] == k {
				delete(f.all, model) // the next one makes another
			}
			close(k.done)
			k.isReady()
		}()
	}
	k.users++
	return k
}

// isReady closes ready, unless that has been done. Only follow's goroutine calls it.
func (k *followed) isReady() {
	select {
	case <-k.ready:
	default:
		close(k.ready)
	}
}

func (f *Mirrors) leave(model string, k *followed) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if k.users--; k.users == 0 {
		k.end()
		if f.all[model] == k {
			delete(f.all, model)
		}
	}
}

// Close ends all mirrors, and waits for them.
func (f *Mirrors) Close() {
	f.mu.Lock()
	var all []*followed
	for _, k := range f.all {
		k.end()
		all = append(all, k)
	}
	f.mu.Unlock()
	for _, k := range all {
		<-k.done
	}
}

// follow applies what changes in the model until ctx or the model ends.
func (k *followed) follow(ctx context.Context, watch func(context.Context) (<-chan deltas.Take, error)) error {
	takes, err := watch(ctx)
	if err != nil {
		return err
	}
	for take := range takes {
		news, err := take()
		if err != nil {
			return err
		}
		k.Apply(news)
		k.isReady()
	}
	return errAway
}
