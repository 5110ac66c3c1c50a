package apiserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"juju/apiserver/dashboard"
	"juju/apiserver/facades"
	"juju/apiserver/openapi"
	"juju/apiserver/params"
	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
)

// An endpoint of a model is served over plain HTTP, or over a websocket that does not carry requests.
type endpoint struct {
	method string
	path   string // below /model/UUID
	who    facades.Roles
	effect facades.Effect
	login  facades.Login
	serve  func(s *Server, v *visitor, w http.ResponseWriter, r *http.Request) error
}

// endpoints lists the endpoints of a model beside its API.
func endpoints() []endpoint {
	all := []endpoint{
		{"GET", "/log", facades.Reader | facades.ControllerAgent, facades.Reads, facades.AnyLogin, serveDebugLog},
		{"GET", "/logsink", facades.MachineAgent | facades.UnitAgent | facades.ControllerAgent, facades.Free, facades.AnyLogin, serveLogSink},
	}
	for _, e := range facades.Endpoints() {
		all = append(all, endpoint{e.Method, e.Path, e.Who, e.Effect, e.Login,
			func(s *Server, v *visitor, w http.ResponseWriter, r *http.Request) error {
				return e.Serve(&facades.Visitor{v.Identity, s.backend, v.model, &transfer{s, v, w, r}}, w, r)
			}})
	}
	return all
}

// A visitor is the authenticated sender of an HTTP request.
type visitor struct {
	identity
	model *state.State
	leave func() // must be called when the request has been served
	audit func(error) error
}

// otherPaths returns what serves the paths that are no endpoints, by the patterns of these.
func (s *Server) otherPaths() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"GET /api":                               s.serveAPI,
		"GET /model/{uuid}/api":                  s.serveAPI,
		"GET /model/{uuid}/commands":             s.serveCommands,
		"PUT /{model}" + facades.CharmObjectPath: s.serveCharmObject,
		"GET " + BinariesPath + "{sha256}":       s.serveBinaries,
		"GET " + openapi.Path:                    s.serveOpenAPI,
		"GET " + healthPath:                      s.serveHealth,
		"GET " + readinessPath:                   s.serveReadiness,
		"GET " + metricsPath:                     s.serveMetrics,
		"GET " + dashboard.Path:                  s.serveDashboard,
		"POST " + dashboard.Path:                 s.serveDashboard,
	}
}

// mux returns the handler for all paths.
func (s *Server) mux() http.Handler {
	mux := http.NewServeMux()
	for pattern, serve := range s.otherPaths() {
		mux.HandleFunc(pattern, serve)
	}
	for _, v := range views() {
		mux.HandleFunc("GET "+v.path, func(w http.ResponseWriter, r *http.Request) { s.serveView(v, w, r) })
	}
	mux.HandleFunc("GET /v1/", s.serveNoView)
	for _, e := range endpoints() {
		mux.HandleFunc(e.method+" /model/{uuid}"+e.path,
			func(w http.ResponseWriter, r *http.Request) { s.serveEndpoint(e, w, r) })
	}
	if s.config.Dashboard != nil {
		mux.Handle("/", s.config.Dashboard)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.enter() {
			http.Error(w, "the controller is stopping", http.StatusServiceUnavailable)
			return
		}
		defer s.active.Done()
		_ = http.NewResponseController(w).SetWriteDeadline(time.Time{}) // of the last request on the connection
		s.limitBody(w, r)
		mux.ServeHTTP(w, r)
	})
}

// limitBody gives the rest of a request's body as much time to arrive as a login: whether it is read, or thrown away by net/http
// once there is a response.
func (s *Server) limitBody(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(s.limits.LoginTime)) // there is none in tests
	}
}

// unlimitBody ends what limitBody began. The deadline would end the request otherwise, even if there is nothing left to read.
func unlimitBody(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
}

