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

// A scripted controller answers one request after another as says tells it, from when
// the agent has logged in.
type scripted struct {
	says  func() error
	tries int
}

// dial connects to it through memory.
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
				frame, err = params.EncodeSuccess(req.RequestID, params.LoginResult{})
			}
			if err != nil || ws.WriteMessage(websocket.TextMessage, frame) != nil {
				return
			}
		}
	}))
	return ours, nil
}

// once accepts one connection.
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

// TestALinkAsksAgain what the controller can't do just now, for as long as its caller
// waits, and five minutes at the most; anything else it is told at once.
func TestALinkAsksAgain(t *testing.T) {
	away := entity.WithHint(entity.Errorf(entity.Unavailable, "the controller's store is away"), "It waits.")
	for name, c := range map[string]struct {
		lasts       time.Duration // that it is so
		why         error
		patience    time.Duration // of the caller; 0 has none of its own
		fails       bool
		least, most time.Duration
	}{
		"an election":                      {15 * time.Second, away, time.Minute, false, 15 * time.Second, 20 * time.Second},
		"others change the same":           {time.Second, entity.Errorf(entity.Contention, "state changing too quickly; try again soon"), time.Minute, false, time.Second, 4 * time.Second},
		"longer than a hook tool may wait": {time.Hour, away, time.Minute, true, time.Minute, time.Minute + time.Second},
		"longer than anybody waits":        {time.Hour, away, 0, true, linkBound, linkBound + time.Second},
		"a refusal":                        {time.Hour, entity.Errorf(entity.NotFound, "no such relation"), time.Minute, true, 0, 0},
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
				err = client.UniterFacade{Caller: l}.SetUnitStatus(ctx, entity.UnitTag("web/0"), entity.Status{Status: entity.StatusActive})
				took := time.Since(began)
				if (err != nil) != c.fails || c.fails && (entity.KindOf(err) != entity.KindOf(c.why) || !errors.Is(err, entity.KindOf(c.why))) {
					t.Errorf("after %v: %v", took, err)
				}
				if took < c.least || took > c.most {
					t.Errorf("it took %v, not within %v to %v", took, c.least, c.most)
				}
				// About once in the longest pause.
				if most := int(took/(lastPause/2)) + 12; s.tries > most {
					t.Errorf("it was asked %d times in %v", s.tries, took)
				}
			})
		})
	}
}
