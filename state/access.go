package state

import (
	"context"
	"fmt"
	"slices"
	"time"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/watcher"
)

// The levels of access, to the controller and to a model. Each holds those before
// it; "" is none.
const (
	AccessLogin     = "login"
	AccessAddModel  = "add-model" // may make models
	AccessSuperuser = "superuser" // may do everything everywhere

	AccessRead  = "read"
	AccessWrite = "write"
	AccessAdmin = "admin"
)

// A ladder is the levels of access to something, the lowest first.
type ladder []string

var (
	controllerLadder = ladder{"", AccessLogin, AccessAddModel, AccessSuperuser}
	modelLadder      = ladder{"", AccessRead, AccessWrite, AccessAdmin}
)

// check refuses what is no level of the ladder.
func (l ladder) check(what, level string) error {
	if !slices.Contains(l[1:], level) {
		return entity.WithHint(entity.Errorf(entity.Invalid, "%q %s access not valid", level, what), "The levels there are: %s", l.String())
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

// granted returns the level after a grant of another to who has one.
func (l ladder) granted(has, level string) (string, error) {
	if l.rank(has) >= l.rank(level) {
		return "", entity.Errorf(entity.AlreadyExists, "user already has %q access or greater", level)
	}
	return level, nil
}

// revoked returns what is left to who has a level when another is revoked: the
// one below that.
func (l ladder) revoked(user, has, level string) (string, error) {
	if l.rank(has) < l.rank(level) {
		return "", entity.Errorf(entity.NotFound, "user %q does not have %q access", user, level)
	}
	return l[l.rank(level)-1], nil
}

// GrantController lifts what a user may do at the controller.
func (c *Controller) GrantController(ctx context.Context, user, level string) error {
	err := c.changeControllerAccess(ctx, user, level, func(d userDoc) (string, error) { return controllerLadder.granted(d.Access, level) })
	if err != nil {
		return fmt.Errorf("could not grant controller access: %w", err)
	}
	return nil
}

// RevokeController takes a level from a user, which leaves the one below. Who
// can't log in can do nothing at any model either.
func (c *Controller) RevokeController(ctx context.Context, user, level string) error {
	err := c.changeControllerAccess(ctx, user, level, func(d userDoc) (string, error) {
		return controllerLadder.revoked(d.Name, d.Access, level)
	})
	if err != nil {
		return fmt.Errorf("could not revoke controller access: %w", err)
	}
	return nil
}

func (c *Controller) changeControllerAccess(ctx context.Context, user, level string, to func(userDoc) (string, error)) error {
	if err := controllerLadder.check("controller", level); err != nil {
		return err
	}
	return c.changeUser(ctx, user, func(d userDoc) (bson.D, error) {
		access, err := to(d)
		return bson.D{{"access", access}}, err
	})
}

// A modelUserDoc says what a user may do at a model that is not theirs.
type modelUserDoc struct {
	ID        string    `bson:"_id"` // see modelUserID
	Model     string    `bson:"model"`
	User      string    `bson:"user"` // a userID
	Access    string    `bson:"access"`
	CreatedBy string    `bson:"createdby"`
	Created   time.Time `bson:"created"`
}

func modelUserID(model, user string) string { return model + "#" + userID(user) }

// modelAccess reads what a user was granted at a model; "" for nothing.
func (c *Controller) modelAccess(model, user string) (string, error) {
	var doc modelUserDoc
	err := c.db.Get(modelUsersC, modelUserID(model, user), &doc, "access")
	if isNotFound(err) {
		return "", nil
	}
	return doc.Access, err
}

// GrantModel lifts what a user may do at a model; by says who grants.
func (c *Controller) GrantModel(ctx context.Context, model, user, level, by string) error {
	if err := modelLadder.check("model", level); err != nil {
		return err
	}
	doc := modelUserDoc{ID: modelUserID(model, user), Model: model, User: userID(user), Access: level, CreatedBy: by, Created: c.now()}
	err := change(ctx, c.db, func(o *ops) error {
		target, err := c.userDocOf(user)
		if err != nil {
			return fmt.Errorf("user %q does not exist locally: %w", user, err)
		}
		row, err := c.readyRow(model)
		if err != nil {
			return err
		}
		has, err := c.modelAccess(model, user)
		if err != nil {
			return err
		}
		mine := userID(row.Owner) == target.ID
		if mine {
			has = AccessAdmin
		}
		if _, err := modelLadder.granted(has, level); err != nil {
			return err
		}
		o.assert(usersC, target.ID, bson.D{{"removed", false}})
		o.assert(modelsC, row.UUID, bson.D{{"step", stepReady}})
		if has == "" {
			o.insert(modelUsersC, doc.ID, doc)
		} else {
			o.update(modelUsersC, doc.ID, bson.D{{"access", has}}, bson.D{{"$set", bson.D{{"access", level}}}})
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("could not grant model access: %w", err)
	}
	return nil
}

// RevokeModel takes a level from a user, which leaves the one below. A model's
// owner keeps everything.
func (c *Controller) RevokeModel(ctx context.Context, model, user, level string) error {
	if err := modelLadder.check("model", level); err != nil {
		return err
	}
	err := change(ctx, c.db, func(o *ops) error {
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
				"Keep the owner out altogether: juju disable-user %s", target.Name)
		}
		has, err := c.modelAccess(model, user)
		if err != nil {
			return err
		}
		left, err := modelLadder.revoked(target.Name, has, level)
		if err != nil && target.Access == AccessSuperuser {
			err = entity.WithHint(err, "A superuser may do everything: juju revoke %s superuser", target.Name)
		}
		if err != nil {
			return err
		}
		seen := bson.D{{"access", has}}
		if left == "" {
			o.remove(modelUsersC, modelUserID(model, user), seen)
		} else {
			o.update(modelUsersC, modelUserID(model, user), seen, bson.D{{"$set", bson.D{{"access", left}}}})
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("could not revoke model access: %w", err)
	}
	return nil
}

// Rights are what a user may do just now.
type Rights struct {
	Controller string
	Model      string // at the model that was asked about
	// Password is another when the user's password is; it tells nothing of it.
	Password string
}

// Rights returns what a user may do at the controller and at a model ("" for
// none): nothing at all for who is removed, disabled, or can't log in for want of
// a password or of access. It costs one to three reads by id.
func (c *Controller) Rights(ctx context.Context, user, model string) (Rights, error) {
	doc, err := c.userDocOf(user)
	if isNotFound(err) {
		return Rights{}, nil
	}
	if err != nil || !doc.stands() || doc.Access == "" {
		return Rights{}, err
	}
	rights := Rights{Controller: doc.Access, Password: stampOf(doc.Password)}
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
	if isNotFound(err) {
		return rights, nil
	}
	if userID(row.Owner) == doc.ID {
		rights.Model = AccessAdmin
	}
	return rights, err
}

// WatchRights fires when the Rights of a user at a model ("" for none) may be
// other than they were.
func (c *Controller) WatchRights(ctx context.Context, user, model string) <-chan struct{} {
	return watcher.Notify(ctx, c.hub, watcher.Doc(usersC, userID(user)), watcher.Doc(modelUsersC, modelUserID(model, user)))
}

// A ModelUser is somebody who may do something at a model.
type ModelUser struct {
	Name        string
	DisplayName string
	Access      string
	LastLogin   time.Time // at the model; zero for never
}

// ModelUsers returns the owner of a model and those who were granted something
// there, by name. Superusers may do everything everywhere and are not among them
// for that.
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
	sortBy(users, func(u ModelUser) string { return u.Name })
	return users, nil
}

// ModelsOf returns the models at which a user may do something, by name, with
// what that is.
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

// dropModel forgets what users may do at a model, and when they were there, once
// the model is gone and nobody can be granted anything. It can be repeated.
func (c *Controller) dropModel(ctx context.Context, model string) error {
	if err := c.dropRights(ctx, bson.D{{"model", model}}); err != nil {
		return err
	}
	return c.db.Reading(loginsC, func(logins *mgo.Collection) error {
		_, err := logins.RemoveAll(bson.D{{"_id", bson.D{{"$gte", modelUserID(model, "")}, {"$lt", model + "$"}}}}) // '$' follows '#'
		return err
	})
}

// rightsAtOnce bounds how many grants one transaction takes away.
const rightsAtOnce = 100

// dropRights takes away all grants that a query finds, in steps that can be
// repeated. No more may come, which is the caller's to see to.
func (c *Controller) dropRights(ctx context.Context, query bson.D) error {
	for done := false; !done; {
		err := change(ctx, c.db, func(o *ops) error {
			var docs []modelUserDoc
			if err := c.db.All(modelUsersC, query, &docs); err != nil {
				return err
			}
			if done = len(docs) == 0; done {
				return mongo.ErrNothing
			}
			for _, d := range docs[:min(len(docs), rightsAtOnce)] {
				o.remove(modelUsersC, d.ID, exists)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
