package apiserver

import (
	"context"
	"net"
	"strconv"

	"juju/apiserver/params"
	"juju/state/entity"
)

// adminLogin makes the connection its caller's. It can be done once; what is
// wrong about an attempt is logged, because it may be somebody guessing.
func adminLogin(ctx context.Context, c *caller, p params.LoginRequest) (params.LoginResult, error) {
	s, conn := c.server, c.conn
	if conn.session.Load() != nil {
		return params.LoginResult{}, entity.Errorf(entity.Invalid, "already logged in")
	}
	id, model, err := s.authenticate(ctx, conn.uuid, credential{p.AuthTag.Tag, p.Credentials, p.Nonce})
	if err != nil {
		logger.Infof("%s: %s cannot log in: %v", conn, p.AuthTag, err)
		conn.logins++ // a stranger's requests are worked on one by one
		return params.LoginResult{}, err
	}
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
	leave := []func(){}
	if id.roles&(machineAgent|unitAgent) != 0 {
		leave = append(leave, s.presence.arrive(conn.uuid, id.tag, &conn.line))
	}
	if model != nil {
		leave = append(leave, s.ending.join(model, conn))
	}
	conn.session.Store(&session{id, model, func() {
		for _, f := range leave {
			f()
		}
	}})
	s.strangers.Add(-1)
	logger.Debugf("%s: logged in", conn)
	return result, nil
}

// userLogin describes a user who logs in, and notes it.
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

// adminRegister sets the password of a user who was given a key for that. Whoever
// guesses has as few attempts as at a login.
func adminRegister(ctx context.Context, c *caller, p params.RegisterRequest) error {
	release, err := c.server.userLogins.take(ctx, c.server.limits.UserWait)
	if err != nil {
		return err
	}
	defer release()
	err = c.server.controller.RegisterUser(ctx, p.User.ID, p.Key, p.Password)
	if err != nil {
		logger.Infof("%s: %s cannot register: %v", c.conn, p.User, err)
		c.conn.logins++
	}
	return err
}

// hostPort writes an address in the wire's form; false when it is none.
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

// adminRedirectInfo is asked by clients whose model may have moved.
func adminRedirectInfo(context.Context, *caller, none) (params.RedirectInfoResult, error) {
	return params.RedirectInfoResult{}, entity.Errorf(entity.NotSupported, "not redirected")
}

// pingerPing says that the client is there; any frame does.
func pingerPing(context.Context, *caller, none) error { return nil }

// pingerStop is Juju's way to end the pinging of which we have none.
func pingerStop(context.Context, *caller, none) error { return nil }
