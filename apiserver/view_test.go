package apiserver

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"juju/apiserver/admission"
	"juju/apiserver/display"
	"juju/apiserver/facades/facadestest"
	"juju/apiserver/openapi/openapitest"
	"juju/apiserver/params"
	"juju/apiserver/statusfmt"
	"juju/doc/tools/verify"
	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/statetest"
)

// token makes a token for the model.
func (w *world) token(user, name string) string {
	w.Helper()
	text, _, err := w.controller.CreateToken(w.Context(), user, name, w.st.UUID(), time.Hour)
	w.ok(err)
	return text
}

// A program reads views over HTTPS.
type program struct {
	*world
	http.Client
	described openapitest.Description
}

func (w *world) program() *program {
	w.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(pki().ca.Cert))
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	w.Cleanup(transport.CloseIdleConnections)
	return &program{w, http.Client{Transport: transport}, openapitest.Load(w)}
}

// ask sends a GET with a token, unless that is "", and headers in pairs.
func (p *program) ask(path, token string, headers ...string) *http.Response {
	p.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*verify.Patience) // so that a test that waits gives up before
	p.Cleanup(cancel)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+p.address+path, nil)
	p.ok(err)
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	reply, err := p.Do(request)
	p.ok(err)
	p.Cleanup(func() { reply.Body.Close() })
	return reply
}

// get reads a reply that must have a status, and be as the description says.
func (p *program) get(status int, path, token string, headers ...string) (text string, reply *http.Response) {
	p.Helper()
	reply = p.ask(path, token, headers...)
	body, err := io.ReadAll(reply.Body)
	p.ok(err)
	reply.Body.Close()
	if reply.StatusCode != status {
		p.Errorf("GET %s: %s %s", path, reply.Status, body)
	}
	p.described.CheckReply(p, reply, body)
	return string(body), reply
}

// refused is get for an error, with its text.
func (p *program) refused(status int, want, path, token string, headers ...string) {
	p.Helper()
	text, reply := p.get(status, path, token, headers...)
	var e params.CharmsResponse
	if err := json.Unmarshal([]byte(text), &e); err != nil || e.Error != want {
		p.Errorf("GET %s: %s, want %q", path, text, want)
	}
	if asks := reply.Header.Get("WWW-Authenticate"); (status == http.StatusUnauthorized) != (asks == `Bearer realm="juju"`) {
		p.Errorf("GET %s: %d asks for %q", path, status, asks)
	}
}

// A program with a token reads what juju prints, and the description says what that is.
func TestViews(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	facadestest.OfferMySQL(w, w.st)
	p, token, conn := w.program(), w.token(statetest.Admin, "t"), w.dial(w.adminInfo(w.st.UUID()))

	text, reply := p.get(200, "/v1/status", token)
	status, err := conn.Status(t.Context())
	w.ok(err)
	var shown struct{ Controller struct{ Timestamp time.Time } }
	w.ok(json.Unmarshal([]byte(text), &shown))
	status.At = shown.Controller.Timestamp
	var printed strings.Builder
	w.ok(statusfmt.JSON(&printed, status, statusfmt.Options{Controller: w.controller.Name(), Location: time.UTC}))
	if text != printed.String() {
		t.Errorf("the status is\n%s\njuju prints\n%s", text, &printed)
	}
	if reply.Header.Get("Content-Type") != "application/json" || reply.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("its header is %v", reply.Header)
	}

	for name, words := range map[string][]string{"": nil, "mysql/0": {"mysql/0"}, "wordpress mysql": {"wordpress", "mysql"}} {
		path := "/v1/explain"
		if name != "" {
			path += "?entity=" + strings.ReplaceAll(name, " ", "+")
		}
		text, _ = p.get(200, path, token)
		all, _, err := conn.Explain(t.Context(), words...)
		w.ok(err)
		want, err := display.JSON(all)
		w.ok(err)
		if text != string(want) || !strings.Contains(text, "mysql") {
			t.Errorf("explain %q is\n%s\njuju prints\n%s", name, text, want)
		}
	}

	p.get(200, "/v1/openapi.json", "")
	p.refused(404, `cannot explain: unit "mysql/7" not found`, "/v1/explain?entity=mysql/7", token)
	p.refused(400, "cannot explain: the entity has no name", "/v1/explain?entity=", token)
	p.refused(400, `cannot explain: more than one "entity"`, "/v1/explain?entity=a&entity=b", token)
	p.refused(400, `cannot read the status: unknown parameter "x"`, "/v1/status?x=1", token)
	p.refused(400, `cannot read the status: the query is malformed`, "/v1/status?%zz", token)
	nothing := p.ask("/v1/nothing", token)
	if body, _ := io.ReadAll(nothing.Body); nothing.StatusCode != 404 || !strings.Contains(string(body), `{"error":"cannot find /v1/nothing"`) {
		t.Errorf("a path that is none: %s %s", nothing.Status, body)
	}
}

// More waits than one reply explains, and a program is told how much.
func TestAViewSaysThatThereIsMore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range 103 {
		_, err := w.st.AddMachine(t.Context(), state.AddMachineParams{})
		w.ok(err)
	}
	if text, reply := w.program().get(200, "/v1/explain", w.token(statetest.Admin, "t")); reply.Header.Get(MoreHeader) != "3" {
		t.Errorf("%s more, after %s", reply.Header.Get(MoreHeader), text)
	}
}

