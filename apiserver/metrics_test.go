package apiserver

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"juju/apiserver/admission"
	"juju/apiserver/client"
	"juju/apiserver/facades/facadestest"
	"juju/apiserver/params"
	"juju/doc/tools/verify"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/statetest"
)

// A meter notes what it is told.
type meter struct {
	mu   sync.Mutex
	said []string
}

func (m *meter) note(format string, args ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.said = append(m.said, fmt.Sprintf(format, args...))
}

func (m *meter) HookRan(model, service string, took time.Duration) {
	m.note("a hook of %s %s ran for %v", model, service, took)
}

func (m *meter) HookFailed(model, service string) { m.note("a hook of %s %s failed", model, service) }
func (m *meter) LoginRefused(why string)          { m.note("refused: %s", why) }

func (m *meter) expect(t *testing.T, what string, want ...string) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	if !slices.Equal(m.said, want) {
		t.Errorf("%s: the meter was told %q, want %q", what, m.said, want)
	}
	m.said = nil
}

// Prometheus gets the metrics with the password of a user who may read the controller's model, and nobody else does.
func TestWhoReadsTheMetrics(t *testing.T) {
	t.Parallel()
	m := &meter{}
	w := newWorld(t, func(c *Config) {
		c.Meter = m
		c.Metrics = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "juju_up 1\n") })
	}).populate()
	w.guests()
	for _, name := range []string{"prometheus", "root"} {
		w.addUser(name)
	}
	w.ok(w.controller.GrantModel(t.Context(), w.server.controllerModel.UUID(), "prometheus", controller.AccessRead, statetest.Admin))
	w.ok(w.controller.GrantController(t.Context(), "root", controller.AccessSuperuser))
	hc := &http.Client{Transport: &http.Transport{TLSClientConfig: clientTLS()}}
	t.Cleanup(hc.CloseIdleConnections)
	kept := false
	get := func(tag entity.Tag, password string) string {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), "GET", "https://"+w.address+"/metrics", nil)
		w.ok(err)
		r = r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { kept = i.Reused }}))
		if !tag.IsZero() {
			r.SetBasicAuth(params.TagOf(tag).String(), password)
			r.Header.Set(params.NonceHeader, "controller")
		}
		response, err := hc.Do(r)
		w.ok(err)
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		w.ok(err)
		return fmt.Sprint(response.StatusCode, " ", strings.TrimSpace(string(body)))
	}
	own := func(tag entity.Tag) string { t.Helper(); return get(tag, w.passwords[tag]) }
	for i := range 2 { // on one connection
		if got := own(entity.UserTag("prometheus")); got != "200 juju_up 1" || kept != (i == 1) {
			t.Errorf("with read access, the answer is %s, on a connection that was kept: %v", got, kept)
		}
	}
	if got := own(entity.UserTag("root")); got != "200 juju_up 1" {
		t.Errorf("for a superuser, the answer is %s", got)
	}
	m.expect(t, "those who may read")
	if got := own(entity.UserTag("bob")); !strings.HasPrefix(got, "403 ") || strings.Contains(got, "juju_up") {
		t.Errorf("without access, the answer is %s", got)
	}
	if got := get(entity.MachineTag("0"), w.manager); !strings.HasPrefix(got, "403 ") {
		t.Errorf("for the controller's machine, which may log in, the answer is %s", got)
	}
	if got := get(entity.UserTag("prometheus"), "guess"); !strings.HasPrefix(got, "403 ") {
		t.Errorf("with a wrong password, the answer is %s", got)
	}
	m.expect(t, "those who may not", "refused: denied", "refused: denied")
	if got := get(entity.Tag{}, ""); !strings.HasPrefix(got, "401 ") {
		t.Errorf("without a password, the answer is %s", got)
	}
}

// The meter is told of logins that are refused.
func TestMeterOfTheAPI(t *testing.T) {
	t.Parallel()
	m := &meter{}
	w := newWorld(t, func(c *Config) { c.Meter, c.Limits = m, DefaultLimits(); c.Limits.UserConns = 1 }).populate()
	refused := func(what string, info client.Info, want string) {
		t.Helper()
		if c, err := client.Dial(t.Context(), info); err == nil {
			c.Close()
			t.Errorf("%s can log in", what)
		}
		m.expect(t, what, "refused: "+want)
	}
	wrong := w.adminInfo(w.st.UUID())
	wrong.Password = "guess"
	refused("a wrong password", wrong, refusedDenied)
	b := w.browser()
	b.reads(403, b.send(http.MethodPost, "login", url.Values{"code": {"guess"}}))
	m.expect(t, "a browser's guess", "refused: "+refusedDenied)
	refused("a model that is not there", w.adminInfo("00000000-0000-4000-8000-000000000000"), refusedAbsent)
	w.dial(w.adminInfo(w.st.UUID()))
	refused("a second connection", w.adminInfo(w.st.UUID()), refusedFull)
	w.uniter(entity.UnitTag("mysql/0"))
	if load := w.server.Load(); load.Connections["unit agents"] != 1 || load.Connections["superusers"]+load.Connections["users"] != 1 {
		t.Errorf("the load is %+v", load)
	}
}

// The load counts the users whose passwords have not been checked yet.
func TestLoadOfLogins(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var done []func()
	for range w.server.limits.UserLogins {
		release, err := w.server.hashing.Take(t.Context(), verify.Patience, admission.Turn{})
		w.ok(err)
		done = append(done, release)
	}
	in := make(chan error, 1)
	go func() {
		c, err := client.Dial(t.Context(), w.adminInfo(w.st.UUID()))
		if err == nil {
			c.Close()
		}
		in <- err
	}()
	eventually(t, "the login does not wait", func() bool { return w.server.Load().Logins == 1 })
	for _, release := range done {
		release()
	}
	w.ok(facadestest.Receive(t, in))
	if n := w.server.Load().Logins; n != 0 {
		t.Errorf("%d logins are left", n)
	}
}
