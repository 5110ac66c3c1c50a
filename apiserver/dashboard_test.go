package apiserver

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"juju/apiserver/client"
	"juju/apiserver/dashboard"
	"juju/apiserver/debuglog"
	"juju/apiserver/facades"
	"juju/doc/tools/verify"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/statetest"
)

// A browser visits the dashboard: it keeps a cookie, and follows no redirects, so that tests see them.
type browser struct {
	*world
	http.Client
	cookie string
}

func (w *world) browser() *browser {
	w.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(pki().ca.Cert))
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	w.Cleanup(transport.CloseIdleConnections)
	return &browser{w, http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}, ""}
}

// send sends a request, with a form unless that is nil, and headers in pairs.
func (b *browser) send(method, path string, form url.Values, headers ...string) *http.Response {
	b.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*verify.Patience)
	b.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, method, "https://"+b.address+"/dashboard/"+path, strings.NewReader(form.Encode()))
	b.ok(err)
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	if b.cookie != "" {
		r.AddCookie(&http.Cookie{Name: sessionCookie, Value: b.cookie})
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	reply, err := b.Do(r)
	b.ok(err)
	b.Cleanup(func() { reply.Body.Close() })
	return reply
}

// reads returns the text of a reply that must have a status.
func (b *browser) reads(status int, reply *http.Response) string {
	b.Helper()
	body, err := io.ReadAll(reply.Body)
	b.ok(err)
	reply.Body.Close()
	if reply.StatusCode != status {
		b.Errorf("%s %s: %s\n%s", reply.Request.Method, reply.Request.URL, reply.Status, body)
	}
	return string(body)
}

func (b *browser) get(status int, path string, headers ...string) string {
	b.Helper()
	return b.reads(status, b.send(http.MethodGet, path, nil, headers...))
}

// logsIn begins a session of a user.
func (b *browser) logsIn(user string) *browser {
	b.Helper()
	code, _, err := b.controller.CreateLogin(b.Context(), user)
	b.ok(err)
	reply := b.send(http.MethodPost, "login", url.Values{"code": {code}})
	cookies := reply.Cookies()
	if reply.StatusCode != http.StatusSeeOther || len(cookies) != 1 {
		b.Fatalf("%s %v", reply.Status, cookies)
	}
	b.cookie = cookies[0].Value
	return b
}

// Guesses at log-ins and at sessions end a connection like others.
func TestGuessesOfBrowsersEndTheirConnection(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for path, guess := range map[string]func(*browser) *http.Response{
		"log-ins": func(b *browser) *http.Response {
			return b.send(http.MethodPost, "login", url.Values{"code": {"guess"}})
		},
		"sessions": func(b *browser) *http.Response {
			b.cookie = "guess"
			return b.send(http.MethodGet, "", nil)
		},
	} {
		b := w.browser()
		for n := 1; n <= w.server.limits.Logins; n++ {
			reply := guess(b)
			_, err := io.Copy(io.Discard, reply.Body)
			w.ok(err)
			if ends := n == w.server.limits.Logins; reply.Close != ends {
				t.Errorf("guess %d at %s: the connection ends: %v, want %v", n, path, reply.Close, ends)
			}
		}
	}
}

