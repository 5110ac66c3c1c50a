package facades

import (
	"context"

	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
)

// Roles are what a caller is on one connection. A route says which of them may use it. The
// three roles of users include each other; those of agents do not.
type Roles uint8

const (
	Stranger        Roles = 1 << iota // before the login
	Reader                            // a user with "read" at a model, or with "login" at the controller
	Writer                            // a user with "write" at a model, or with "add-model" at the controller
	Admin                             // a user with "admin" at a model, or with "superuser" at the controller
	MachineAgent                      // the agent of a machine of this model
	UnitAgent                         // the agent of a unit of this model
	ControllerAgent                   // the agent of a machine that runs the controller, at any model
)

const LoggedIn = Reader | Writer | Admin | MachineAgent | UnitAgent | ControllerAgent

// userRoles are the roles that come with each level of access.
var userRoles = map[string]Roles{
	controller.AccessRead: Reader, controller.AccessWrite: Reader | Writer, controller.AccessAdmin: Reader | Writer | Admin,
	controller.AccessLogin: Reader, controller.AccessAddModel: Reader | Writer, controller.AccessSuperuser: Reader | Writer | Admin,
}

// An Identity is who makes a request.
type Identity struct {
	Tag              entity.Tag
	Roles            Roles
	ControllerAccess string // a user's
	ModelAccess      string // a user's at a model
}

// IdentityOf returns what a user with these rights may do at a model ("" for the controller's own
// path). A user without access has no roles.
func IdentityOf(user entity.Tag, model string, rights controller.Rights) Identity {
	id := Identity{Tag: user, ControllerAccess: rights.Controller, ModelAccess: rights.Model, Roles: userRoles[rights.Model]}
	if model == "" {
		id.Roles = userRoles[rights.Controller]
	}
	return id
}

// at looks up what the caller, a user, may do now at a model.
func (c *Caller) at(ctx context.Context, model string) (Identity, error) {
	rights, err := c.Controller.Rights(ctx, c.Tag.ID, model)
	return IdentityOf(c.Tag, model, rights), err
}

// Denied is the error of a caller who may not do something.
func Denied() error { return entity.Errorf(entity.Unauthorized, "permission denied") }

// Lacks denies what is for others. It tells a user what access that takes, and who can grant it; one without any learns
// nothing. model is nil at the controller.
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
			return lacksModel(id.Tag, model.Name(), id.ModelAccess, modelLevels[i])
		}
	}
	return Denied()
}

func lacksController(id Identity, level string) error {
	return entity.WithHint(Denied(),
		"This needs %q access to the controller; %s has %q. A superuser can grant it: juju grant %[2]s %[1]s", level, id.Tag.ID, id.ControllerAccess)
}

// lacksModel is Lacks for a model that a user names. One without any access to it does not learn whether it exists.
func lacksModel(user entity.Tag, model, has, level string) error {
	if has == "" {
		return entity.WithHint(Denied(), "This needs %q access to model %q, if there is one; %s has none", level, model, user.ID)
	}
	return entity.WithHint(Denied(), "This needs %q access to model %q; %s has %q. An administrator of the model can grant it: "+
		"juju grant %[3]s %[1]s %[2]s",
		level, model, user.ID, has)
}

// lacksModelAdmin denies a user what only the admins of a model may do.
func (c *Caller) lacksModelAdmin(ctx context.Context, uuid, has string) error {
	name := uuid
	if has != "" {
		if st, err := c.Controller.Model(ctx, uuid); err == nil {
			name = st.Name()
		}
	}
	return lacksModel(c.Tag, name, has, controller.AccessAdmin)
}

// The levels of access that give the roles reader, writer and admin.
var (
	modelLevels      = []string{controller.AccessRead, controller.AccessWrite, controller.AccessAdmin}
	controllerLevels = []string{controller.AccessLogin, controller.AccessAddModel, controller.AccessSuperuser}
)
