package apiserver

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"juju/apiserver/params"
	"juju/state/entity"
)

const (
	// readyFor is how long an answer to whether the server is ready is given again.
	readyFor = time.Second
	// readyTime limits how long it can take to find out.
	readyTime = 5 * time.Second
)

// readiness remembers for a moment whether the server is ready. Anyone may ask, so it is found out for all who ask at the
// same time together.
type readiness struct {
	mu    sync.Mutex
	at    time.Time     // of err
	err   error         // why the server was not ready then
	doing chan struct{} // closed when it has been found out; nil if no one asks
}

// get returns why the server is not ready, or nil. A store that does not even notice that the time is over is not waited for.
func (a *readiness) get(ctx context.Context, s *Server) error {
	a.mu.Lock()
	if a.doing == nil && time.Since(a.at) < readyFor {
		defer a.mu.Unlock()
		return a.err
	}
	if a.doing == nil {
		a.doing = make(chan struct{})
		s.active.Go(func() { a.set(s.ready()) })
	}
	done := a.doing
	a.mu.Unlock()
	select {
	case <-done:
		a.mu.Lock()
		defer a.mu.Unlock()
		return a.err
	case <-time.After(readyTime):
	case <-ctx.Done():
	}
	return errNoStore
}

func (a *readiness) set(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.at, a.err = time.Now(), err
	close(a.doing)
	a.doing = nil
}

// The reasons why a server is not ready. They reveal nothing, as anyone may ask.
var (
	errPaused    = errors.New("the controller may have been paused, and makes sure that it still counts")
	errNoStore   = errors.New("the store does not answer")
	errNoWorkers = errors.New("the controller's own workers cannot reach the API")
)

// ready returns why the server cannot do its work, if it cannot: it must count among the controllers, read its store, have
// on disk what is there, and serve its own workers.
func (s *Server) ready() error {
	ctx, cancel := context.WithTimeout(context.Background(), readyTime)
	defer cancel()
	if s.steady(ctx) != nil {
		return errPaused
	}
	if _, err := s.controllerModel.Machine(ctx, "0"); err != nil && !entity.IsNotFound(err) {
		return errNoStore
	}
	if s.barrier(ctx) != nil {
		return errNoStore
	}
	if s.asWorker(ctx) != nil {
		return errNoWorkers
	}
	return nil
}

// asWorker connects as the controller's own workers do, and asks whether the process serves.
func (s *Server) asWorker(ctx context.Context) error {
	conn, err := s.Dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprint(conn, "GET "+healthPath+" HTTP/1.1\r\nHost: controller\r\nConnection: close\r\n\r\n"); err != nil {
		return err
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return errors.New(response.Status)
	}
	return nil
}

const (
	healthPath    = "/healthz"
	readinessPath = "/readyz"
)

// serveHealth tells anyone that this process serves.
func (s *Server) serveHealth(w http.ResponseWriter, _ *http.Request) {
	s.writeText(w, http.StatusOK, []byte(`{"status":"ok"}`+"\n"))
}

// serveReadiness tells anyone whether the server can do its work.
func (s *Server) serveReadiness(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	if err := s.readiness.get(r.Context(), s); err != nil {
		text, _ := asJSON(params.CharmsResponse{Error: fmt.Sprintf("not ready: %v", err)})
		s.writeText(w, http.StatusServiceUnavailable, text)
		return
	}
	s.writeText(w, http.StatusOK, []byte(`{"status":"ready"}`+"\n"))
}