// A token is refused if it is wrong, has expired or was revoked, and while its user may not read the model. It is refused
// elsewhere than in the header, and for anything but reading its model. It shows no more than what a reader may see.
func TestTokensAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *Config) {
		c.Failures = func(string) []entity.WorkerFailure {
			return []entity.WorkerFailure{{Worker: "resumer", Error: "no disk"}}
		}
		c.Limits = DefaultLimits()
		c.Limits.Logins = 1000
	}).populate()
	p := w.program()
	w.addUser("bob")
	w.ok(w.controller.GrantModel(t.Context(), w.st.UUID(), "bob", controller.AccessRead, ""))
	bobs, token := w.token("bob", "t"), w.token(statetest.Admin, "t")
	const refused = "cannot read the status: "
	p.refused(401, refused+"there is no token", "/v1/status", "")
	p.refused(401, refused+"the token is not valid", "/v1/status", token+"x")
	p.refused(401, refused+"there is no token", "/v1/status", "", "Authorization", "Basic "+token)
	p.refused(401, "cannot follow the events: the token is not valid", "/v1/events", "x")
	for _, name := range []string{"token", "access_token", "Token"} {
		p.refused(400, refused+"a token must not be in the URL, which gets into logs", "/v1/status?"+name+"="+token, token)
	}

	if text, _ := p.get(200, "/v1/explain", token); strings.Contains(text, `"name":"controller"`) {
		t.Errorf("a superuser's token shows the controller's workers: %s", text)
	}
	other, err := w.controller.AddModel(t.Context(), statetest.NamedModel("other"))
	w.ok(err)
	if text, _ := p.get(200, "/v1/status", token); !strings.Contains(text, w.st.UUID()) || strings.Contains(text, other.UUID()) {
		t.Errorf("the token shows %s", text)
	}
	for _, path := range []string{"/log", "/charms?url=" + w.charms["mysql"], "/backups"} {
		if code, text := w.request("GET", path, "user-admin", token, ""); code != http.StatusForbidden {
			t.Errorf("the token as a password for %s: %d %s", path, code, text)
		}
		if reply := p.ask("/model/"+w.st.UUID()+path, token); reply.StatusCode != http.StatusUnauthorized {
			t.Errorf("the token for %s: %s", path, reply.Status)
		}
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH"} {
		request, err := http.NewRequest(method, "https://"+w.address+"/v1/status", nil)
		w.ok(err)
		request.Header.Set("Authorization", "Bearer "+token)
		reply, err := p.Do(request)
		w.ok(err)
		reply.Body.Close()
		if reply.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("%s: %s", method, reply.Status)
		}
	}

	p.get(200, "/v1/status", bobs)
	w.ok(w.controller.RevokeModel(t.Context(), w.st.UUID(), "bob", controller.AccessRead))
	p.refused(403, refused+"permission denied", "/v1/status", bobs)
	w.ok(w.controller.GrantModel(t.Context(), w.st.UUID(), "bob", controller.AccessWrite, ""))
	p.get(200, "/v1/status", bobs)
	w.ok(w.controller.DisableUser(t.Context(), "bob"))
	p.refused(403, refused+"permission denied", "/v1/status", bobs)

	w.ok(w.controller.RevokeToken(t.Context(), statetest.Admin, "t"))
	p.refused(401, refused+"the token is not valid", "/v1/status", token)
}

// Wrong tokens are limited as wrong passwords are: the connection ends, the log has some of them and no token, and others
// are served.
func TestABurstOfWrongTokens(t *testing.T) {
	t.Parallel()
	w := newWorld(t, limited(func(l *Limits) { l.Logins = 3 }))
	lines := make(chan string, 1000)
	w.server.failures.Log = func(line string) { lines <- line }
	token := w.token(statetest.Admin, "t")
	p := w.program()
	for i := range 100 {
		_, reply := p.get(401, "/v1/status", fmt.Sprint("jujutoken_guess", i))
		if closes := reply.Header.Get("Connection") == "close" || reply.Close; closes != (i%3 == 2) {
			t.Fatalf("guess %d closes the connection: %v", i, closes)
		}
	}
	p.get(200, "/v1/status", token)
	if n := len(lines); n == 0 || n > admission.FailuresLogged {
		t.Errorf("%d guesses are logged", n)
	}
	for len(lines) > 0 {
		if line := <-lines; strings.Contains(line, "guess") || !strings.Contains(line, "a token cannot access /v1/status: the token is not valid") {
			t.Errorf("logged: %s", line)
		}
	}
}

// A request whose header is too large is refused before anything is made of it.
func TestHugeHeaders(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.program()
	for _, name := range []string{"Authorization", "Last-Event-ID", "X"} {
		reply := p.ask("/v1/events", w.token(statetest.Admin, strings.ToLower(name)), name, "Bearer "+strings.Repeat("x", 64<<10))
		if reply.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("64 KiB of %s: %s", name, reply.Status)
		}
	}
	if _, err := w.controller.CheckToken(t.Context(), strings.Repeat("x", 30<<10)); err == nil {
		t.Error("a long token is valid")
	}
}
