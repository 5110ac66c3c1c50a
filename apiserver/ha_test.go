package apiserver

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/gorilla/websocket"

	"juju/apiserver/client"
	"juju/apiserver/params"
	"juju/state/constraints"
	"juju/state/entity"
	"juju/state/statetest"
)

// A controller whose store no other can use is the only one. It knows of no others, and refuses to have any.
func TestTheOnlyController(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	root := w.dial(w.adminInfo(""))
	if nodes, _, err := root.ControllerNodes(t.Context()); len(nodes) > 0 || err != nil {
		t.Errorf("there are controllers %+v (%v)", nodes, err)
	}
	if _, err := root.EnableHA(t.Context(), 3, constraints.Value{}); !errors.Is(err, entity.NotSupported) || entity.Hint(err) == "" {
		t.Errorf("more controllers: %v (%s)", err, entity.Hint(err))
	}
	raw := w.raw("/api").login(entity.UserTag(statetest.Admin), statetest.Password, "")
	for _, n := range []int{0, 2} {
		err := raw.call("HighAvailability", 2, "EnableHA", params.ControllersSpecs{Specs: make([]params.ControllersSpec, n)}).Err()
		if !errors.Is(err, entity.Invalid) || err.Error() != "one specification of controllers is needed" {
			t.Errorf("%d specifications: %v", n, err)
		}
	}
}

// Of several controllers, a client takes one that lets it log in. One that can't reach the store says so, or does not
// answer.
func TestClientsFindAController(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	answer := func(w http.ResponseWriter, r *http.Request, reply func(id uint64) []byte) {
		ws, err := upgrader.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer ws.Close()
		var login params.Request
		for ws.ReadJSON(&login) == nil { // until the client leaves
			if reply != nil {
				if err := ws.WriteMessage(websocket.TextMessage, reply(login.RequestID)); err != nil {
					return
				}
			}
		}
	}
	others := func(reply func(uint64) []byte) string {
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answer(w, r, reply) }))
		s.TLS = pki().config
		s.StartTLS()
		t.Cleanup(s.Close)
		return s.Listener.Addr().String()
	}
	silent := others(nil)
	saying := func(why error) string {
		return others(func(id uint64) []byte {
			frame, err := params.EncodeFailure(id, params.ToError(why))
			if err != nil {
				t.Error(err)
			}
			return frame
		})
	}
	away := saying(entity.Errorf(entity.Unavailable, "the store is away"))
	info := w.adminInfo("")
	info.Addresses = []string{silent, away, w.address}
	var all sync.WaitGroup
	for range 12 { // in any order
		all.Go(func() {
			c, err := client.Dial(t.Context(), info)
			if err != nil {
				t.Error(err)
				return
			}
			c.Close()
		})
	}
	all.Wait()

	info.Addresses = []string{away, away}
	if _, err := client.Dial(t.Context(), info); entity.KindOf(err) != entity.Unavailable || !strings.Contains(err.Error(), "store is away") {
		t.Errorf("all are away: %v", err)
	}
	told := saying(entity.WithHint(entity.Errorf(entity.Unavailable, "the store is away since noon"), "Wait."))
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	info.Addresses = []string{told, gone.Listener.Addr().String(), told}
	for range 6 {
		if _, err := client.Dial(t.Context(), info); err == nil || err.Error() != "the store is away since noon" || entity.Hint(err) != "Wait." {
			t.Errorf("two are away and say what to do, and one is gone: %v (%s)", err, entity.Hint(err))
		}
	}
	info.Addresses, info.Password = []string{away, w.address}, "wrong"
	if _, err := client.Dial(t.Context(), info); entity.KindOf(err) != entity.Unauthorized {
		t.Errorf("one that knows rejects the password: %v", err)
	}
}