// serveCharmObject serves an upload of Juju's Go client, below /model-UUID.
func (s *Server) serveCharmObject(w http.ResponseWriter, r *http.Request) {
	uuid, ok := strings.CutPrefix(r.PathValue("model"), "model-")
	if !ok {
		http.NotFound(w, r)
		return
	}
	r.SetPathValue("uuid", uuid)
	for _, e := range endpoints() {
		if e.method == http.MethodPut && e.path == facades.CharmObjectPath {
			s.serveEndpoint(e, w, r)
		}
	}
}

// serveEndpoint authenticates and authorises a request, and calls the endpoint. If that fails before anything is
// written, serveEndpoint responds with the error.
func (s *Server) serveEndpoint(e endpoint, w http.ResponseWriter, r *http.Request) {
	r = r.WithContext(controller.Began(r.Context()))
	err := s.visit(w, r, s.visitor, func(v *visitor) (err error) {
		v.audit = s.auditingHTTP(e, v, r)
		defer func() {
			if err != nil {
				err = cmp.Or(v.audit(err), err)
			}
		}()
		if v.Roles&e.who == 0 {
			return facades.Lacks(v.Identity, v.model, e.who)
		}
		if err := e.login.Suits(v.Identity); err != nil {
			return err
		}
		if err := e.effect.AllowedAt(r.Context(), v.model); err != nil {
			return err
		}
		return e.serve(s, v, w, r)
	})
	if err != nil {
		scheme := ""
		if _, _, basic := r.BasicAuth(); !basic {
			scheme = "Basic"
		}
		s.writeError(w, r, err, scheme)
	}
}

// visit calls serve with the sender of a request, as authenticate returns it. Meanwhile its connection counts as one of
// the sender's.
func (s *Server) visit(
	w http.ResponseWriter, r *http.Request, authenticate func(*http.Request) (*visitor, error), serve func(*visitor) error,
) (err error) {
	defer func() {
		if p := recover(); p != nil {
			if p == http.ErrAbortHandler {
				panic(p)
			}
			logger.Criticalf("%s %s: panic: %v\n%s", r.Method, r.URL.Path, p, debug.Stack())
			err = errors.New("panic")
		}
	}()
	v, err := authenticate(r)
	if err == nil {
		err = s.steady(r.Context())
	}
	if err != nil {
		return err
	}
	leave, err := s.admit(v.model.UUID(), v.identity)
	if err != nil {
		return err
	}
	g := netConnOf(r.Context())
	g.Authenticated()
	v.leave = func() {
		g.Unauthenticated() // other requests may follow on the connection
		leave()
	}
	defer func() { v.leave() }()
	unlimitBody(w)
	defer s.limitBody(w, r)
	return serve(v)
}

// goOn continues to serve a visitor in another goroutine after its request has ended. Thousands of agents keep a
// websocket open, and this frees net/http's goroutine and buffers.
func (s *Server) goOn(v *visitor, serve func()) {
	leave := v.leave
	v.leave = func() {}
	s.active.Go(func() {
		defer leave()
		defer func() {
			if p := recover(); p != nil {
				logger.Criticalf("%s: panic: %v\n%s", v.Tag, p, debug.Stack())
			}
		}()
		serve()
	})
}

// still returns an error if the visitor no longer has any of the roles. Long requests check this at their end.
func (s *Server) still(r *http.Request, v *visitor, who facades.Roles) error {
	if !v.hasRights() {
		return nil
	}
	now, err := s.identifyBy(r.Context(), v.identity, r.PathValue("uuid"))
	if err == nil && now.Roles&who == 0 {
		err = facades.Lacks(now.Identity, v.model, who)
	}
	return err
}

