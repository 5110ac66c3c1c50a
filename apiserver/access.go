package apiserver

import (
	"context"
	"errors"
	"strings"
	"time"

	"juju/apiserver/admission"
	"juju/apiserver/facades"
	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/entity/backoff"
)

// An identity is the result of a successful login.
type identity struct {
	facades.Identity
	password string       // the stamp of the password used to log in
	session  *textSession // with whose text a user has logged in; nil if with a password
	// For an agent, since is a time before its password was looked up, and home is the state that it was looked up in:
	// nil for the model's own.
	since time.Time
	home  *state.State
}

// hasRights reports whether the roles are a user's, of whom a consumer is one more program, and may change. Those of an
// agent don't.
func (id identity) hasRights() bool {
	return id.Tag.Kind == entity.KindUser || id.Tag.Kind == entity.KindConsumer
}

// invalidLogin returns the error of every rejected login, whatever the reason, so that it reveals nothing.
func invalidLogin() error {
	return entity.Errorf(entity.Unauthorized, "invalid entity name or password")
}

// A credential comes with a login or an HTTP request.
type credential struct {
	tag             entity.Tag
	password, nonce string
	netConn         *admission.Conn // the connection
}

// authenticate checks a credential for a model ("" for the controller itself) and opens the model. The error is
// Unauthorized; NotFound for a user who names a model that does not exist; NotProvisioned; or Unavailable if there are
// too many concurrent logins.
func (s *Server) authenticate(ctx context.Context, model string, cred credential) (identity, *state.State, error) {
	switch cred.tag.Kind {
	case entity.KindUser:
		return s.authenticateUser(ctx, model, cred)
	case entity.KindMachine, entity.KindUnit, entity.KindConsumer:
		if model == "" {
			return identity{}, nil, invalidLogin() // agents and consumers belong to models
		}
		check := s.authenticateAgent
		if cred.tag.Kind == entity.KindConsumer {
			check = s.authenticateConsumer
		}
		id, st, err := check(ctx, model, cred)
		if errors.Is(err, entity.Unauthorized) || errors.Is(err, entity.NotFound) {
			// A former primary of a MongoDB may not have what another controller has just written: what is read after a write
			// that reached the majority does.
			if err := s.controller.Sync(ctx); err != nil {
				return identity{}, nil, err
			}
			id, st, err = check(ctx, model, cred)
		}
		if errors.Is(err, entity.Unauthorized) && cred.tag.Kind == entity.KindMachine {
			err = s.unlessStray(ctx, model, err)
		}
		return id, st, err
	}
	return identity{}, nil, invalidLogin()
}

// authenticateConsumer checks the token of a model of another controller, and that its user still may consume the offer. A
// refusal is Unauthorized, for which the consumer suspends its relations; NotFound, for which it ends them, if the offer is gone.
func (s *Server) authenticateConsumer(ctx context.Context, model string,
	cred credential) (identity, *state.State, error) {
	release, err := s.agentLogins.Take(ctx, s.limits.AgentWait)
	if err != nil {
		return identity{}, nil, err
	}
	defer release()
	who, err := s.controller.CheckConsumer(ctx, cred.password)
	if errors.Is(err, entity.Unauthorized) || err == nil && (who.ID != cred.tag.ID || who.Model != model) {
		err = invalidLogin()
	}
	if err != nil {
		return identity{}, nil, err
	}
	st, err := s.controller.Model(ctx, model)
	if err != nil {
		return identity{}, nil, err
	}
	id, err := s.identifyConsumer(ctx, identity{Identity: facades.Identity{Tag: cred.tag, Consumer: who}})
	if err == nil && id.Roles == 0 {
		if _, err = st.CrossModel().Shown(ctx, who.Offer); err == nil {
			err = entity.Errorf(entity.Unauthorized, "user %s may no longer consume the offer", entity.UserOf(who.User))
		}
	}
	return id, st, err
}

// identifyConsumer looks up the current role of a consumer: none once its user may not consume the offer.
func (s *Server) identifyConsumer(ctx context.Context, id identity) (identity, error) {
	id.Roles = 0
	may, err := s.controller.MayConsume(ctx, id.Consumer.User, id.Consumer.Model, id.Consumer.Offer)
	if may {
		id.Roles = facades.Consumer
	}
	return id, err
}

