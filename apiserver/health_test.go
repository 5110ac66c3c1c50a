package apiserver

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"testing"

	"juju/state/entity"
)

// notReady asks until the server says why it is not ready, or with "" that it is.
func (p *program) notReady(want string) {
	p.Helper()
	status := 200
	if want != "" {
		status, want = 503, `{"error":"not ready: `+want+`"}`+"\n"
	} else {
		want = `{"status":"ready"}` + "\n"
	}
	eventually(p, "the answer is not "+want, func() bool {
		return p.answer(readinessPath) == want
	})
	p.get(status, readinessPath, "")
}

// answer returns what anyone is told at a path.
func (p *program) answer(path string) string {
	p.Helper()
	reply := p.ask(path, "")
	body, err := io.ReadAll(reply.Body)
	p.ok(err)
	return string(body)
}

// Anyone may ask whether the process serves, and whether the controller can do its work, and learns nothing else.
func TestHealth(t *testing.T) {
	t.Parallel()
	var paused, away atomic.Bool
	w := newWorld(t, func(c *Config) {
		c.Steady = func(context.Context) error {
			if paused.Load() {
				return entity.Errorf(entity.Unavailable, "of 10.0.0.1")
			}
			return nil
		}
	})
	barrier := w.server.barrier
	w.server.barrier = func(ctx context.Context) error {
		if away.Load() {
			return errors.New("of 10.0.0.1")
		}
		return barrier(ctx)
	}
	p := w.program()
	p.get(200, healthPath, "")
	p.notReady("")
	paused.Store(true)
	p.notReady(errPaused.Error())
	paused.Store(false)
	away.Store(true)
	p.notReady(errNoStore.Error())
	p.get(200, healthPath, "")
	away.Store(false)
	p.notReady("")

	conn := w.server.memory
	defer func() { w.server.memory = conn }()
	w.server.memory = newMemoryListener() // from which no one accepts
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.server.asWorker(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a worker connects to a server that does not serve it: %v", err)
	}
}

// However many ask whether the server is ready, it is found out once, and they are told after a time even if that hangs.
func TestManyAskForReadiness(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	release, asked := make(chan struct{}), atomic.Int32{}
	w.server.barrier = func(context.Context) error {
		asked.Add(1)
		<-release
		return nil
	}
	var all sync.WaitGroup
	results := make(chan error, 100)
	for range cap(results) {
		all.Go(func() { results <- w.server.readiness.get(t.Context(), w.server) })
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.server.readiness.get(gone, w.server); err == nil {
		t.Error("a client that has gone is told that the server is ready")
	}
	close(release)
	all.Wait()
	for range cap(results) {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	if n := asked.Load(); n > 2 { // the last ones may have come later than readyFor
		t.Errorf("it was found out %d times", n)
	}
}
