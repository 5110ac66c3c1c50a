package apiserver

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"juju/apiserver/facades"
	"juju/apiserver/openapi"
	"juju/state/controller"
	"juju/state/entity"
)

// A view is a path at which a program that has a token reads the token's model. apiserver/openapi describes them all.
type view struct {
	path   string
	doing  string   // for errors: "read the status"
	params []string // of the query
	serve  func(s *Server, v *viewer, w http.ResponseWriter, r *http.Request) error
}

func views() []view {
	return []view{
		{"/v1/status", "read the status", nil, serveStatus},
		{"/v1/explain", "explain", []string{"entity"}, serveExplain},
		{"/v1/events", "follow the events", []string{"since"}, serveEvents},
	}
}

// A viewer is the sender of a request to a view.
type viewer struct {
	*visitor
	facades.View
	token entity.AccessToken
	text  string // of the token
}

// serveView authenticates a request by its token, and calls the view. If that fails before anything is written, serveView
// responds with the error.
func (s *Server) serveView(e view, w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	scheme := "Bearer"
	err := e.check(r.URL.RawQuery)
	if err == nil {
		var v *viewer
		err = s.visit(w, r.WithContext(controller.Began(r.Context())), func(r *http.Request) (*visitor, error) {
			var err error
			if v, err = s.viewer(r); err != nil {
				return nil, err
			}
			return v.visitor, nil
		}, func(*visitor) error {
			scheme = "" // it is known who that is
			if v.Roles == 0 {
				return entity.WithHint(facades.Denied(), "The user who created the token may no longer read the model")
			}
			return e.serve(s, v, w, r)
		})
	}
	if err != nil {
		s.writeError(w, r, fmt.Errorf("cannot %s: %w", e.doing, err), scheme)
	}
}

// serveNoView responds to a request for a path that is none. So programs get an error in the form of all others.
func (s *Server) serveNoView(w http.ResponseWriter, r *http.Request) {
	err := entity.WithHint(entity.Errorf(entity.NotFound, "cannot find %s", entity.Named(r.URL.Path)),
		"%s describes what there is", openapi.Path)
	s.writeError(w, r, err, "")
}

// check rejects a query with parameters that the view does not take, also a token: URLs get into logs.
func (e view) check(query string) error {
	values, err := url.ParseQuery(query)
	if err != nil {
		return entity.Errorf(entity.Invalid, "the query is malformed")
	}
	for name, all := range values {
		switch {
		case strings.HasSuffix(strings.ToLower(name), "token"):
			return entity.WithHint(entity.Errorf(entity.Invalid, "a token must not be in the URL, which gets into logs"),
				"Revoke it, and send another in the header: Authorization: Bearer TOKEN")
		case !slices.Contains(e.params, name):
			return entity.Errorf(entity.Invalid, "unknown parameter %q", entity.Named(name))
		case len(all) > 1:
			return entity.Errorf(entity.Invalid, "more than one %q", name)
		}
	}
	return nil
}

// viewer authenticates a request by its token. Failures are limited like those of logins. If the token's user may not read
// the model any more, the viewer has no roles.
func (s *Server) viewer(r *http.Request) (*viewer, error) {
	text, ok := bearerOf(r)
	if !ok {
		return nil, entity.WithHint(entity.Errorf(entity.Unauthorized, "there is no token"),
			"Send one, made by juju create-token, in the header: Authorization: Bearer TOKEN")
	}
	g := netConnOf(r.Context())
	defer g.Busy()()
	v, err := s.viewerWith(r.Context(), text)
	if err != nil {
		s.failed(g, r.RemoteAddr, fmt.Sprintf("a token cannot access %s", entity.Named(r.URL.Path)), err)
	}
	return v, err
}

// bearerOf returns the token of a request.
func bearerOf(r *http.Request) (text string, ok bool) {
	scheme, text, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.TrimSpace(text), strings.EqualFold(scheme, "Bearer")
}

// viewerWith returns who has a token. The error is Unauthorized if it is not valid.
func (s *Server) viewerWith(ctx context.Context, text string) (*viewer, error) {
	release, err := s.agentLogins.Take(ctx, s.limits.AgentWait)
	if err != nil {
		return nil, err
	}
	defer release()
	token, err := s.controller.CheckToken(ctx, text)
	if err != nil {
		return nil, err
	}
	id, err := s.identifyToken(ctx, token)
	if err != nil {
		return nil, err
	}
	model, err := s.controller.Model(ctx, token.ModelUUID)
	if err != nil {
		return nil, err
	}
	return &viewer{&visitor{identity: id, model: model}, facades.NewView(s.backend, model), token, text}, nil
}

// identifyToken looks up the current identity of whoever has a token: its user, who can only read, or nothing.
func (s *Server) identifyToken(ctx context.Context, token entity.AccessToken) (identity, error) {
	id, err := s.identify(ctx, entity.UserTag(token.User), token.ModelUUID)
	id.Roles &= facades.Reader
	return id, err
}

func serveStatus(s *Server, v *viewer, w http.ResponseWriter, r *http.Request) error {
	return s.answerView(v, w, r, v.Status)
}

// MoreHeader is the header with how many more entities are waiting than an explanation has.
const MoreHeader = "Juju-More"

func serveExplain(s *Server, v *viewer, w http.ResponseWriter, r *http.Request) error {
	return s.answerView(v, w, r, func(ctx context.Context) ([]byte, error) {
		name := r.URL.Query().Get("entity")
		if name == "" && r.URL.Query().Has("entity") {
			return nil, entity.Errorf(entity.Invalid, "the entity has no name")
		}
		text, more, err := v.Explain(ctx, name)
		if more > 0 {
			w.Header().Set(MoreHeader, strconv.Itoa(more))
		}
		return text, err
	})
}

// answerView responds with what read returns, within the limits that requests have.
func (s *Server) answerView(v *viewer, w http.ResponseWriter, r *http.Request,
	read func(context.Context) ([]byte, error)) error {
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(errGone)
	timer := time.AfterFunc(s.limits.RequestTime, func() { cancel(context.DeadlineExceeded) })
	defer timer.Stop()
	model := v.model.UUID()
	h := s.hold(model, v.identity, cancel)
	defer h.Close()
	if err := h.Grow(ctx, min(h.Left(), requestMemory+s.answers.expected(model, r.URL.Path))); err != nil {
		return err
	}
	text, err := read(ctx)
	if err != nil {
		return outOfTime(ctx, err)
	}
	s.answers.note(model, r.URL.Path, int64(len(text)))
	h.Force(int64(len(text)))
	h.Idle()
	// Others may need the memory while the client reads.
	control := http.NewResponseController(w)
	defer context.AfterFunc(ctx, func() { _ = control.SetWriteDeadline(time.Now()) })()
	s.writeJSON(w, r, http.StatusOK, json.RawMessage(text))
	return nil
}

// serveOpenAPI serves the description of the views, to anyone.
func (s *Server) serveOpenAPI(w http.ResponseWriter, r *http.Request) {
	s.writeText(w, http.StatusOK, openapi.JSON)
}