// unlessStray returns refused, unless the machine may have been started after the backup that the controller was restored
// from, and its model keeps such machines. An agent that is refused ends for good, and on a user's host uninstalls itself;
// this one tries again.
func (s *Server) unlessStray(ctx context.Context, model string, refused error) error {
	if !s.config.Restored {
		return refused
	}
	if st, err := s.controller.Model(ctx, model); err == nil {
		if config, err := st.Settings().Config(ctx); err == nil && config.HarvestsUnknown() {
			return refused
		}
	}
	return entity.Errorf(entity.Unavailable, "the controller was restored from a backup, which doesn't have the machine")
}

func (s *Server) authenticateUser(ctx context.Context, model string, cred credential) (identity, *state.State, error) {
	if controller.IsSession(cred.password) {
		return s.authenticateSession(ctx, model, cred)
	}
	user, known, err := s.controller.CheckKnownUser(ctx, cred.tag.ID, cred.password)
	if err != nil {
		return identity{}, nil, err
	}
	if !known {
		release, err := s.hashTurn(ctx, cred.netConn, cred.tag.ID)
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
	if err == nil && (id.Roles == 0 || id.password != user.Stamp()) {
		err = facades.Denied()
	}
	return id, st, err
}

// authenticateSession checks the session with which a command line of a page logs in for its user.
func (s *Server) authenticateSession(ctx context.Context, model string,
	cred credential) (id identity, st *state.State, err error) {
	in, err := s.controller.CheckSession(ctx, cred.password)
	if errors.Is(err, entity.Unauthorized) || err == nil && !strings.EqualFold(in.User, cred.tag.ID) {
		err = invalidLogin()
	}
	if err == nil && model != "" {
		st, err = s.controller.Model(ctx, model)
	}
	if err != nil {
		return identity{}, nil, err
	}
	if id, err = s.identifySession(ctx, in, cred.password, model); err == nil && id.Roles == 0 {
		err = facades.Denied()
	}
	return id, st, err
}

// identifySession is identify for the user of a session.
func (s *Server) identifySession(ctx context.Context, in controller.Session, text, model string) (identity, error) {
	id, err := s.identify(ctx, entity.UserTag(in.User), model)
	id.session, id.InSession = &textSession{in, text}, true
	return id, err
}

// hashTurn waits for its turn to hash the password of a user. Unauthenticated clients can send names of any length, so
// turns are counted by a prefix of the name.
func (s *Server) hashTurn(ctx context.Context, g *admission.Conn, user string) (release func(), err error) {
	user = entity.Cut(strings.ToLower(user), 256)
	return s.hashing.Take(ctx, s.limits.UserWait, admission.Turn{Source: g.Source(), User: user, Failed: int(g.Failed.Load())})
}

// identify looks up the current roles of a user in a model ("" for the controller itself). A user without access has no
// roles.
func (s *Server) identify(ctx context.Context, user entity.Tag, model string) (identity, error) {
	rights, err := s.controller.Rights(ctx, user.ID, model)
	if err != nil {
		return identity{}, err
	}
	return identity{Identity: facades.IdentityOf(user, model, rights), password: rights.Password}, nil
}

// identifyBy is identify for a user or consumer who has already logged in. A user whose password has changed since then has no
// roles, and neither has one whose session has ended.
func (s *Server) identifyBy(ctx context.Context, then identity, model string) (identity, error) {
	if then.Tag.Kind == entity.KindConsumer {
		return s.identifyConsumer(ctx, then)
	}
	now, err := s.identify(ctx, then.Tag, model)
	if err == nil && then.session != nil {
		now.session, now.InSession = then.session, true
		if _, ended := s.controller.CheckSession(ctx, then.session.text); errors.Is(ended, entity.Unauthorized) {
			now.Roles = 0
		} else if ended != nil {
			return identity{}, ended
		}
	}
	if err == nil && now.password != then.password {
		now.Roles = 0
	}
	return now, err
}

// A textSession is a session of a browser, with its text.
type textSession struct {
	controller.Session
	text string
}

// watchRights sends an event when what identifyBy returns may have changed.
func (s *Server) watchRights(ctx context.Context, then identity, model string) <-chan struct{} {
	if then.Tag.Kind == entity.KindConsumer {
		return s.controller.WatchConsumer(ctx, then.Consumer)
	}
	if then.session == nil {
		return s.controller.WatchRights(ctx, then.Tag.ID, model)
	}
	changes, either := s.controller.WatchSession(ctx, then.session.Session, model), make(chan struct{})
	s.active.Go(func() {
		defer close(either)
		expiry := time.NewTimer(then.session.Expires.Sub(s.config.now()))
		defer expiry.Stop()
		for open := true; ; {
			select {
			case <-expiry.C:
			case _, open = <-changes:
			}
			if !open {
				return
			}
			select {
			case either <- struct{}{}:
			case <-ctx.Done():
			}
		}
	})
	return either
}

// followRights calls now with the roles of a user or consumer, as returned by look, and calls it again whenever changes says that they may
// have changed, until that is closed. A user who cannot be looked up has no roles.
func followRights(
	ctx context.Context, who entity.Tag, changes <-chan struct{}, look func() (identity, error), now func(facades.Roles),
) {
	for range changes {
		id, err := look()
		for errors.Is(err, entity.StoreAway) && ctx.Err() == nil { // no rights can change during an outage
			_ = backoff.Sleep(ctx, time.Second) // look fails if ctx has ended
			id, err = look()
		}
		if err != nil && ctx.Err() == nil {
			logger.Errorf("%s: cannot look up their roles: %v", who, err)
		}
		now(id.Roles)
	}
}

func (s *Server) authenticateAgent(ctx context.Context, model string, cred credential) (identity, *state.State, error) {
	release, err := s.agentLogins.Take(ctx, s.limits.AgentWait)
	if err != nil {
		return identity{}, nil, err
	}
	defer release()
	st, err := s.controller.Opened(ctx, model)
	if errors.Is(err, entity.NotFound) {
		return identity{}, nil, invalidLogin()
	}
	if err != nil {
		return identity{}, nil, err
	}
	id := identity{Identity: facades.Identity{Tag: cred.tag, Roles: facades.UnitAgent}, since: time.Now(), password: state.AgentStamp(cred.password)}
	if cred.tag.Kind == entity.KindMachine {
		id.Roles = facades.MachineAgent
	}
	err = st.Agents().Check(ctx, cred.tag, cred.password, cred.nonce)
	if id.Roles != facades.MachineAgent {
		return id, st, err
	}
	if model == s.controllerModel.UUID() {
		if err == nil {
			if id.Roles, err = s.managerRoles(ctx, cred.tag); err == nil {
				id.Roles |= facades.MachineAgent
			}
		}
		return id, st, err
	}
	if !errors.Is(err, entity.Unauthorized) {
		return id, st, err
	}
	// The controller's machines may log in to any model. Their ids have no meaning there, because each model has its
	// own machine 0.
	if otherErr := s.controllerModel.Agents().Check(ctx, cred.tag, cred.password, cred.nonce); otherErr != nil {
		return identity{}, nil, unlessAway(otherErr, err)
	}
	manager, managerErr := s.managerRoles(ctx, cred.tag)
	if managerErr != nil || manager == 0 {
		return identity{}, nil, unlessAway(managerErr, err)
	}
	id.Roles, id.home = manager, s.controllerModel
	return id, st, nil
}

// unlessAway returns why if it is only that the store is unavailable, and err otherwise. An agent that is told that it
// is unknown terminates permanently, so that answer must be certain.
func unlessAway(why, err error) error {
	if errors.Is(why, entity.StoreAway) {
		return why
	}
	return err
}

// managerRoles returns the roles, beyond MachineAgent, of a machine of the controller's model.
func (s *Server) managerRoles(ctx context.Context, machine entity.Tag) (facades.Roles, error) {
	m, err := s.controllerModel.Machine(ctx, machine.ID)
	if err != nil || !m.IsManager() {
		return 0, err
	}
	return facades.ControllerAgent, nil
}