// A log-in begins one session, whose cookie scripts and other pages can't use, and which ends when its user logs out.
func TestDashboardSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	b := w.browser()
	sent := b.send(http.MethodGet, "admin/default/", nil)
	if sent.StatusCode != http.StatusSeeOther || sent.Header.Get("Location") != "/dashboard/login" {
		t.Errorf("without a session: %s to %q", sent.Status, sent.Header.Get("Location"))
	}
	if text := b.get(200, "login"); !strings.Contains(text, "juju dashboard") || strings.Contains(text, "mysql") {
		t.Errorf("the page for a log-in:\n%s", text)
	}

	api := w.dial(w.adminInfo(""))
	code, expires, err := api.CreateLogin(t.Context())
	if err != nil || time.Until(expires) > controller.LoginAge {
		t.Fatalf("until %v, %v", expires, err)
	}
	began := b.send(http.MethodPost, "login", url.Values{"code": {code}})
	c := began.Cookies()[0]
	if !c.HttpOnly || !c.Secure || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Domain != "" || !strings.HasPrefix(c.Name, "__Host-") {
		t.Errorf("the cookie is %v", c)
	}
	again := b.reads(403, b.send(http.MethodPost, "login", url.Values{"code": {code}}))
	if !strings.Contains(again, "this log-in has been used, or has expired") || strings.Contains(again, code) {
		t.Errorf("the log-in is used again:\n%s", again)
	}
	b.cookie = c.Value
	reply := b.send(http.MethodGet, "admin/default/", nil)
	if h := reply.Header; h.Get("Content-Security-Policy") != pagePolicy || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Cache-Control") != "no-store" {
		t.Errorf("a page has %v", h)
	}
	text := b.reads(200, reply)
	file := text[strings.Index(text, "/dashboard/static/")+len("/dashboard/"):]
	file = file[:strings.IndexByte(file, '"')]
	if style := b.send(http.MethodGet, file, nil); style.StatusCode != 200 || !strings.Contains(style.Header.Get("Cache-Control"), "immutable") {
		t.Errorf("%s: %s %v", file, style.Status, style.Header)
	}
	if none := b.send(http.MethodGet, file+"x", nil); none.StatusCode != 404 {
		t.Errorf("a file that is not there: %s", none.Status)
	}
	if text := b.reads(404, b.send(http.MethodGet, "admin/nosuch/", nil)); !strings.Contains(text, "Not found") {
		t.Errorf("a model that is not there:\n%s", text)
	}

	out := b.send(http.MethodPost, "logout", url.Values{})
	if out.StatusCode != http.StatusSeeOther || out.Cookies()[0].Value != "" {
		t.Errorf("logged out: %s %v", out.Status, out.Cookies())
	}
	if after := b.send(http.MethodGet, "admin/default/", nil); after.StatusCode != http.StatusSeeOther {
		t.Errorf("with the cookie of a session that has ended: %s", after.Status)
	}
}

// Each page shows what the model has.
func TestDashboardPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	b := w.browser().logsIn(statetest.Admin)
	for path, want := range map[string][]string{
		"":                                  {"admin/default", `class="n">4<`, "Users", "admin"},
		"admin/default/":                    {`id="topology"`, `events?page="`},
		"admin/default/services":            {`id="s-mysql"`, `id="s-wordpress"`},
		"admin/default/units":               {`id="u-mysql/0"`, `href="/dashboard/admin/default/unit/wordpress/1"`},
		"admin/default/units?after=mysql/1": {`id="u-wordpress/0"`},
		"admin/default/machines":            {`id="m-3"`, "i-3", "127.0.1.3"},
		"admin/default/waits":               {"unit mysql/0"},
		"admin/default/removals":            {"Nothing is being removed"},
		"admin/default/changes":             {"unit ", "mysql/1"},
		"admin/default/operations":          {"No action has been run"},
		"admin/default/access":              {"admin", "Grant"},
		"admin/default/service/mysql":       {"<td>size</td>", `name="was-size" value="5"`, "destroy-relation%20wordpress%3adb%20mysql%3aserver"},
		"admin/default/unit/mysql/0":        {"resolved%20mysql%2f0", `data-log="/dashboard/admin/default/log?entity=unit-mysql-0"`, "<h3>server"},
		"admin/default/machine/2":           {"i-2", "127.0.1.2", "wordpress/0", "destroy-machine%202"},
	} {
		text := b.get(200, path)
		for _, one := range want {
			if !strings.Contains(text, one) {
				t.Errorf("%q has no %s:\n%s", path, one, text)
			}
		}
		if strings.Contains(path, "after=") && strings.Contains(text, "mysql/0") {
			t.Errorf("%q has mysql/0", path)
		}
	}
	part := b.get(200, "admin/default/services", partHeader, "1")
	if strings.Contains(part, "<html") || !strings.Contains(part, `id="s-mysql"`) {
		t.Errorf("the part of a page:\n%s", part)
	}
	var p dashboard.Topology
	w.ok(json.Unmarshal([]byte(b.get(200, "admin/default/topology.json")), &p))
	if len(p.Nodes) != 2 || p.Nodes[0].Units != 2 || len(p.Edges) != 1 {
		t.Errorf("the topology has %+v", p)
	}
	for path, want := range map[string]string{
		"admin/nosuch/":              "not found",
		"eve/default/":               "not found",
		"admin":                      "there is no such page",
		"admin/default/nosuch":       "there is no such page",
		"admin/default/unit/":        "there is no such page",
		"admin/default/services/x":   "there is no such page",
		"admin/default/unit/mysql/7": "there is no unit mysql/7",
		"admin/default/service/x":    "there is no service x",
		"admin/default/operation/9":  "not found",
	} {
		if text := b.get(404, path); !strings.Contains(text, want) {
			t.Errorf("%q:\n%s", path, text)
		}
	}
}

