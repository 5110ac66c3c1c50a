package client

import (
	"context"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"juju/apiserver/params"
	"juju/state/entity"
)

// at returns the address of a server that answers as f does.
func (f *fakeServer) at(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(f.serve))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

// Of several controllers, one that lets the client in is used. If none does, what one of them says about itself is the error,
// or that a login is refused, rather than that others can't be reached.
func TestSeveralControllers(t *testing.T) {
	t.Parallel()
	status := func(code int, text string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Error(w, text, code) }))
		t.Cleanup(s.Close)
		return strings.TrimPrefix(s.URL, "http://")
	}
	refuses := func(err error) string { return (&fakeServer{refusal: params.ToError(err)}).at(t) }
	none, works := "127.0.0.1:1", (&fakeServer{}).at(t) // nothing listens at the first
	full := refuses(entity.WithHint(entity.Errorf(entity.Unavailable, "the disk is full"), "Free some"))
	away := refuses(entity.Errorf(entity.Unavailable, "the store is away"))
	stranger := refuses(entity.Errorf(entity.Unauthorized, "permission denied"))
	busy, other := status(http.StatusServiceUnavailable, "busy"), status(http.StatusTeapot, "tea")
	explained := status(http.StatusNotFound, `{"error":"model not found","error-code":"not found"}`)
	for _, test := range []struct {
		addresses []string
		kind      entity.Kind
		says      []string // the whole error, in any order
	}{
		{[]string{works, none}, "", nil},
		{[]string{works, full}, "", nil},
		{[]string{works, busy, away}, "", nil},
		{[]string{none}, entity.Unavailable, []string{"cannot connect to the controller at " + none + ": dial tcp "}},
		{[]string{none, away}, entity.Unavailable, []string{"cannot connect to the controller at " + none, "the store is away"}},
		{[]string{full, none, away}, entity.Unavailable, []string{"the disk is full"}},
		{[]string{stranger, none}, entity.Unauthorized, []string{"permission denied"}},
		{[]string{busy}, entity.Unavailable, []string{"cannot connect to the controller at " + busy + ": it is too busy; try again"}},
		{[]string{other}, "", []string{"cannot connect to the controller at " + other + ": it responded with 418 I'm a teapot"}},
		{[]string{explained, none}, entity.NotFound, []string{"model not found"}},
	} {
		d := &dialer{info: Info{Addresses: test.addresses, Tag: entity.UserTag("bob")}}
		c, err := d.any(t.Context(), (*Conn).login)
		if c != nil {
			if got := c.Addresses(); len(got) != 1 || got[0] != works || test.says != nil {
				t.Errorf("%q: the connection is to %q, want %q", test.addresses, got, works)
			}
			c.Close()
			continue
		}
		if err == nil || test.says == nil || entity.KindOf(err) != test.kind {
			t.Errorf("%q: %v", test.addresses, err)
			continue
		}
		lines := strings.Split(err.Error(), "\n")
		for _, want := range test.says {
			if len(lines) != len(test.says) || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v, want %q", test.addresses, err, test.says)
			}
		}
		if hint := entity.Hint(err); (hint == "Free some") != (test.says[0] == "the disk is full") {
			t.Errorf("%q: the hint is %q", test.addresses, hint)
		}
		if errors.Is(err, ErrNoAnswer) != strings.Contains(err.Error(), none) {
			t.Errorf("%q: nothing has answered: %v", test.addresses, errors.Is(err, ErrNoAnswer))
		}
	}
}

// If two controllers let the client in at the same time, it uses one, and leaves the other.
func TestTwoControllersAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		both, n := make(chan struct{}), 0
		d := &dialer{info: (&fakeServer{}).info(t)}
		d.info.Addresses = []string{"a", "b"}
		dial := d.info.Dial
		d.info.Dial = func(ctx context.Context) (net.Conn, error) {
			mu.Lock()
			n++
			first := n == 1
			mu.Unlock()
			if first {
				<-both // it answers only when the other has been dialled
			} else {
				close(both)
			}
			return dial(ctx)
		}
		var all []*Conn
		in := make(chan struct{})
		used, err := d.any(t.Context(), func(c *Conn, _ context.Context) error {
			mu.Lock()
			if all = append(all, c); len(all) == 2 {
				close(in)
			}
			mu.Unlock()
			<-in
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		defer used.Close()
		for _, c := range all {
			if c == used && c.Err() != nil || c != used && c.Err() != error(errClosed) {
				t.Errorf("used: %v, ended: %v", c == used, c.Err())
			}
		}
	})
}

// A server must have a certificate of the controller's authority, in the name of all controllers.
func TestForeignServers(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // it would log the refused handshake
	s.StartTLS()
	t.Cleanup(s.Close)
	own := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
	address := strings.TrimPrefix(s.URL, "https://")
	c, err := connect(t.Context(), Info{Addresses: []string{address}, CACert: own}) // it is for another name
	if c != nil || !errors.Is(err, ErrForeign) || entity.KindOf(err) != "" {
		t.Errorf("%v", err)
	}
	for want, info := range map[string]Info{"cannot connect to the controller: no addresses": {CACert: own},
		"cannot connect to the controller: its CA certificate is not PEM": {Addresses: []string{address}, CACert: "x"}} {
		if _, err := Dial(t.Context(), info); !errors.Is(err, entity.Invalid) || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
