package controller

import (
	"context"
	"fmt"
	"slices"
	"time"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/entity"
	"juju/state/internal/secret"
	"juju/state/mongo"
	"juju/state/watcher"
)

// The levels of access to the controller and to a model. Each includes the lower ones; "" is no access.
const (
	AccessLogin     = "login"
	AccessAddModel  = "add-model" // may add models
	AccessSuperuser = "superuser" // may do everything, in every model

	AccessRead  = "read"
	AccessWrite = "write"
	AccessAdmin = "admin"
)

// A ladder lists the levels of access to something, the lowest first.
type ladder []string

var (
	controllerLadder = ladder{"", AccessLogin, AccessAddModel, AccessSuperuser}
	modelLadder      = ladder{"", AccessRead, AccessWrite, AccessAdmin}
)

// check rejects a level that is not on the ladder.
func (l ladder) check(what, level string) error {
	if !slices.Contains(l[1:], level) {
		return entity.WithHint(entity.Errorf(entity.Invalid, "%q %s access not valid", level, what),
			"The levels are: %s", l.String())
	}
	return nil
}

// String lists the levels.
func (l ladder) String() string {
	text := ""
	for _, level := range l[1:] {
		if text != "" {
			text += ", "
		}
		text += level
	}
	return text
}

func (l ladder) rank(level string) int { return slices.Index(l, level) }

// granted returns the level of a user who had level has, after a grant.
func (l ladder) granted(has, level string) (string, error) {
	if l.rank(has) >= l.rank(level) {
		return "", entity.Errorf(entity.AlreadyExists, "user already has %q access or greater", level)
	}
	return level, nil
}

// revoked returns the level of a user who had level has, after level was revoked: the one below it.
func (l ladder) revoked(user, has, level string) (string, error) {
	if l.rank(has) < l.rank(level) {
		return "", entity.Errorf(entity.NotFound, "user %q does not have %q access", user, level)
	}
	return l[l.rank(level)-1], nil
}

// GrantController raises a user's access to the controller.
func (c *Controller) GrantController(ctx context.Context, user, level string) error {
	err := c.changeControllerAccess(ctx, user, level,
		func(d userDoc) (string, error) { return controllerLadder.granted(d.Access, level) })
	if err != nil {
		return fmt.Errorf("could not grant controller access: %w", err)
	}
	return nil
}

// RevokeController revokes a level of access to the controller; the user keeps the one
// below. A user without login can't use any model either.
func (c *Controller) RevokeController(ctx context.Context, user, level string) error {
	err := c.changeControllerAccess(ctx, user, level, func(d userDoc) (string, error) {
		return controllerLadder.revoked(d.Name, d.Access, level)
	})
	if err != nil {
		return fmt.Errorf("could not revoke controller access: %w", err)
	}
	return nil
}

func (c *Controller) changeControllerAccess(ctx context.Context, user, level string,
	to func(userDoc) (string, error)) error {
	if err := controllerLadder.check("controller", level); err != nil {
		return err
	}
	return c.changeUser(ctx, user, func(d userDoc) (bson.D, error) {
		access, err := to(d)
		return bson.D{{"access", access}}, err
	})
}

// A modelUserDoc records the access of a user to a model that someone else owns.
type modelUserDoc struct {
	ID        string    `bson:"_id"` // see modelUserID
	Model     string    `bson:"model"`
	User      string    `bson:"user"` // a userID
	Access    string    `bson:"access"`
	CreatedBy string    `bson:"createdby"`
	Created   time.Time `bson:"created"`
}

func modelUserID(model, user string) string { return model + "#" + userID(user) }

// modelAccess returns the access to a model that was granted to a user; "" for none.
func (c *Controller) modelAccess(model, user string) (string, error) {
	var doc modelUserDoc
	err := c.db.Get(modelUsersC, modelUserID(model, user), &doc, "access")
	if entity.IsNotFound(err) {
		return "", nil
	}
	return doc.Access, err
}