// Pages show no one more than the API does, and who may only read gets no buttons.
func TestDashboardAccess(t *testing.T) {
	t.Parallel()
	w := newWorld(t, runsCommands).populate()
	w.guests()
	b := w.browser().logsIn("bob")
	if text := b.get(200, ""); strings.Contains(text, "admin/default") || !strings.Contains(text, "bob/mine") {
		t.Errorf("bob's models:\n%s", text)
	}
	for _, path := range []string{"", "unit/mysql/0", "topology.json", "events", "log?entity=unit-mysql-0", "command?line=add-machine"} {
		if text := b.get(403, "admin/default/"+path); strings.Contains(text, "mysql") {
			t.Errorf("%q shows\n%s", path, text)
		} else if none := b.get(403, "admin/nosuch/"+path); none != text {
			t.Errorf("%q of a model that is there:\n%s\nand of one that is not:\n%s", path, text, none)
		}
	}
	w.ok(w.controller.GrantModel(t.Context(), w.st.UUID(), "bob", "read", ""))
	for _, path := range []string{"service/mysql", "unit/mysql/0", "machine/0", "machines", "waits"} {
		if text := b.get(200, "admin/default/"+path); strings.Contains(text, "data-command") {
			t.Errorf("a reader's page %q has buttons:\n%s", path, text)
		}
	}
	if text := b.get(200, "admin/default/access"); !strings.Contains(text, `id="a-bob"`) || strings.Contains(text, `id="a-admin"`) {
		t.Errorf("a reader sees the users:\n%s", text)
	}
	text := b.reads(200, b.send(http.MethodPost, "admin/default/command", url.Values{"line": {"add-machine"}}))
	needConfinement(t, []string{text})
	if !strings.Contains(text, "permission denied") {
		t.Errorf("a reader runs a command:\n%s", text)
	}
	b.reads(403, b.send(http.MethodPost, "admin/default/positions", url.Values{"service": {"mysql"}, "x": {"1"}, "y": {"2"}}))
}

// Another page can make a browser send requests, but they change nothing.
func TestDashboardRefusesOtherOrigins(t *testing.T) {
	t.Parallel()
	w := newWorld(t, runsCommands).populate()
	b := w.browser().logsIn(statetest.Admin)
	for _, header := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Sec-Fetch-Site", "", "Origin", "https://evil.example"}} {
		for _, path := range []string{"login", "logout", "admin/default/command", "admin/default/positions"} {
			b.reads(403, b.send(http.MethodPost, path, url.Values{"line": {"add-machine"}, "service": {"mysql"}}, header...))
		}
	}
	b.get(200, "admin/default/")
	// A page of another port of the host is of the same site, so browsers send the cookie with its requests.
	for _, site := range []string{"same-site", "cross-site"} {
		for _, path := range []string{"admin/default/command?line=add-machine", "admin/default/topology.json", "admin/default/events", "admin/default/units"} {
			b.get(403, path, "Sec-Fetch-Site", site, "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "script")
			b.get(403, path, "Sec-Fetch-Site", site, "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe")
		}
		b.get(200, "admin/default/units", "Sec-Fetch-Site", site, "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document")
		b.get(403, "admin/default/command?line=add-machine", "Sec-Fetch-Site", site, "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document")
		b.get(200, "login", "Sec-Fetch-Site", site, "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document")
	}
	b.reads(404, b.send(http.MethodPost, "admin/default/services", url.Values{}))
	b.reads(400, b.send(http.MethodPost, "admin/default/command", url.Values{"line": {strings.Repeat("x", maxForm)}}))
	if text := b.get(400, "admin/default/command?form=nosuch"); !strings.Contains(text, "there is no form nosuch") {
		t.Error(text)
	}
}

