package apiserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strings"
	"time"

	"juju/apiserver/client"
	"juju/apiserver/dashboard"
	"juju/apiserver/debuglog"
	"juju/apiserver/facades"
	"juju/apiserver/logs"
	"juju/apiserver/params"
	"juju/state/controller"
	"juju/state/entity"
)

// sessionCookie is the name of the cookie with a session. Browsers send it to this host only, though to all of its ports, over
// TLS only, and not with requests that pages of other sites make; scripts can't read it.
const sessionCookie = "__Host-juju-session"

// pagePolicy lets pages load and send what is the controller's own, and nothing else.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// A pageVisit is a request for a page of the dashboard.
type pageVisit struct {
	*visitor // its model is nil outside one
	row      controller.ModelRow
	addr     net.Addr // of the browser
}

// serveDashboard serves the pages, and what belongs to them.
func (s *Server) serveDashboard(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", pagePolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	below := strings.TrimPrefix(r.URL.Path, dashboard.Path)
	if file, ok := strings.CutPrefix(below, "static/"); ok {
		s.serveStatic(w, r, file)
		return
	}
	if err := http.NewCrossOriginProtection().Check(r); err != nil || isOfAnotherPage(r) {
		http.Error(w, "a page of another origin sent this request", http.StatusForbidden)
		return
	}
	var err error
	switch {
	case r.Method == http.MethodPost && below == "login":
		err = s.pageLogin(w, r)
	case r.Method == http.MethodPost && below == "logout":
		err = s.pageLogout(w, r)
	case below == "login":
		s.writePage(w, http.StatusOK, "login", dashboard.Page{Title: "Log in", Controller: s.controller.Name()}, false)
	default:
		err = s.page(w, r, below)
	}
	if err != nil {
		s.writePageError(w, r, err)
	}
}

// isOfAnotherPage reports whether a page of another origin has sent a request, other than by a link to a page that shows
// something. Those of other ports of the host are of the same site: browsers send the cookie with their requests.
func isOfAnotherPage(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "same-site", "cross-site":
		return r.Header.Get("Sec-Fetch-Mode") != "navigate" || r.Header.Get("Sec-Fetch-Dest") != "document" || strings.HasSuffix(r.URL.Path, "/command")
	}
	return false
}

func (s *Server) serveStatic(w http.ResponseWriter, r *http.Request, name string) {
	text, kind, ok := dashboard.StaticFile(name)
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable") // another content has another path
	w.Header().Set("Content-Type", kind)
	_, _ = w.Write(text)
}

// pageLogin begins a session with a log-in.
func (s *Server) pageLogin(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, 4096)
	g := netConnOf(r.Context())
	defer g.busy()()
	text, session, err := s.controller.BeginSession(controller.Began(r.Context()), r.PostFormValue("code"))
	if errors.Is(err, entity.Unauthorized) {
		s.failed(g, r.RemoteAddr, "a browser cannot log in", err)
		s.writePage(w, http.StatusForbidden, "login", dashboard.Page{Title: "Log in", Controller: s.controller.Name(), Content: err.Error()}, false)
		return nil
	}
	if err != nil {
		return err
	}
	if err := s.barrier(r.Context()); err != nil {
		return err
	}
	setSession(w, text, session.Expires)
	http.Redirect(w, r, dashboard.Path, http.StatusSeeOther)
	return nil
}

func setSession(w http.ResponseWriter, text string, expires time.Time) {
	http.SetCookie(w, &http.Cookie{Name: sessionCookie, Value: text, Path: "/", Expires: expires, Secure: true, HttpOnly: true,
		SameSite: http.SameSiteStrictMode})
}

func (s *Server) pageLogout(w http.ResponseWriter, r *http.Request) error {
	ctx := controller.Began(r.Context())
	if c, err := r.Cookie(sessionCookie); err == nil {
		session, err := s.controller.CheckSession(ctx, c.Value)
		if err == nil {
			err = s.controller.EndSession(ctx, session.ID)
		}
		if err != nil && !errors.Is(err, entity.Unauthorized) {
			return err
		}
	}
	if err := s.barrier(ctx); err != nil {
		return err
	}
	setSession(w, "", time.Unix(1, 0))
	http.Redirect(w, r, dashboard.Path+"login", http.StatusSeeOther)
	return nil
}

