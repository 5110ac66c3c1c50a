package agent

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	"juju/apiserver/client"
	"juju/apiserver/params"
	"juju/state/entity"
)

// A scripted controller accepts any login, and answers every other request with what says
// returns.
type scripted struct {
	says  func() error
	tries int
}

// dial connects to the controller in memory.
func (s *scripted) dial(context.Context) (net.Conn, error) {
	ours, theirs := net.Pipe()
	l := &once{conns: make(chan net.Conn, 1), closed: make(chan struct{})}
	l.conns <- theirs
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer l.Close()
		defer ws.Close()
		for {
			var req params.Request
			_, frame, err := ws.ReadMessage()
			if err == nil {
				err = json.Unmarshal(frame, &req)
			}
			if err != nil {
				return
			}
			var why error
			if req.Type != "Admin" {
				s.tries++
				why = s.says()
			}
			if why != nil {
				frame, err = params.EncodeFailure(req.RequestID, params.ToError(why))
			} else {
				frame, err = params.EncodeSuccess(req.RequestID, params.LoginResult{}, params.Trace{})
			}
			if err != nil || ws.WriteMessage(websocket.TextMessage, frame) != nil {
				return
			}
		}
	}))
	return ours, nil
}

// once is a listener for one connection.
type once struct {
	conns  chan net.Conn
	closed chan struct{}
	end    sync.Once
}

func (l *once) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}
func (l *once) Close() error   { l.end.Do(func() { close(l.closed) }); return nil }
func (l *once) Addr() net.Addr { return &net.TCPAddr{} }

// A link repeats a request that the controller can't serve just now until the caller's
// context ends, for five minutes at most. Other errors it returns at once.
func TestLinkRepeatsRequests(t *testing.T) {
	contention := entity.Errorf(entity.Contention, "state changing too quickly; try again soon")
	refusal := entity.Errorf(entity.NotFound, "no such relation")
	away := entity.WithHint(entity.Errorf(entity.Unavailable, "the controller's store is away"), "It waits.")
	for name, c := range map[string]struct {
		lasts    time.Duration // of the failure
		why      error
		patience time.Duration // of the caller; 0 for no limit
		fails    bool
		min, max time.Duration
	}{
		"an election":                      {15 * time.Second, away, time.Minute, false, 15 * time.Second, 20 * time.Second},
		"others change the same":           {time.Second, contention, time.Minute, false, time.Second, 4 * time.Second},
		"longer than a hook tool may wait": {time.Hour, away, time.Minute, true, time.Minute, time.Minute + time.Second},
		"longer than any caller waits":     {time.Hour, away, 0, true, linkBound, linkBound + time.Second},
		"a refusal":                        {time.Hour, refusal, time.Minute, true, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				s := &scripted{says: func() error {
					if time.Since(began) < c.lasts {
						return c.why
					}
					return nil
				}}
				conn, err := client.Dial(t.Context(), client.Info{Dial: s.dial, Tag: entity.UnitTag("web/0")})
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				l := newLink()
				l.set(conn)
				ctx := t.Context()
				if c.patience > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.patience)
					defer cancel()
				}
				unit, active := entity.UnitTag("web/0"), entity.Status{Status: entity.StatusActive}
				err = client.UniterFacade{Caller: l}.SetUnitStatus(ctx, unit, active)
				took := time.Since(began)
				kind := entity.KindOf(c.why)
				if (err != nil) != c.fails || c.fails && (entity.KindOf(err) != kind || !errors.Is(err, kind)) {
					t.Errorf("after %v: %v", took, err)
				}
				if took < c.min || took > c.max {
					t.Errorf("it took %v, not within %v to %v", took, c.min, c.max)
				}
				// About one attempt in each of the longest pauses.
				if limit := int(took/(lastPause/2)) + 12; s.tries > limit {
					t.Errorf("it was asked %d times in %v", s.tries, took)
				}
			})
		})
	}
}