// A command is planned by a GET and run by a POST, as the user of the page, and the audit log says so.
func TestDashboardRunsCommands(t *testing.T) {
	t.Parallel()
	w := newWorld(t, runsCommands).populate()
	b := w.browser().logsIn(statetest.Admin)
	plan := b.get(200, "admin/default/command?form=scale&service=mysql&units=4", partHeader, "1")
	needConfinement(t, []string{plan})
	for _, want := range []string{"juju add-unit mysql -n 2", "plan of add-unit mysql -n 2 in admin/default", "Run it", `value="add-unit mysql -n 2"`} {
		if !strings.Contains(plan, want) {
			t.Errorf("the plan has no %q:\n%s", want, plan)
		}
	}
	if strings.Index(plan, "Plan again") > strings.Index(plan, "Run it") {
		t.Error("the return key, which is the first button, runs a line that was edited and not planned")
	}
	large := url.Values{"form": {"config"}, "service": {"mysql"}, "set-text": {strings.Repeat("x", 64<<10)}, "was-text": {""}}
	for _, form := range []url.Values{large, {"line": {"add-unit mysql"}, "plan": {"1"}}} {
		if text := b.reads(200, b.send(http.MethodPost, "admin/default/command", form)); !strings.Contains(text, "Plan</h1>") || !strings.Contains(text, "plan of ") {
			t.Errorf("a form that is sent by POST is not planned:\n%.2000s", text)
		}
	}
	done := b.reads(200, b.send(http.MethodPost, "admin/default/command", url.Values{"line": {"juju add-unit mysql -n 2"}}))
	if !strings.Contains(done, "Done") || !strings.Contains(done, "add-unit mysql -n 2 in admin/default &lt;nil&gt;") {
		t.Errorf("it was run:\n%s", done)
	}
	entries, err := w.controller.AuditLog(t.Context(), entity.AuditFilter{Limit: 10})
	if err != nil || len(entries) == 0 || entries[0].User != statetest.Admin || !strings.HasPrefix(entries[0].From, "127.0.0.1:") {
		t.Errorf("audited: %+v, %v", entries, err)
	}
}

// Services stay where a user has put them, until they are arranged anew.
func TestDashboardStoresPositions(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	b := w.browser().logsIn(statetest.Admin)
	put := func(status int, form url.Values) {
		b.reads(status, b.send(http.MethodPost, "admin/default/positions", form))
	}
	at := func() map[string]string {
		all, err := w.dial(w.adminInfo(w.st.UUID())).Annotations(t.Context(), entity.ServiceTag("mysql"))
		w.ok(err)
		return all[0]
	}
	put(204, url.Values{"service": {"mysql"}, "x": {"10"}, "y": {"-20"}})
	if a := at(); a["gui-x"] != "10" || a["gui-y"] != "-20" {
		t.Errorf("it is at %v", a)
	}
	put(400, url.Values{"service": {"mysql"}, "x": {"10"}})
	put(400, url.Values{"service": {"mysql"}, "x": {"1e300"}, "y": {"0"}})
	put(404, url.Values{"service": {"nosuch"}, "x": {"1"}, "y": {"0"}})
	put(204, url.Values{"service": {"mysql"}})
	if a := at(); len(a) != 0 {
		t.Errorf("it still is at %v", a)
	}
}

// streams follows a stream of a page.
func (b *browser) streams(path string) *events {
	b.Helper()
	reply := b.send(http.MethodGet, path, nil)
	if reply.StatusCode != 200 || reply.Header.Get("Content-Type") != "text/event-stream" {
		b.Fatalf("%s: %s", path, reply.Status)
	}
	e := &events{program: b.program(), lines: bufio.NewScanner(reply.Body), close: reply.Body.Close}
	e.lines.Scan() // retry
	e.lines.Scan()
	return e
}

// named reads the next event that is no comment, which must have a name.
func (e *events) named(want string) anEvent {
	e.Helper()
	for {
		one, ok := e.next()
		if ok && one.comment {
			continue
		}
		if !ok || one.name != want {
			e.Fatalf("there is %+v, want %s", one, want)
		}
		return one
	}
}

// A page hears of what it shows, and of nothing else, until its session ends.
func TestDashboardEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	b := w.browser().logsIn(statetest.Admin)
	says := func(unit, message string) {
		u, err := w.st.Unit(t.Context(), unit)
		w.ok(err)
		w.ok(u.SetStatus(t.Context(), entity.Status{Status: entity.StatusActive, Message: message}))
	}
	one, all := b.streams("admin/default/events?page=unit/mysql/0"), b.streams("admin/default/events?page=units")
	one.named("changed")
	all.named("changed")
	says("mysql/1", "first")
	all.named("changed")
	for !strings.Contains(b.get(200, "admin/default/units"), "first") {
		all.named("changed")
	}
	says("mysql/0", "second")
	heard := one.named("changed")
	if !strings.Contains(b.get(200, "admin/default/unit/mysql/0"), "second") {
		t.Errorf("the page of mysql/0 heard %v before its status", heard)
	}
	b.reads(303, b.send(http.MethodPost, "logout", url.Values{}))
	one.ends("the token was revoked, or its user may no longer read the model")
}