// page serves a page to who has a session.
func (s *Server) page(w http.ResponseWriter, r *http.Request, below string) error {
	owner, rest, inModel := strings.Cut(below, "/")
	name, rest, _ := strings.Cut(rest, "/")
	post := r.Method == http.MethodPost
	if below != "" && (!inModel || name == "") || post && rest != "command" && rest != "positions" {
		return entity.Errorf(entity.NotFound, "there is no such page")
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		return entity.Errorf(entity.Invalid, "the form is malformed or too large")
	}
	var v *pageVisit
	err := s.visit(r.WithContext(controller.Began(r.Context())), func(r *http.Request) (*visitor, error) {
		var err error
		if v, err = s.pageVisit(r, owner, name); err != nil {
			return nil, err
		}
		return v.visitor, nil
	}, func(*visitor) error {
		if v.Roles&facades.Reader == 0 && name != "" {
			return facades.Lacks(v.Identity, v.model, facades.Reader)
		}
		if name == "" {
			return s.modelsPage(r.Context(), w, v)
		}
		return s.modelPage(w, r, v, rest)
	})
	return err
}

// maxForm limits the bytes of a form: a command line, or a service's settings.
const maxForm = 256 << 10

// pageVisit authenticates a request by its session.
func (s *Server) pageVisit(r *http.Request, owner, name string) (*pageVisit, error) {
	c, err := r.Cookie(sessionCookie)
	if err != nil {
		return nil, errNoSession
	}
	ctx := r.Context()
	g := netConnOf(ctx)
	defer g.busy()()
	in, err := s.controller.CheckSession(ctx, c.Value)
	if errors.Is(err, entity.Unauthorized) {
		s.failed(g, r.RemoteAddr, "a session of a browser is not valid", err)
		return nil, errNoSession
	} else if err != nil {
		return nil, err
	}
	v := &pageVisit{visitor: &visitor{model: s.controllerModel}, addr: g.Conn.RemoteAddr()}
	uuid := ""
	if name != "" {
		if v.row, err = s.modelNamed(ctx, owner, name); err != nil {
			return nil, err
		}
		uuid = v.row.UUID
		if v.model, err = s.controller.Model(ctx, uuid); err != nil {
			return nil, err
		}
	}
	v.identity, err = s.identifySession(ctx, in, c.Value, uuid)
	return v, err
}

// errNoSession sends who has no session to the page for a log-in.
var errNoSession = errors.New("there is no session")

func (s *Server) modelNamed(ctx context.Context, owner, name string) (controller.ModelRow, error) {
	rows, err := s.controller.Models(ctx)
	for _, row := range rows {
		if strings.EqualFold(row.Owner, owner) && row.Name == name {
			return row, err
		}
	}
	return controller.ModelRow{}, cmp.Or(err, error(entity.Errorf(entity.NotFound, "model %q not found", owner+"/"+name)))
}

func (s *Server) modelsPage(ctx context.Context, w http.ResponseWriter, v *pageVisit) error {
	api, err := s.pageClient(ctx, v, "")
	if err != nil {
		return err
	}
	defer api.Close()
	models, err := dashboard.ReadModels(ctx, api)
	if err != nil {
		return err
	}
	s.writePage(w, http.StatusOK, "models", dashboard.Page{Title: "Models", Controller: s.controller.Name(), User: v.session.User, Content: models}, false)
	return nil
}

// pageClient logs the user of a page in to the API of a model, or with "" of the controller, from where the user is.
func (s *Server) pageClient(ctx context.Context, v *pageVisit, model string) (*client.Conn, error) {
	return client.Dial(ctx, client.Info{Model: model, Tag: v.Tag, Password: v.session.text, Dial: func(ctx context.Context) (net.Conn, error) {
		ours, theirs := net.Pipe()
		return ours, s.handed.hand(ctx, fromUser{theirs, v.addr})
	}})
}

