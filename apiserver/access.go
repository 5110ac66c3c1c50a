package apiserver

import (
	"context"
	"errors"
	"strings"
	"time"

	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
)

// roles are what a caller is on one connection. A route says which of them may use it. The
// three roles of users include each other; those of agents do not.
type roles uint8

const (
	stranger        roles = 1 << iota // before the login
	reader                            // a user with "read" at a model, or with "login" at the controller
	writer                            // a user with "write" at a model, or with "add-model" at the controller
	admin                             // a user with "admin" at a model, or with "superuser" at the controller
	machineAgent                      // the agent of a machine of this model
	unitAgent                         // the agent of a unit of this model
	controllerAgent                   // the agent of a machine that runs the controller, at any model
)

const loggedIn = reader | writer | admin | machineAgent | unitAgent | controllerAgent

// userRoles are the roles that come with each level of access.
var userRoles = map[string]roles{
	controller.AccessRead: reader, controller.AccessWrite: reader | writer, controller.AccessAdmin: reader | writer | admin,
	controller.AccessLogin: reader, controller.AccessAddModel: reader | writer, controller.AccessSuperuser: reader | writer | admin,
}

// An identity is who has logged in.
type identity struct {
	tag              entity.Tag
	roles            roles
	controllerAccess string // a user's
	modelAccess      string // a user's at a model
	password         string // a stamp of the login's password
	// For an agent: since is before its password was looked up. home is where that was done,
	// nil for the model.
	since time.Time
	home  *state.State
}

// wrong is the error of every refused login, whatever the reason.
func wrong() error {
	return entity.Errorf(entity.Unauthorized, "invalid entity name or password")
}

func denied() error { return entity.Errorf(entity.Unauthorized, "permission denied") }

// lacks denies what is for others. It tells a user what access that takes, and who can grant it; one without any learns
// nothing. model is nil at the controller.
func lacks(id identity, model *state.State, who roles) error {
	if id.tag.Kind != entity.KindUser || id.roles == 0 {
		return denied()
	}
	for i, role := range []roles{reader, writer, admin} {
		switch {
		case who&role == 0:
		case model == nil:
			return lacksController(id, controllerLevels[i])
		default:
			return lacksModel(id.tag, model.Name(), id.modelAccess, modelLevels[i])
		}
	}
	return denied()
}

func lacksController(id identity, level string) error {
	return entity.WithHint(denied(),
		"This needs %q access to the controller; %s has %q. A superuser can grant it: juju grant %[2]s %[1]s", level, id.tag.ID, id.controllerAccess)
}

// lacksModel is lacks for a model that a user names. One without any access to it does not learn whether it exists.
func lacksModel(user entity.Tag, model, has, level string) error {
	if has == "" {
		return entity.WithHint(denied(), "This needs %q access to model %q, if there is one; %s has none", level, model, user.ID)
	}
	return entity.WithHint(denied(), "This needs %q access to model %q; %s has %q. An administrator of the model can grant it: "+
		"juju grant %[3]s %[1]s %[2]s",
		level, model, user.ID, has)
}

// lacksModelAdmin denies a user what only the admins of a model may do.
func (c *caller) lacksModelAdmin(ctx context.Context, uuid, has string) error {
	name := uuid
	if has != "" {
		if st, err := c.server.controller.Model(ctx, uuid); err == nil {
			name = st.Name()
		}
	}
	return lacksModel(c.tag, name, has, controller.AccessAdmin)
}

// The levels of access that give the roles reader, writer and admin.
var (
	modelLevels      = []string{controller.AccessRead, controller.AccessWrite, controller.AccessAdmin}
	controllerLevels = []string{controller.AccessLogin, controller.AccessAddModel, controller.AccessSuperuser}
)

// A credential comes with a login or an HTTP request.
type credential struct {
	tag             entity.Tag
	password, nonce string
	guest           *guest // the connection
}

// authenticate checks a credential at a model ("" for the controller's own path), and opens
// the model. Its errors are Unauthorized, NotFound for a user who asks for a model that is
// not there, NotProvisioned, or Unavailable when too many are logging in.
func (s *Server) authenticate(ctx context.Context, model string, cred credential) (identity, *state.State, error) {
	switch cred.tag.Kind {
	case entity.KindUser:
		return s.authenticateUser(ctx, model, cred)
	case entity.KindMachine, entity.KindUnit:
		if model == "" {
			return identity{}, nil, wrong() // agents belong to models
		}
		return s.authenticateAgent(ctx, model, cred)
	}
	return identity{}, nil, wrong()
}

func (s *Server) authenticateUser(ctx context.Context, model string, cred credential) (identity, *state.State, error) {
	user, known, err := s.controller.CheckKnownUser(ctx, cred.tag.ID, cred.password)
	if err != nil {
		return identity{}, nil, err
	}
	if !known {
		release, err := s.hashTurn(ctx, cred.guest, cred.tag.ID)
		if err != nil {
			return identity{}, nil, err
		}
		user, err = s.controller.CheckUser(ctx, cred.tag.ID, cred.password)
		release()
		if err != nil {
			return identity{}, nil, err
		}
	}
	var st *state.State
	if model != "" {
		if st, err = s.controller.Model(ctx, model); err != nil {
			return identity{}, nil, err
		}
	}
	id, err := s.identify(ctx, entity.UserTag(user.Name), model)
	if err == nil && (id.roles == 0 || id.password != user.Stamp()) {
		err = denied()
	}
	return id, st, err
}