// The log of an agent grows on its page; no other agent's lines come.
func TestDashboardLog(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	b := w.browser().logsIn(statetest.Admin)
	logged := func(tag, text string) {
		w.ok(w.logs.Append(w.st.UUID(), debuglog.Message{Entity: tag, Timestamp: time.Now(), Severity: "INFO", Module: "m", Message: text}))
	}
	logged("unit-mysql-0", "<b>old</b>")
	logged("unit-mysql-1", "foreign")
	e := b.streams("admin/default/log?entity=unit-mysql-0")
	if one := e.named("line"); strings.Contains(one.data, "<b>") || !strings.Contains(one.data, "old") {
		t.Errorf("the first line is %s", one.data)
	}
	logged("unit-mysql-1", "foreign")
	logged("unit-mysql-0", "new")
	if one := e.named("line"); !strings.Contains(one.data, "new") {
		t.Errorf("the next line is %s", one.data)
	}
	b.get(400, "admin/default/log?entity=x")
	b.reads(200, b.send(http.MethodHead, "admin/default/log?entity=unit-mysql-0", nil))
	b.reads(200, b.send(http.MethodHead, "admin/default/events", nil))
	b.get(200, "admin/default/units") // the connection is free
}

// The text of a session logs its user in to the API, and no one else.
func TestASessionIsAPasswordOfItsUser(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	w.guests()
	b := w.browser().logsIn("bob")
	dial := func(user, model, password string) error {
		info := w.adminInfo(model)
		info.Tag, info.Password = entity.UserTag(user), password
		conn, err := client.Dial(t.Context(), info)
		if err == nil {
			conn.Close()
		}
		return err
	}
	w.ok(dial("bob", "", b.cookie))
	for user, model := range map[string]string{"eve": "", statetest.Admin: "", "bob": w.st.UUID()} {
		if err := dial(user, model, b.cookie); entity.KindOf(err) != entity.Unauthorized {
			t.Errorf("%s in %q: %v", user, model, err)
		}
	}
	if err := dial("bob", "", b.cookie+"x"); entity.KindOf(err) != entity.Unauthorized {
		t.Errorf("another text: %v", err)
	}
}

// What a session has logged in ends with the session, and it can't outlive that by what it makes.
func TestNothingOutlivesASession(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	b := w.browser().logsIn(statetest.Admin)
	dial := func(model string) *client.Conn {
		info := w.adminInfo(model)
		info.Password = b.cookie
		return w.dial(info)
	}
	home, api := dial(""), dial(w.st.UUID())
	// A second opinion on the tables: what makes or shows a credential, gives rights, copies the store, or replaces programs.
	outlive := []string{"ApplicationOffers.GetConsumeDetails", "ApplicationOffers.ModifyOfferAccess", "Backups.Create", "Cloud.AddCredentials",
		"Cloud.CredentialContents", "Cloud.UpdateCredentialsCheckModels", "Controller.CloudSpec", "Controller.ModifyControllerAccess",
		"KeyManager.AddKeys", "KeyManager.ImportKeys", "MachineManager.ProvisioningScript", "ModelManager.DumpModels", "ModelManager.DumpModelsDB",
		"ModelManager.ModifyModelAccess", "Tokens.Create", "Tokens.CreateLogin", "UserManager.AddUser", "UserManager.EnableUser",
		"UserManager.ResetPassword", "UserManager.SetPassword", "POST /tools", "GET /backups"}
	check := func(name string, refused bool) {
		t.Helper()
		if i := slices.Index(outlive, name); refused != (i >= 0) {
			t.Errorf("%s is refused in a session: %v", name, refused)
		}
	}
	const says = "a session of a browser may not do this"
	atHome, atModel := w.raw("/api"), w.raw(w.modelPath())
	atHome.login(entity.UserTag(statetest.Admin), b.cookie, "")
	atModel.login(entity.UserTag(statetest.Admin), b.cookie, "")
	for _, r := range routes() {
		if r.Who&facades.Reader == 0 || r.Facade == "Admin" || r.Method == "DestroyController" {
			continue
		}
		conn := atModel
		if r.At&facades.AtController != 0 {
			conn = atHome
		}
		err := conn.do(r.Facade, r.Version, r.Method, map[string]any{}, nil)
		check(r.Facade+"."+r.Method, err != nil && err.Error() == says)
	}
	for _, e := range endpoints() {
		if e.who&facades.Reader == 0 || e.path == "/log" {
			continue
		}
		path := strings.NewReplacer("{", "", "}", "").Replace(e.path)
		_, text := w.request(e.method, path, "user-"+statetest.Admin, b.cookie, "")
		check(e.method+" "+e.path, strings.Contains(text, says))
	}
	b.reads(303, b.send(http.MethodPost, "logout", url.Values{}))
	for _, conn := range []*client.Conn{home, api} {
		select {
		case <-conn.Context().Done():
		case <-time.After(verify.Patience):
			t.Fatal("a connection outlives the session that it is logged in with")
		}
	}
}
