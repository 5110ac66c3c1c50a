package apiserver

import (
	"context"
	"fmt"
	"net"
	"regexp"
	"strconv"

	"juju/apiserver/admission"
	"juju/apiserver/facades"
	"juju/apiserver/params"
	"juju/state/entity"
)

// failed logs and counts a failed login, which may be a guess at a password.
func (s *Server) failed(g *admission.Conn, remote, attempt string, err error) {
	if entity.KindOf(err) != entity.Unavailable { // otherwise no password was checked
		g.Failed.Add(1)
	}
	s.config.Meter.LoginRefused(refusal(err))
	s.failures.Add(g.Source(), fmt.Sprintf("%s: %s: %s", remote, attempt, entity.Cut(err.Error(), 200)))
}

// adminLogin logs in. A connection can log in once.
func adminLogin(ctx context.Context, c *request, p params.LoginRequest) (params.LoginResult, error) {
	s, conn := c.server, c.conn
	if conn.session.Load() != nil {
		return params.LoginResult{}, entity.Errorf(entity.Invalid, "already logged in")
	}
	id, model, err := s.authenticate(ctx, conn.uuid, credential{p.AuthTag.Tag, p.Credentials, p.Nonce, conn.netConn})
	if err != nil {
		s.failed(conn.netConn, conn.remote, entity.Named(p.AuthTag.String())+" cannot log in", err)
		return params.LoginResult{}, err
	}
	left, err := s.admit(conn.uuid, id)
	if err != nil {
		return params.LoginResult{}, err
	}
	leave := []func(){left}
	defer func() {
		if conn.session.Load() == nil {
			left()
		}
	}()
	at := facades.AtController
	result := params.LoginResult{
		ControllerTag: params.TagOf(entity.Tag{Kind: entity.KindController, ID: s.controller.UUID()}),
		ServerVersion: entity.JujuVersion, Release: s.config.Version,
		Servers: [][]params.HostPort{},
	}
	if model != nil {
		at = facades.AtModel
		tag := params.TagOf(entity.ModelTag(model.UUID()))
		result.ModelTag = &tag
	}
	result.Facades = s.table.Facades(at, id.Roles)
	if s.config.Addresses != nil {
		for _, address := range s.config.Addresses() {
			if hp, ok := hostPort(address); ok {
				result.Servers = append(result.Servers, []params.HostPort{hp})
			}
		}
	}
	if id.Tag.Kind == entity.KindUser {
		if result.UserInfo, err = userLogin(ctx, s, id, conn.uuid); err != nil {
			return params.LoginResult{}, err
		}
	}
	if id.Roles&(facades.MachineAgent|facades.UnitAgent|facades.ControllerAgent) != 0 && s.config.Controllers != nil &&
		!s.config.Controllers.Alone() {
		model.Agents().Moved()
	}
	if id.Roles&(facades.MachineAgent|facades.UnitAgent) != 0 {
		leave = append(leave, s.presence.Arrive(conn.uuid, id.Tag, &conn.line, binariesOf(p)))
	}
	if model != nil {
		leave = append(leave, s.ending.join(s, model, id, conn.cancel))
	}
	conn.session.Store(&session{id, model, func() {
		for _, f := range leave {
			f()
		}
	}})
	conn.netConn.Authenticated()
	if id.hasRights() {
		conn.requests.Go(func() { conn.follow(id) })
	}
	logger.Debugf("%s: logged in", conn)
	return result, nil
}

// userLogin records a user's login and returns a description of the user.
func userLogin(ctx context.Context, s *Server, id identity, model string) (*params.AuthUserInfo, error) {
	user, err := s.controller.User(ctx, id.Tag.ID)
	if err != nil {
		return nil, err
	}
	if err := s.controller.NoteLogin(ctx, id.Tag.ID, model); err != nil {
		return nil, err
	}
	return &params.AuthUserInfo{
		DisplayName: user.DisplayName, Identity: params.TagOf(id.Tag).String(), LastConnection: params.TimeOf(user.LastLogin),
		ControllerAccess: id.ControllerAccess, ModelAccess: id.ModelAccess,
	}, nil
}

// adminRegister sets the password of a user who was given a key for this. Wrong keys are limited like failed logins.
func adminRegister(ctx context.Context, r *request, p params.RegisterRequest) (struct{}, error) {
	release, err := r.HashTurn(ctx, p.User.ID)
	if err != nil {
		return struct{}{}, err
	}
	defer release()
	err = r.server.controller.RegisterUser(ctx, p.User.ID, p.Key, p.Password)
	if err != nil {
		r.server.failed(r.netConn, r.remote, entity.Named(p.User.String())+" cannot register", err)
	}
	return struct{}{}, err
}

// hostPort returns an address in the wire format; false if it is not valid.
func hostPort(address string) (params.HostPort, bool) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return params.HostPort{}, false
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return params.HostPort{}, false
	}
	kind, scope := params.AddressKind(host)
	return params.HostPort{Value: host, Type: kind, Scope: scope, Port: number}, true
}

// adminRedirectInfo is called by clients whose model may have moved.
func adminRedirectInfo(context.Context, *request, facades.None) (params.RedirectInfoResult, error) {
	return params.RedirectInfoResult{}, entity.Errorf(entity.NotSupported, "not redirected")
}

// pingerPing does nothing, and implements Stop too. Any frame shows that the client is alive, and the server does not
// rely on pings from clients.
func pingerPing(context.Context, *request, facades.None) (struct{}, error) { return struct{}{}, nil }

// shaPattern matches a SHA-256, a prefix of one, or nothing.
var shaPattern = regexp.MustCompile(`^[0-9a-f]{0,64}$`)

// commitPattern matches what agent.BuiltFrom returns.
var commitPattern = regexp.MustCompile(`^([0-9a-f]{1,64}(-dirty)?)?$`)

// binariesOf returns the binaries that an agent reports with its login, if they are valid.
func binariesOf(p params.LoginRequest) entity.Binaries {
	_, err := entity.CompareVersions(p.ClientVersion, p.ClientVersion)
	if err != nil || !shaPattern.MatchString(p.SHA256) || !commitPattern.MatchString(p.Commit) {
		return entity.Binaries{}
	}
	return entity.Binaries{Version: p.ClientVersion, SHA256: p.SHA256, Commit: p.Commit}
}
