package apiserver

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"juju/apiserver/dashboard"
	"juju/apiserver/facades"
	"juju/state/controller"
	"juju/state/entity"
)

// sessionCookie is the name of the cookie with a session. Browsers send it to this host only, though to all of its ports, over
// TLS only, and not with requests that pages of other sites make; scripts can't read it.
const sessionCookie = "__Host-juju-session"

// pageLogin begins a session with a log-in.
func (s *Server) pageLogin(w http.ResponseWriter, r *http.Request) error {
	if err := readForm(w, r, 4096); err != nil {
		return err
	}
	g := netConnOf(r.Context())
	defer g.Busy()()
	text, session, err := s.controller.BeginSession(controller.Began(r.Context()), r.PostForm.Get("code"))
	if errors.Is(err, entity.Unauthorized) {
		s.failed(g, r.RemoteAddr, "a browser cannot log in", err)
		s.endAfterGuesses(w, r)
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

// pageVisit authenticates a request by its session.
func (s *Server) pageVisit(r *http.Request, owner, name string) (*pageVisit, error) {
	c, err := r.Cookie(sessionCookie)
	if err != nil {
		return nil, errNoSession
	}
	ctx := r.Context()
	g := netConnOf(ctx)
	defer g.Busy()()
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
		if v.row, err = s.controller.ModelNamed(ctx, owner, name); entity.IsNotFound(err) {
			return nil, s.unlessSuperuser(ctx, in, c.Value, err)
		} else if err != nil {
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

// unlessSuperuser returns why a superuser gets no page of a model. Others learn no more than of a model that they may not read.
func (s *Server) unlessSuperuser(ctx context.Context, in controller.Session, text string, why error) error {
	id, err := s.identifySession(ctx, in, text, "")
	if err == nil && id.ControllerAccess == controller.AccessSuperuser {
		return why
	}
	return cmp.Or(err, facades.Denied())
}

// errNoSession sends who has no session to the page for a log-in.
var errNoSession = errors.New("there is no session")