// visitor authenticates an HTTP request.
func (s *Server) visitor(r *http.Request) (*visitor, error) {
	user, password, ok := r.BasicAuth()
	if !ok {
		return nil, entity.Errorf(entity.Unauthorized, "not logged in")
	}
	tag, err := params.ParseTag(user)
	if err != nil {
		return nil, invalidLogin()
	}
	g := netConnOf(r.Context())
	defer g.Busy()()
	ctx, cancel := context.WithTimeout(r.Context(), s.limits.UserWait+s.limits.LoginTime)
	defer cancel()
	id, model, err := s.authenticate(ctx, r.PathValue("uuid"),
		credential{tag, password, r.Header.Get(params.NonceHeader), g})
	if err != nil {
		s.failed(g, r.RemoteAddr, fmt.Sprintf("%s cannot access %s", entity.Named(tag.String()), entity.Named(r.URL.Path)),
			err)
		return nil, err
	}
	return &visitor{identity: id, model: model}, nil
}

// httpStatus maps kinds of errors to HTTP statuses; all others are 500.
var httpStatus = map[entity.Kind]int{
	entity.NotFound: http.StatusNotFound, entity.Unauthorized: http.StatusForbidden, entity.Invalid: http.StatusBadRequest,
	entity.AlreadyExists: http.StatusConflict, entity.NotAlive: http.StatusConflict, entity.InUse: http.StatusConflict,
	entity.Moved:       http.StatusConflict,
	entity.Unavailable: http.StatusServiceUnavailable, entity.Contention: http.StatusServiceUnavailable,
	entity.NotSupported: http.StatusBadRequest, entity.NotImplemented: http.StatusNotImplemented,
	entity.NotProvisioned: http.StatusForbidden, entity.OperationBlocked: http.StatusBadRequest,
}

// endAfterGuesses makes a response the connection's last if too many logins have failed on it.
func (s *Server) endAfterGuesses(w http.ResponseWriter, r *http.Request) {
	if int(netConnOf(r.Context()).Failed.Load()) >= s.limits.Logins {
		w.Header().Set("Connection", "close")
	}
}

// writeError responds with an error, in the form that clients of Juju's charms endpoint expect. If scheme is not "", the
// client may not do this because it has not said who it is, which it can do by that scheme.
func (s *Server) writeError(w http.ResponseWriter, r *http.Request, err error, scheme string) {
	s.endAfterGuesses(w, r)
	e := facades.WireError(r.Method+" "+r.URL.Path, err)
	status, ok := httpStatus[entity.Kind(e.Code)]
	if !ok {
		status = http.StatusInternalServerError
	}
	if scheme != "" && status == http.StatusForbidden {
		w.Header().Set("WWW-Authenticate", scheme+` realm="juju"`)
		status = http.StatusUnauthorized
	}
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "5")
	}
	s.writeJSON(w, r, status, params.CharmsResponse{Error: e.Message, ErrorCode: e.Code, ErrorInfo: e.Info})
}

// writeJSON responds with v, once everything it depends on is on disk.
func (s *Server) writeJSON(w http.ResponseWriter, r *http.Request, status int, v any) {
	barrier := s.barrier(r.Context())
	if errors.Is(barrier, entity.StoreAway) {
		e := facades.WireError(r.Method+" "+r.URL.Path, barrier)
		status, v = http.StatusServiceUnavailable,
			params.CharmsResponse{Error: e.Message, ErrorCode: e.Code, ErrorInfo: e.Info}
		barrier = nil // this response depends on nothing
	}
	text, err := asJSON(v)
	if err == nil {
		err = barrier
	}
	if err != nil {
		logger.Errorf("%s %s: cannot respond: %v", r.Method, r.URL.Path, err)
		panic(http.ErrAbortHandler) // breaks the connection instead of responding
	}
	s.writeText(w, status, text)
}

// asJSON returns v in JSON, with a line break for people; as it is if it is JSON already.
func asJSON(v any) ([]byte, error) {
	if text, ok := v.(json.RawMessage); ok {
		return text, nil
	}
	text, err := json.Marshal(v)
	return append(text, '\n'), err
}

// writeText responds with JSON. It does not wait long for a client that does not read.
func (s *Server) writeText(w http.ResponseWriter, status int, text []byte) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.limits.WriteTime)) // there is none in tests
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(text) // the client may have disconnected
}