// modelPage serves a page of a model.
func (s *Server) modelPage(w http.ResponseWriter, r *http.Request, v *pageVisit, below string) error {
	m, done, leave, err := s.mirrors.Open(r.Context(), v.row.UUID, facades.NewView(s.backend, v.model).Watch)
	if err != nil {
		return err
	}
	defer leave()
	p := dashboard.Page{Controller: s.controller.Name(), User: v.session.User, Model: v.row.Owner + "/" + v.row.Name,
		Writes: v.Roles&facades.Writer != 0}
	name := ""
	switch below {
	case "picture.json":
		return s.writePicture(w, r, m.Picture())
	case "events":
		return s.pageEvents(w, r, v, m, done)
	case "log":
		return s.pageLog(w, r, v)
	case "positions":
		return s.storePosition(w, r, v)
	case "command":
		name, err = s.commandPage(r, v, m, &p)
	default:
		name, err = p.Read(r.Context(), below, dashboard.Visit{Mirror: m, Model: v.row.UUID, After: r.Form.Get("after"),
			Connect: func(ctx context.Context, model string) (*client.Conn, error) { return s.pageClient(ctx, v, model) }})
	}
	if err != nil {
		return err
	}
	if err := s.barrier(r.Context()); err != nil {
		return err
	}
	s.writePage(w, http.StatusOK, name, p, r.Header.Get(partHeader) != "")
	return nil
}

// partHeader is set by a page that is shown already, and needs only what has changed.
const partHeader = "Juju-Part"

// commandPage plans a command line of a page, or runs it.
func (s *Server) commandPage(r *http.Request, v *pageVisit, m *dashboard.Mirror, p *dashboard.Page) (name string, err error) {
	// Forms are posted also to be planned: those of settings can be too large for an address.
	ran := r.Method == http.MethodPost && r.Form.Get("form") == "" && r.Form.Get("plan") == ""
	c := &dashboard.Command{Ran: ran, Writes: p.Writes}
	p.Title, p.Content = "Command", c
	if c.Line, err = dashboard.CommandLine(r.Form, m); err != nil {
		return "", err
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	runner := commandRunner{Server: s, uuid: v.row.UUID, addr: v.addr, netConn: netConnOf(r.Context()), cancel: cancel, plans: !c.Ran}
	return "command", c.Do(ctx, func(ctx context.Context, line string, print func(string) error) error {
		return runner.run(ctx, params.CLICommands{User: v.Tag.ID, Credentials: v.session.text, Commands: []string{line}}, print)
	})
}

// storePosition stores where a user has put a service in the picture, or that it has no place any more.
func (s *Server) storePosition(w http.ResponseWriter, r *http.Request, v *pageVisit) error {
	at, err := dashboard.Position(r.PostForm)
	if err != nil {
		return err
	}
	api, err := s.pageClient(r.Context(), v, v.row.UUID)
	if err != nil {
		return err
	}
	defer api.Close()
	if err := api.SetAnnotations(r.Context(), entity.ServiceTag(r.PostForm.Get("service")), at); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) writePicture(w http.ResponseWriter, r *http.Request, p dashboard.Picture) error {
	text, err := json.Marshal(p)
	if err == nil {
		err = s.barrier(r.Context())
	}
	if err == nil {
		s.writeText(w, http.StatusOK, text)
	}
	return err
}

// writePage responds with a page, or with the part of it that changes.
func (s *Server) writePage(w http.ResponseWriter, status int, name string, p dashboard.Page, part bool) {
	render := dashboard.Render
	if part {
		render = dashboard.RenderPart
	}
	text, err := render(name, p)
	if err != nil {
		logger.Errorf("cannot make the page %q: %v", name, err)
		http.Error(w, "the page cannot be made; the controller's log says why", http.StatusInternalServerError)
		return
	}
	s.writeHTML(w, status, text)
}

func (s *Server) writeHTML(w http.ResponseWriter, status int, text []byte) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.limits.WriteTime))
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(text)
}

