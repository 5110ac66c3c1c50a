package apiserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"juju/apiserver/client"
	"juju/apiserver/dashboard"
	"juju/apiserver/facades"
	"juju/apiserver/params"
	"juju/state/controller"
	"juju/state/entity"
)

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
		return r.Header.Get("Sec-Fetch-Mode") != "navigate" || r.Header.Get("Sec-Fetch-Dest") != "document" ||
			strings.HasSuffix(r.URL.Path, "/command")
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

// page serves a page to who has a session.
func (s *Server) page(w http.ResponseWriter, r *http.Request, below string) error {
	owner, rest, inModel := strings.Cut(below, "/")
	name, rest, _ := strings.Cut(rest, "/")
	post := r.Method == http.MethodPost
	if below != "" && (!inModel || name == "") || post && rest != "command" && rest != "positions" {
		return entity.Errorf(entity.NotFound, "there is no such page")
	}
	if err := readForm(w, r, maxForm); err != nil {
		return err
	}
	var v *pageVisit
	return s.visit(w, r.WithContext(controller.Began(r.Context())), func(r *http.Request) (*visitor, error) {
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
}

// readForm reads a request's form, of at most max bytes.
func readForm(w http.ResponseWriter, r *http.Request, max int64) error {
	r.Body = http.MaxBytesReader(w, r.Body, max)
	if err := r.ParseForm(); errors.Is(err, os.ErrDeadlineExceeded) {
		return entity.Errorf(entity.Invalid, "the form took too long to arrive")
	} else if err != nil {
		return entity.Errorf(entity.Invalid, "the form is malformed or too large")
	}
	unlimitBody(w)
	return nil
}

// maxForm limits the bytes of a form: a command line, or a service's settings.
const maxForm = 256 << 10

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
	case "topology.json":
		return s.writeTopology(w, r, m.Topology())
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
func (s *Server) commandPage(r *http.Request, v *pageVisit, m *dashboard.Mirror,
	p *dashboard.Page) (name string, err error) {
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

// storePosition stores where a user has put a service in the topology, or that it has no place any more.
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

func (s *Server) writeTopology(w http.ResponseWriter, r *http.Request, p dashboard.Topology) error {
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
	s.endAfterGuesses(w, r)
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
