package apiserver

import (
	"context"
	"fmt"
	"net"
	"strconv"

	"juju/apiserver/params"
	"juju/state/entity"
)

// failed logs and counts a failed login, which may be a guess.
func (s *Server) failed(g *guest, remote, attempt string, err error) {
	if entity.KindOf(err) != entity.Unavailable { // else no password was tried
		g.failed.Add(1)
	}
	s.failures.add(g.source, fmt.Sprintf("%s: %s: %s", remote, attempt, entity.Cut(err.Error(), 200)))
}

// adminLogin logs in. It can be done once for each connection.
func adminLogin(ctx context.Context, c *caller, p params.LoginRequest) (params.LoginResult, error) {
	s, conn := c.server, c.conn
	if conn.session.Load() != nil {
		return params.LoginResult{}, entity.Errorf(entity.Invalid, "already logged in")
	}
	id, model, err := s.authenticate(ctx, conn.uuid, credential{p.AuthTag.Tag, p.Credentials, p.Nonce, conn.guest})
	if err != nil {
		s.failed(conn.guest, conn.remote, entity.Named(p.AuthTag.String())+" cannot log in", err)
		return params.LoginResult{}, err
	}
	left, err := s.members.enter(conn.uuid, id)
	if err != nil {
		return params.LoginResult{}, err
	}
	leave := []func(){left}
	defer func() {
		if conn.session.Load() == nil {
			left()
		}
	}()
	at := atController
	result := params.LoginResult{
		ControllerTag: params.TagOf(entity.Tag{Kind: entity.KindController, ID: s.controller.UUID()}),
		ServerVersion: s.config.Version,
		Servers:       [][]params.HostPort{},
	}
	if model != nil {
		at = atModel
		tag := params.TagOf(entity.ModelTag(model.UUID()))
		result.ModelTag = &tag
	}
	result.Facades = s.table.facades(at, id.roles)
	if s.config.Addresses != nil {
		for _, address := range s.config.Addresses() {
			if hp, ok := hostPort(address); ok {
				result.Servers = append(result.Servers, []params.HostPort{hp})
			}
		}
	}
	if id.tag.Kind == entity.KindUser {
		if result.UserInfo, err = userLogin(ctx, s, id, conn.uuid); err != nil {
			return params.LoginResult{}, err
		}
	}
	if id.roles&(machineAgent|unitAgent) != 0 {
		leave = append(leave, s.presence.Arrive(conn.uuid, id.tag, &conn.line, programsOf(p)))
	}
	if model != nil {
		leave = append(leave, s.ending.join(s, model, id, conn.cancel))
	}
	conn.session.Store(&session{id, model, func() {
		for _, f := range leave {
			f()
		}
	}})
	conn.guest.admit()
	if id.tag.Kind == entity.KindUser {
		conn.requests.Go(func() { conn.follow(id.tag) })
	}
	logger.Debugf("%s: logged in", conn)
	return result, nil
}

// userLogin describes a user who logs in, and records the login.
func userLogin(ctx context.Context, s *Server, id identity, model string) (*params.AuthUserInfo, error) {
	user, err := s.controller.User(ctx, id.tag.ID)
	if err != nil {
		return nil, err
	}
	if err := s.controller.NoteLogin(ctx, id.tag.ID, model); err != nil {
		return nil, err
	}
	return &params.AuthUserInfo{
		DisplayName: user.DisplayName, Identity: params.TagOf(id.tag).String(), LastConnection: params.TimeOf(user.LastLogin),
		ControllerAccess: id.controllerAccess, ModelAccess: id.modelAccess,
	}, nil
}

// adminRegister sets the password of a user who was given a key for that. It allows as few
// wrong guesses as a login.
func adminRegister(ctx context.Context, c *caller, p params.RegisterRequest) error {
	release, err := c.server.hashTurn(ctx, c.conn.guest, p.User.ID)
	if err != nil {
		return err
	}
	defer release()
	err = c.server.controller.RegisterUser(ctx, p.User.ID, p.Key, p.Password)
	if err != nil {
		c.server.failed(c.conn.guest, c.conn.remote, entity.Named(p.User.String())+" cannot register", err)
	}
	return err
}

// hostPort returns the wire's form of an address; false if it is not valid.
func hostPort(address string) (params.HostPort, bool) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return params.HostPort{}, false
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return params.HostPort{}, false
	}
	hp := params.HostPort{Value: host, Type: "hostname", Scope: "public", Port: number}
	if ip := net.ParseIP(host); ip != nil {
		hp.Type = "ipv6"
		if ip.To4() != nil {
			hp.Type = "ipv4"
		}
		switch {
		case ip.IsLoopback():
			hp.Scope = "local-machine"
		case ip.IsPrivate():
			hp.Scope = "local-cloud"
		}
	}
	return hp, true
}

// adminRedirectInfo is called by clients whose model may have moved.
func adminRedirectInfo(context.Context, *caller, none) (params.RedirectInfoResult, error) {
	return params.RedirectInfoResult{}, entity.Errorf(entity.NotSupported, "not redirected")
}

// pingerPing does nothing: any frame shows that the client is there.
func pingerPing(context.Context, *caller, none) error { return nil }

// pingerStop does nothing: the server does not rely on pings by clients.
func pingerStop(context.Context, *caller, none) error { return nil }