// writePageError responds with what went wrong, or to who has no session with the page for a log-in.
func (s *Server) writePageError(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, errNoSession) {
		// A page that is shown learns it too: its requests fail at a redirect.
		http.Redirect(w, r, dashboard.Path+"login", http.StatusSeeOther)
		return
	}
	e := facades.WireError(r.Method+" "+r.URL.Path, err)
	status := cmp.Or(httpStatus[entity.Kind(e.Code)], http.StatusInternalServerError)
	title := "It failed"
	if status == http.StatusNotFound {
		title = "Not found"
	}
	s.writePage(w, status, "failed", dashboard.Page{Title: title, Controller: s.controller.Name(), Content: e.Message}, r.Header.Get(partHeader) != "")
}

// pagePause is how long after one event of a page the next one comes at the earliest, so that a busy model does not keep
// browsers and the controller busy.
const pagePause = 250 * time.Millisecond

// pageStream begins a stream to a page, which lasts until the session ends or its user may no longer read the model.
func (s *Server) pageStream(w http.ResponseWriter, r *http.Request, v *pageVisit) (e *sse, leave func(), err error) {
	uncount, err := s.members.watch(v.row.UUID, v.identity)
	if err != nil {
		return nil, nil, err
	}
	e, end := s.newSSE(w, r)
	stop := e.guard(streamAccess{model: v.model, identity: v.identity, expires: v.session.Expires,
		changes: s.watchRights(e.ctx, v.identity, v.row.UUID),
		look:    func() (identity, error) { return s.identifyBy(e.ctx, v.identity, v.row.UUID) }})
	return e, func() { stop(); end(); uncount() }, nil
}

// A logLine is a line of an agent's log, as a page gets it.
type logLine struct {
	Time     time.Time `json:"time"`
	Severity string    `json:"severity"`
	Module   string    `json:"module"`
	Message  string    `json:"message"`
}

// pageBacklog is how many lines a page shows of what was logged before.
const pageBacklog = 200

// pageLog sends a page the log of an agent as it grows.
func (s *Server) pageLog(w http.ResponseWriter, r *http.Request, v *pageVisit) error {
	tag, err := entity.ParseTag(r.Form.Get("entity"))
	if err != nil {
		return err
	}
	e, leave, err := s.pageStream(w, r, v)
	if err != nil {
		return err
	}
	defer leave()
	if r.Method == http.MethodHead || e.begin() != nil {
		return nil
	}
	q := logs.Query{Filter: logs.Filter{IncludeEntity: []string{tag.String()}}, Backlog: pageBacklog}
	h := s.hold(v.model.UUID(), v.identity, e.end)
	defer h.Close()
	q.Keep = keeping(e.ctx, h)
	err = s.followLog(e.ctx, v.visitor, q, func(m debuglog.Message) error {
		text, err := event("line", "", logLine{m.Timestamp, m.Severity, m.Module, m.Message})
		if err != nil {
			return err
		}
		h.Idle() // while the browser reads, the memory can be reclaimed for others
		defer h.Busy()
		return e.write(text)
	})
	_ = e.bye(cmp.Or(context.Cause(e.ctx), err, errBye))
	return nil
}

// pageEvents tells a page whenever what it shows has changed.
func (s *Server) pageEvents(w http.ResponseWriter, r *http.Request, v *pageVisit, m *dashboard.Mirror, done <-chan struct{}) error {
	e, leave, err := s.pageStream(w, r, v)
	if err != nil {
		return err
	}
	defer leave()
	if r.Method == http.MethodHead || e.begin() != nil {
		return nil
	}
	beat := time.NewTicker(s.limits.PingEvery)
	defer beat.Stop()
	topics := dashboard.TopicsOf(r.Form.Get("page"))
	for known := ""; ; {
		changed := m.Changed()
		if now := m.Version(topics); now != known {
			known = now
			text, err := event("changed", "", m.Revision())
			if err != nil || e.write(text) != nil {
				return err
			}
			select {
			case <-time.After(pagePause):
			case <-e.ctx.Done():
			}
		}
		select {
		case <-changed:
		case <-beat.C:
			if e.write([]byte(":\n\n")) != nil {
				return nil
			}
		case <-done:
			_ = e.bye(errNoModel)
			return nil
		case <-e.ctx.Done():
			_ = e.bye(context.Cause(e.ctx))
			return nil
		}
	}
}