// hashTurn waits for a turn to hash the password of a user. Strangers can send names of any
// length; the beginning is enough to count turns by.
func (s *Server) hashTurn(ctx context.Context, g *guest, user string) (release func(), err error) {
	user = entity.Cut(strings.ToLower(user), 256)
	return s.hashing.take(ctx, s.limits.UserWait, turn{source: g.source, user: user, failed: int(g.failed.Load())})
}

// identify looks up what a user may do now at a model ("" for the controller's own path). A
// user without access has no roles.
func (s *Server) identify(ctx context.Context, user entity.Tag, model string) (identity, error) {
	rights, err := s.controller.Rights(ctx, user.ID, model)
	if err != nil {
		return identity{}, err
	}
	id := identity{tag: user, controllerAccess: rights.Controller, modelAccess: rights.Model, password: rights.Password}
	if id.roles = userRoles[rights.Model]; model == "" {
		id.roles = userRoles[rights.Controller]
	}
	return id, nil
}

// identifyBy is identify for a user who has logged in before. A user whose password has
// changed since has no roles.
func (s *Server) identifyBy(ctx context.Context, then identity, model string) (identity, error) {
	now, err := s.identify(ctx, then.tag, model)
	if err == nil && now.password != then.password {
		now.roles = 0
	}
	return now, err
}

// followRights calls now with a user's roles at a model ("" for the controller's own path),
// which look finds, and again whenever they may have changed, until ctx ends. A user who
// can't be looked up has no roles. It returns before ctx ends only if the store can no
// longer be followed.
func (s *Server) followRights(
	ctx context.Context, user entity.Tag, model string, look func() (identity, error), now func(roles),
) {
	for range s.controller.WatchRights(ctx, user.ID, model) {
		id, err := look()
		for errors.Is(err, entity.StoreAway) && ctx.Err() == nil { // no rights change meanwhile
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
			}
			id, err = look()
		}
		if err != nil && ctx.Err() == nil {
			logger.Errorf("%s at %q: cannot look up what they may do: %v", user, model, err)
		}
		now(id.roles)
	}
}

func (s *Server) authenticateAgent(ctx context.Context, model string, cred credential) (identity, *state.State, error) {
	release, err := s.agentLogins.take(ctx, s.limits.AgentWait)
	if err != nil {
		return identity{}, nil, err
	}
	defer release()
	st, err := s.controller.Model(ctx, model)
	if errors.Is(err, entity.NotFound) {
		return identity{}, nil, wrong()
	}
	if err != nil {
		return identity{}, nil, err
	}
	id := identity{tag: cred.tag, roles: unitAgent, since: time.Now(), password: state.AgentStamp(cred.password)}
	if cred.tag.Kind == entity.KindMachine {
		id.roles = machineAgent
	}
	err = st.Agents().Check(ctx, cred.tag, cred.password, cred.nonce)
	if id.roles != machineAgent {
		return id, st, err
	}
	if model == s.controllerModel.UUID() {
		if err == nil {
			if id.roles, err = s.managerRoles(ctx, cred.tag); err == nil {
				id.roles |= machineAgent
			}
		}
		return id, st, err
	}
	if !errors.Is(err, entity.Unauthorized) {
		return id, st, err
	}
	// The controller's machines may log in to any model. Their ids have no meaning there: the
	// model has a machine 0 of its own.
	if otherErr := s.controllerModel.Agents().Check(ctx, cred.tag, cred.password, cred.nonce); otherErr != nil {
		return identity{}, nil, unlessAway(otherErr, err)
	}
	manager, managerErr := s.managerRoles(ctx, cred.tag)
	if managerErr != nil || manager == 0 {
		return identity{}, nil, unlessAway(managerErr, err)
	}
	id.roles, id.home = manager, s.controllerModel
	return id, st, nil
}

// unlessAway returns err, or why if that is only that the store is away. An agent ends for
// good when it is told that it is unknown, so that must be certain.
func unlessAway(why, err error) error {
	if errors.Is(why, entity.StoreAway) {
		return why
	}
	return err
}

// managerRoles returns the roles of a machine of the controller's model besides that of a
// machine.
func (s *Server) managerRoles(ctx context.Context, machine entity.Tag) (roles, error) {
	m, err := s.controllerModel.Machine(ctx, machine.ID)
	if err != nil || !m.IsManager() {
		return 0, err
	}
	return controllerAgent, nil
}

// slots limit how many callers do something at the same time.
type slots chan struct{}

// take waits for a slot for as long as wait; release frees it. The error is Unavailable, or
// the context's.
func (s slots) take(ctx context.Context, wait time.Duration) (release func(), err error) {
	release = func() { <-s }
	select {
	case s <- struct{}{}: // the usual case, without a timer
		return release, nil
	default:
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case s <- struct{}{}:
		return release, nil
	case <-timer.C:
		return nil, tryAgain()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