// GrantModel raises a user's access to a model. by is the user who grants it.
func (c *Controller) GrantModel(ctx context.Context, model, user, level, by string) error {
	if err := modelLadder.check("model", level); err != nil {
		return err
	}
	doc := modelUserDoc{ID: modelUserID(model, user), Model: model, User: userID(user), Access: level, CreatedBy: by,
		Created: c.now()}
	err := c.db.Change(ctx, func(o *mongo.Ops) error {
		target, err := c.userDocOf(user)
		if entity.IsNotFound(err) && entity.Hint(err) == "" {
			return entity.WithHint(err, "To add the user: juju add-user %s", user)
		} else if err != nil {
			return err
		}
		row, err := c.readyRow(model)
		if err != nil {
			return err
		}
		has, err := c.modelAccess(model, user)
		if err != nil {
			return err
		}
		if userID(row.Owner) == target.ID {
			has = AccessAdmin
		}
		if _, err := modelLadder.granted(has, level); err != nil {
			return err
		}
		o.Assert(usersC, target.ID, bson.D{{"removed", false}})
		o.Assert(modelsC, row.UUID, bson.D{{"step", stepReady}})
		if has == "" {
			o.Insert(modelUsersC, doc.ID, doc)
		} else {
			o.Update(modelUsersC, doc.ID, bson.D{{"access", has}}, bson.D{{"$set", bson.D{{"access", level}}}})
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("could not grant model access: %w", err)
	}
	return nil
}

// RevokeModel revokes a level of access to a model; the user keeps the one below. The owner's access
// can't be revoked.
func (c *Controller) RevokeModel(ctx context.Context, model, user, level string) error {
	if err := modelLadder.check("model", level); err != nil {
		return err
	}
	err := c.db.Change(ctx, func(o *mongo.Ops) error {
		target, err := c.userDocOf(user)
		if err != nil {
			return err
		}
		row, err := c.readyRow(model)
		if err != nil {
			return err
		}
		if userID(row.Owner) == target.ID {
			return entity.WithHint(entity.Errorf(entity.InUse, "user %q owns model %q", target.Name, row.Name),
				"To keep the owner out: juju disable-user %s", target.Name)
		}
		has, err := c.modelAccess(model, user)
		if err != nil {
			return err
		}
		left, err := modelLadder.revoked(target.Name, has, level)
		if err != nil && target.Access == AccessSuperuser {
			err = entity.WithHint(err, "Superusers have access to all models; to change that: juju revoke %s superuser", target.Name)
		}
		if err != nil {
			return err
		}
		seen := bson.D{{"access", has}}
		if left == "" {
			o.Remove(modelUsersC, modelUserID(model, user), seen)
		} else {
			o.Update(modelUsersC, modelUserID(model, user), seen, bson.D{{"$set", bson.D{{"access", left}}}})
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("could not revoke model access: %w", err)
	}
	return nil
}

// Rights is a user's current access.
type Rights struct {
	Controller string
	Model      string // to the given model
	// Password changes whenever the user's password does, but does not reveal it.
	Password string
}

// Rights returns a user's access to the controller and to a model ("" for none). A user who is removed or disabled, or
// who has no password or no access to the controller, has none. It reads one to three documents by id.
func (c *Controller) Rights(ctx context.Context, user, model string) (Rights, error) {
	doc, err := c.userDocOf(user)
	if entity.IsNotFound(err) {
		return Rights{}, nil
	}
	if err != nil || !doc.stands() || doc.Access == "" {
		return Rights{}, err
	}
	rights := Rights{Controller: doc.Access, Password: secret.Stamp(doc.Password)}
	if model == "" {
		return rights, nil
	}
	if doc.Access == AccessSuperuser {
		rights.Model = AccessAdmin
		return rights, nil
	}
	if rights.Model, err = c.modelAccess(model, user); err != nil || rights.Model != "" {
		return rights, err
	}
	row, err := c.readyRow(model)
	if entity.IsNotFound(err) {
		return rights, nil
	}
	if userID(row.Owner) == doc.ID {
		rights.Model = AccessAdmin
	}
	return rights, err
}

// WatchRights sends an event when a user's Rights for a model ("" for none) may have changed.
func (c *Controller) WatchRights(ctx context.Context, user, model string) <-chan struct{} {
	return watcher.Notify(ctx, c.hub, watcher.Doc(usersC, userID(user)),
		watcher.Doc(modelUsersC, modelUserID(model, user)))
}

// A ModelUser is a user with access to a model.
type ModelUser struct {
	Name        string
	DisplayName string
	Access      string
	LastLogin   time.Time // to the model; zero if never
}

// ModelUsers returns a model's owner and the users who were granted access to it, by name. It does not
// include other superusers.
func (c *Controller) ModelUsers(ctx context.Context, model string) ([]ModelUser, error) {
	row, err := c.readyRow(model)
	if err != nil {
		return nil, err
	}
	var docs []modelUserDoc
	if err := c.db.All(modelUsersC, bson.D{{"model", model}}, &docs); err != nil {
		return nil, err
	}
	docs = append(docs, modelUserDoc{ID: modelUserID(model, row.Owner), User: userID(row.Owner), Access: AccessAdmin})
	var ids, logins []string
	for _, d := range docs {
		ids, logins = append(ids, d.User), append(logins, d.ID)
	}
	var known []userDoc
	if err := c.db.All(usersC, bson.D{{"_id", bson.D{{"$in", ids}}}, {"removed", false}}, &known); err != nil {
		return nil, err
	}
	at, err := c.logins(logins)
	if err != nil {
		return nil, err
	}
	var users []ModelUser
	for _, d := range docs {
		if i := slices.IndexFunc(known, func(u userDoc) bool { return u.ID == d.User }); i >= 0 {
			users = append(users, ModelUser{known[i].Name, known[i].DisplayName, d.Access, at[d.ID]})
		}
	}
	slices.SortFunc(users, func(a, b ModelUser) int { return entity.CompareNatural(a.Name, b.Name) })
	return users, nil
}

// ModelsOf returns the models that a user has access to, by name, and the level of each.
func (c *Controller) ModelsOf(ctx context.Context, user string) (rows []ModelRow, access []string, err error) {
	rights, err := c.Rights(ctx, user, "")
	if err != nil || rights.Controller == "" {
		return nil, nil, err
	}
	all, err := c.Models(ctx)
	if err != nil {
		return nil, nil, err
	}
	var docs []modelUserDoc
	if err := c.db.All(modelUsersC, bson.D{{"user", userID(user)}}, &docs); err != nil {
		return nil, nil, err
	}
	granted := map[string]string{}
	for _, d := range docs {
		granted[d.Model] = d.Access
	}
	for _, row := range all {
		level := granted[row.UUID]
		if rights.Controller == AccessSuperuser || userID(row.Owner) == userID(user) {
			level = AccessAdmin
		}
		if level != "" {
			rows, access = append(rows, row), append(access, level)
		}
	}
	return rows, access, nil
}

// dropModel removes the grants and login times of a removed model. The model must be in a step in which no access to it
// can be granted. It is idempotent.
func (c *Controller) dropModel(ctx context.Context, model string) error {
	if err := c.dropRights(ctx, bson.D{{"model", model}}); err != nil {
		return err
	}
	return c.db.Reading(loginsC, func(logins *mgo.Collection) error {
		// "$" comes right after "#".
		_, err := logins.RemoveAll(bson.D{{"_id", bson.D{{"$gte", modelUserID(model, "")}, {"$lt", model + "$"}}}})
		return err
	})
}

// rightsAtOnce is the maximum number of grants that one transaction removes.
const rightsAtOnce = 100

// dropRights removes all grants that match a query, in idempotent steps. The caller ensures that no new ones are added.
func (c *Controller) dropRights(ctx context.Context, query bson.D) error {
	for done := false; !done; {
		err := c.db.Change(ctx, func(o *mongo.Ops) error {
			var docs []modelUserDoc
			if err := c.db.All(modelUsersC, query, &docs); err != nil {
				return err
			}
			if done = len(docs) == 0; done {
				return mongo.ErrNothing
			}
			for _, d := range docs[:min(len(docs), rightsAtOnce)] {
				o.Remove(modelUsersC, d.ID, txn.DocExists)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
