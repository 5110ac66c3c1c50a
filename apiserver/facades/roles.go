package facades

import (
	"context"
	"errors"

	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
)

// Roles are the roles of a caller on one connection. A route lists the roles that may use it. The three roles of users
// include each other; those of agents do not.
type Roles uint8

const (
	Unauthenticated Roles = 1 << iota // before the login
	Reader                            // a user with "read" access to a model, or "login" to the controller
	Writer                            // a user with "write" access to a model, or "add-model" to the controller
	Admin                             // a user with "admin" access to a model, or "superuser" to the controller
	MachineAgent                      // the agent of a machine of this model
	UnitAgent                         // the agent of a unit of this model
	ControllerAgent                   // the agent of a machine that runs the controller, in any model
	Consumer                          // a model of another controller that uses an offer of this model
)

const LoggedIn = Reader | Writer | Admin | MachineAgent | UnitAgent | ControllerAgent | Consumer

// userRoles maps each level of access to its roles.
var userRoles = map[string]Roles{
	controller.AccessRead: Reader, controller.AccessWrite: Reader | Writer, controller.AccessAdmin: Reader | Writer | Admin,
	controller.AccessLogin: Reader, controller.AccessAddModel: Reader | Writer, controller.AccessSuperuser: Reader | Writer | Admin,
}

// An Identity identifies the sender of a request.
type Identity struct {
	Tag              entity.Tag
	Roles            Roles
	ControllerAccess string // a user's
	ModelAccess      string // a user's access to the model
	InSession        bool   // a user has logged in with the session of a browser
	Consumer         controller.Consumer
}

// IdentityOf returns the identity of a user with these rights in a model ("" for the controller itself). A user without
// access has no roles.
func IdentityOf(user entity.Tag, model string, rights controller.Rights) Identity {
	id := Identity{Tag: user, ControllerAccess: rights.Controller, ModelAccess: rights.Model, Roles: userRoles[rights.Model]}
	if model == "" {
		id.Roles = userRoles[rights.Controller]
	}
	return id
}

// at looks up the caller's current rights in a model. The caller is a user.
func (c *Caller) at(ctx context.Context, model string) (Identity, error) {
	rights, err := c.Controller.Rights(ctx, c.Tag.ID, model)
	return IdentityOf(c.Tag, model, rights), err
}

// Denied is the error for a caller who may not do something.
func Denied() error { return entity.Errorf(entity.Unauthorized, "permission denied") }

// Lacks is the error for a caller that has none of the roles who. It tells a user which access is needed, and who can
// grant it; a user without any access learns nothing. model is nil at the controller itself.
func Lacks(id Identity, model *state.State, who Roles) error {
	if id.Tag.Kind != entity.KindUser || id.Roles == 0 {
		return Denied()
	}
	for i, role := range []Roles{Reader, Writer, Admin} {
		switch {
		case who&role == 0:
		case model == nil:
			return lacksController(id, controllerLevels[i])
		default:
			return lacksModel(id, model.Name(), id.ModelAccess, modelLevels[i])
		}
	}
	return Denied()
}

func lacksController(id Identity, level string) error {
	return entity.WithHint(Denied(),
		"This needs %q access to the controller; %s has %q. A superuser can grant it: juju grant %[2]s %[1]s", level,
		id.Tag.ID, id.ControllerAccess)
}

// lacksModel is Lacks for a model that a user names. A user without any access to it does not learn whether it exists; a
// superuser, who has access to every model, does.
func lacksModel(user Identity, model, has, level string) error {
	switch {
	case has == "" && user.ControllerAccess == controller.AccessSuperuser:
		return entity.Errorf(entity.NotFound, "model %q not found", model)
	case has == "":
		return entity.WithHint(Denied(), "This needs %q access to model %q, if there is one; %s has none",
			level, model, user.Tag.ID)
	}
	return entity.WithHint(Denied(), "This needs %q access to model %q; %s has %q. An administrator of the model can grant it: "+
		"juju grant %[3]s %[1]s %[2]s",
		level, model, user.Tag.ID, has)
}

// lacksModelAdmin is the error for something that only admins of the model may do.
func (c *Caller) lacksModelAdmin(ctx context.Context, uuid, has string) error {
	name := uuid
	if has != "" {
		if st, err := c.Controller.Model(ctx, uuid); err == nil {
			name = st.Name()
		}
	}
	return lacksModel(c.Identity, name, has, controller.AccessAdmin)
}

// The levels of access that grant the roles Reader, Writer and Admin.
var (
	modelLevels      = []string{controller.AccessRead, controller.AccessWrite, controller.AccessAdmin}
	controllerLevels = []string{controller.AccessLogin, controller.AccessAddModel, controller.AccessSuperuser}
)

// notAbout denies an agent's request about an entity that is not its own; what names those that are.
func notAbout(agent entity.Tag, what string, subject entity.Tag) error {
	return entity.WithHint(Denied(), "The agent of %s can request this only for %s, not for %q", agent, what, subject)
}

// self accepts an agent's requests about itself.
func self(_ context.Context, c *Caller, subject entity.Tag) error {
	if subject.IsZero() || subject != c.Tag {
		return notAbout(c.Tag, "itself", subject)
	}
	return nil
}

// deployed accepts requests about units that the agent deploys.
func deployed(ctx context.Context, c *Caller, subject entity.Tag) error {
	if subject.Kind != entity.KindUnit {
		return notAbout(c.Tag, "the units that it deploys", subject)
	}
	u, err := c.Model.Unit(ctx, subject.ID)
	if err != nil {
		return err
	}
	if u.Deployer() != c.Tag {
		return notAbout(c.Tag, "the units that it deploys", subject)
	}
	return nil
}

// deployedOrGone is deployed, but also accepts a unit that has been removed. Its deployer is no longer known, and its
// removal is what the caller wants.
func deployedOrGone(ctx context.Context, c *Caller, subject entity.Tag) error {
	err := deployed(ctx, c, subject)
	if errors.Is(err, entity.NotFound) {
		return nil
	}
	return err
}

// machines accepts the controller's requests about any machine of the model.
func machines(_ context.Context, c *Caller, subject entity.Tag) error {
	if subject.Kind != entity.KindMachine {
		return notAbout(c.Tag, "machines", subject)
	}
	return nil
}

// services accepts the controller's requests about any service of the model.
func services(_ context.Context, c *Caller, subject entity.Tag) error {
	if subject.Kind != entity.KindService {
		return notAbout(c.Tag, "services", subject)
	}
	return nil
}

// storages accepts the controller's requests about any storage of the model.
func storages(_ context.Context, c *Caller, subject entity.Tag) error {
	if subject.Kind != entity.KindStorage {
		return notAbout(c.Tag, "storage", subject)
	}
	return nil
}

// everything accepts the controller's requests that name no entity.
func everything(context.Context, *Caller, entity.Tag) error { return nil }
