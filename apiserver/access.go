package apiserver

import (
	"context"
	"errors"
	"strings"
	"time"

	"juju/state"
	"juju/state/entity"
	"juju/state/mongo"
)

// roles are what a caller is on one connection; a route says which of them it
// is for. A user's three include each other; an agent's do not.
type roles uint8

const (
	stranger        roles = 1 << iota // before the login
	reader                            // a user who may look: at a model with "read", at the controller with "login"
	writer                            // a user who may change the model, or make models at the controller
	admin                             // of the model; on the controller's path, its superuser
	machineAgent                      // the agent of a machine of this model
	unitAgent                         // the agent of a unit of this model
	controllerAgent                   // the agent of a machine that runs the controller, at any model
)

const anybody = reader | writer | admin | machineAgent | unitAgent | controllerAgent

// userRoles are what each access to a model, or to the controller, comes to.
var userRoles = map[string]roles{
	state.AccessRead: reader, state.AccessWrite: reader | writer, state.AccessAdmin: reader | writer | admin,
	state.AccessLogin: reader, state.AccessAddModel: reader | writer, state.AccessSuperuser: reader | writer | admin,
}

// An identity is who has logged in.
type identity struct {
	tag              entity.Tag
	roles            roles
	controllerAccess string // of a user
	modelAccess      string // of a user at a model
	password         string // what stands for the password of the login
	// Of an agent: since is a moment before its password was looked up, home where that
	// was, nil for the model.
	since time.Time
	home  *state.State
}

// wrong is what everybody is told who can't log in, whatever the reason.
func wrong() error {
	return entity.Errorf(entity.Unauthorized, "invalid entity name or password")
}

func denied() error { return entity.Errorf(entity.Unauthorized, "permission denied") }

// A credential is what a caller shows at a login or with an HTTP request.
type credential struct {
	tag             entity.Tag
	password, nonce string
	guest           *guest // whose connection it is
}

// authenticate finds out who shows the credential at a model ("" for the
// controller's own path), and opens the model. Its errors are Unauthorized,
// NotFound for a model that a user asked for in vain, NotProvisioned, or
// Unavailable when too many are logging in just now.
func (s *Server) authenticate(ctx context.Context, model string, cred credential) (identity, *state.State, error) {
	switch cred.tag.Kind {
	case entity.KindUser:
		return s.authenticateUser(ctx, model, cred)
	case entity.KindMachine, entity.KindUnit:
		if model == "" {
			return identity{}, nil, wrong() // agents live in models
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

// hashTurn waits until it is the turn of somebody on a connection to have the password
// of a user hashed. A stranger may give a name of any length; its beginning is enough
// to count turns by.
func (s *Server) hashTurn(ctx context.Context, g *guest, user string) (release func(), err error) {
	user = entity.Cut(strings.ToLower(user), 256)
	return s.hashing.take(ctx, s.limits.UserWait, turn{source: g.source, user: user, failed: int(g.failed.Load())})
}

// identify looks up what a user may do just now at a model ("" for the
// controller's own path). Whoever may do nothing there has no roles.
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

// identifyBy is identify for who has logged in before: with another password than then
// a user may do nothing.
func (s *Server) identifyBy(ctx context.Context, then identity, model string) (identity, error) {
	now, err := s.identify(ctx, then.tag, model)
	if err == nil && now.password != then.password {
		now.roles = 0
	}
	return now, err
}

// followRights tells what roles a user has at a model ("" for the controller's own
// path), by look, and each time that they may have changed, until ctx ends. Who can't be
// looked up has none. It returns before ctx ends only when the store can't be
// followed any more.
func (s *Server) followRights(ctx context.Context, user entity.Tag, model string, look func() (identity, error), now func(roles)) {
	for range s.controller.WatchRights(ctx, user.ID, model) {
		id, err := look()
		for mongo.IsAway(err) && ctx.Err() == nil { // nobody's rights change meanwhile
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
	err = st.CheckAgent(ctx, cred.tag, cred.password, cred.nonce)
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
	// The controller's machines may log in to any model. Their ids say nothing
	// there: the model has a machine 0 of its own.
	if otherErr := s.controllerModel.CheckAgent(ctx, cred.tag, cred.password, cred.nonce); otherErr != nil {
		return identity{}, nil, unlessAway(otherErr, err)
	}
	manager, managerErr := s.managerRoles(ctx, cred.tag)
	if managerErr != nil || manager == 0 {
		return identity{}, nil, unlessAway(managerErr, err)
	}
	id.roles, id.home = manager, s.controllerModel
	return id, st, nil
}

// unlessAway returns err, unless it is not known to be so because the store is away: an
// agent that is told that it is unknown ends for good.
func unlessAway(why, err error) error {
	if mongo.IsAway(why) {
		return why
	}
	return err
}

// managerRoles returns what a machine of the controller's model is besides a machine.
func (s *Server) managerRoles(ctx context.Context, machine entity.Tag) (roles, error) {
	m, err := s.controllerModel.Machine(ctx, machine.ID)
	if err != nil || !m.IsManager() {
		return 0, err
	}
	return controllerAgent, nil
}

// slots bound how many do something at once.
type slots chan struct{}

// take waits its turn for no longer than wait; release gives it back. The error
// is Unavailable, or the context's.
func (s slots) take(ctx context.Context, wait time.Duration) (release func(), err error) {
	release = func() { <-s }
	select {
	case s <- struct{}{}: // without a timer, as almost always
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
