package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/secret"
	"juju/state/mongo"
)

// A User is a user of the controller.
type User struct {
	Name        string // as given; unique regardless of case
	DisplayName string
	Access      string // to the controller: "", "login", "add-model" or "superuser"
	Disabled    bool
	CreatedBy   string
	Created     time.Time
	LastLogin   time.Time // zero if never

	password string // see Rights.Password
}

// Stamp returns the value of Rights.Password when the user was read.
func (u User) Stamp() string { return u.password }

// A userDoc is never deleted: it has how many users had the name before.
type userDoc struct {
	ID          string    `bson:"_id"` // see userID
	Name        string    `bson:"name"`
	DisplayName string    `bson:"displayname"`
	Access      string    `bson:"access"`
	Password    string    `bson:"password"` // a bcrypt hash; "" for none
	Key         string    `bson:"hash"`     // the hash of the registration key; "" once used
	Disabled    bool      `bson:"disabled"`
	Removed     bool      `bson:"removed"`
	CreatedBy   string    `bson:"createdby"`
	Created     time.Time `bson:"created"`
	Tokens      int       `bson:"tokens,omitempty"`   // grows with each access token that is created
	Sessions    int       `bson:"sessions,omitempty"` // likewise, with each session and log-in
	// Generation is the number of removed users who had the name.
	Generation int `bson:"generation,omitempty"`
}

// userID returns the id of a user's document.
func userID(name string) string { return strings.ToLower(name) }

// stands reports whether the user can log in.
func (d *userDoc) stands() bool { return !d.Removed && !d.Disabled && d.Password != "" }

// facts asserts that the user's access and ability to log in are unchanged since they were read.
func (d *userDoc) facts() bson.D {
	return bson.D{{"access", d.Access}, {"disabled", d.Disabled}, {"removed", d.Removed}, {"password", d.Password}}
}

func (d *userDoc) user() User {
	return User{Name: d.Name, DisplayName: d.DisplayName, Access: d.Access, Disabled: d.Disabled, CreatedBy: d.CreatedBy,
		Created: d.Created, password: secret.Stamp(d.Password)}
}

// userDocOf reads a user who has not been removed.
func (c *Controller) userDocOf(ctx context.Context, name string) (userDoc, error) {
	var doc userDoc
	if err := c.db.Get(ctx, usersC, userID(name), &doc, fmt.Sprintf("user %q", name)); entity.IsNotFound(err) {
		return doc, entity.WithHint(err, "To list the users: juju users. To add one: juju add-user %s", name)
	} else if err != nil {
		return doc, err
	}
	if doc.Removed {
		return doc, entity.WithHint(entity.Errorf(entity.NotFound, "user %q is permanently deleted", name),
			"To add another user of this name: juju add-user %s", name)
	}
	return doc, nil
}

// Principal returns a user's principal, by which models and tokens say whose right they rely on: they are out of reach when the
// user is removed.
func (c *Controller) Principal(ctx context.Context, name string) (string, error) {
	doc, err := c.userDocOf(ctx, name)
	if err != nil {
		return "", err
	}
	return entity.PrincipalOf(doc.Name, doc.Generation), nil
}

// User returns a user who has not been removed.
func (c *Controller) User(ctx context.Context, name string) (User, error) {
	doc, err := c.userDocOf(ctx, name)
	if err != nil {
		return User{}, err
	}
	users, err := c.withLogins(ctx, []userDoc{doc})
	if err != nil {
		return User{}, err
	}
	return users[0], nil
}

// Users returns the users who have not been removed, by name, including disabled ones if disabled is set.
func (c *Controller) Users(ctx context.Context, disabled bool) ([]User, error) {
	query := bson.D{{"removed", false}}
	if !disabled {
		query = append(query, bson.DocElem{Name: "disabled", Value: false})
	}
	var docs []userDoc
	if err := c.db.All(ctx, usersC, query, &docs); err != nil {
		return nil, err
	}
	slices.SortFunc(docs, func(a, b userDoc) int { return entity.CompareNatural(a.Name, b.Name) })
	return c.withLogins(ctx, docs)
}

// A loginDoc is the time of a user's last login to the controller or a model. It is
// written outside transactions, because nothing depends on it.
type loginDoc struct {
	ID string    `bson:"_id"` // a userID or a modelUserID
	At time.Time `bson:"at"`
}

// NoteLogin records a user's login to a model, or to the controller if model is "".
func (c *Controller) NoteLogin(ctx context.Context, name, model string) error {
	ids := []string{userID(name)}
	if model != "" {
		ids = append(ids, modelUserID(model, name))
	}
	at := c.now()
	for _, id := range ids {
		if err := c.db.Upsert(ctx, loginsC, id, bson.D{{"$set", bson.D{{"at", at}}}}); err != nil {
			return fmt.Errorf("cannot record a login: %w", err)
		}
	}
	return nil
}

// LastLogins returns when a user last logged in to each of some models, without those that the user never did.
func (c *Controller) LastLogins(ctx context.Context, user string, models []string) (map[string]time.Time, error) {
	ids := make([]string, len(models))
	for i, model := range models {
		ids[i] = modelUserID(model, user)
	}
	at, err := c.logins(ctx, ids)
	all := make(map[string]time.Time, len(at))
	for i, id := range ids {
		if t, ok := at[id]; ok {
			all[models[i]] = t
		}
	}
	return all, err
}

// logins returns the time of the last login by id, without ids that have none.
func (c *Controller) logins(ctx context.Context, ids []string) (map[string]time.Time, error) {
	var docs []loginDoc
	if err := c.db.All(ctx, loginsC, bson.D{{"_id", bson.D{{"$in", ids}}}}, &docs); err != nil {
		return nil, err
	}
	at := map[string]time.Time{}
	for _, d := range docs {
		at[d.ID] = d.At
	}
	return at, nil
}

func (c *Controller) withLogins(ctx context.Context, docs []userDoc) ([]User, error) {
	ids := make([]string, len(docs))
	for i, d := range docs {
		ids[i] = d.ID
	}
	at, err := c.logins(ctx, ids)
	users := make([]User, len(docs))
	for i, d := range docs {
		users[i] = d.user()
		users[i].LastLogin = at[d.ID]
	}
	return users, err
}

// AddUserParams describe a new user.
type AddUserParams struct {
	Name        string
	DisplayName string
	Password    string // if empty AddUser returns a registration key
	Creator     string
}

// maxDisplayName is the maximum length of display names, in bytes.
const maxDisplayName = 256

// AddUser adds a user with login access. Without a password it returns a registration key, which
// RegisterUser accepts once; only its hash is stored. The name may be a removed user's, none of whose rights the new one has.
func (c *Controller) AddUser(ctx context.Context, p AddUserParams) (key []byte, err error) {
	doc := userDoc{ID: userID(p.Name), Name: p.Name, DisplayName: p.DisplayName, Access: AccessLogin, CreatedBy: p.Creator,
		Created: c.now()}
	switch {
	case !entity.IsValidUser(p.Name):
		err = entity.InvalidUser(p.Name)
	case len(p.DisplayName) > maxDisplayName:
		err = entity.Errorf(entity.Invalid, "the display name is longer than %d bytes", maxDisplayName)
	case p.Password != "":
		doc.Password, err = c.hashUserPassword(p.Password)
	default:
		key, doc.Key = newKey()
	}
	var was userDoc // a removed user
	if err == nil {
		was, err = c.forgetRemoved(ctx, doc.ID)
	}
	if err == nil {
		err = c.db.Change(ctx, func(o *mongo.Ops) error {
			var there userDoc
			switch err := c.db.Get(ctx, usersC, doc.ID, &there, "user"); {
			case err == nil && there.Removed && there.Generation == was.Generation:
				o.Update(usersC, doc.ID, append(mongo.Unadvanced("generation", was.Generation), bson.DocElem{Name: "removed", Value: true}),
					bson.D{{"$inc", bson.D{{"generation", 1}}}, {"$set", bson.D{{"name", doc.Name}, {"displayname", doc.DisplayName},
						{"access", doc.Access}, {"password", doc.Password}, {"hash", doc.Key}, {"disabled", false}, {"removed", false},
						{"createdby", doc.CreatedBy}, {"created", doc.Created}}}})
				return nil
			case err == nil:
				return entity.WithHint(entity.Errorf(entity.AlreadyExists, "username unavailable"),
					"To list the users: juju users --all")
			case !entity.IsNotFound(err):
				return err
			}
			o.Insert(usersC, doc.ID, doc)
			return nil
		})
	}
	if err != nil {
		return nil, fmt.Errorf("failed to create user: %w", err)
	}
	return key, nil
}

// changeUser changes a user who has not been removed. set is given the user and returns the fields to set; nil if there
// is nothing to change. A change that leaves the user unable to act as superuser asserts that another one exists.
func (c *Controller) changeUser(ctx context.Context, name string, set func(userDoc) (bson.D, error)) error {
	return c.db.Change(ctx, func(o *mongo.Ops) error {
		doc, err := c.userDocOf(ctx, name)
		if err != nil {
			return err
		}
		fields, err := set(doc)
		if err != nil {
			return err
		}
		if len(fields) == 0 {
			return mongo.ErrNothing
		}
		if err := c.keepSuperuser(ctx, o, doc, fields); err != nil {
			return err
		}
		o.Update(usersC, doc.ID, append(doc.facts(), bson.DocElem{Name: "hash", Value: doc.Key}), bson.D{{"$set", fields}})
		return nil
	})
}

// keepSuperuser asserts, for a change that leaves a superuser unable to act as one, that another superuser
// can log in, because someone must be able to undo the change.
func (c *Controller) keepSuperuser(ctx context.Context, o *mongo.Ops, doc userDoc, fields bson.D) error {
	after := doc
	for _, f := range fields {
		switch f.Name {
		case "access":
			after.Access = f.Value.(string)
		case "password":
			after.Password = f.Value.(string)
		case "disabled":
			after.Disabled = f.Value.(bool)
		case "removed":
			after.Removed = f.Value.(bool)
		}
	}
	is := func(d userDoc) bool { return d.Access == AccessSuperuser && d.stands() }
	if !is(doc) || is(after) {
		return nil
	}
	var others []userDoc
	if err := c.db.All(ctx, usersC, bson.D{{"access", AccessSuperuser}, {"disabled", false}, {"removed", false}},
		&others); err != nil {
		return err
	}
	i := slices.IndexFunc(others, func(d userDoc) bool { return d.ID != doc.ID && is(d) })
	if i < 0 {
		return entity.WithHint(entity.Errorf(entity.InUse, "user %q is the only superuser who can log in", doc.Name),
			"Make another user a superuser first: juju grant USER superuser")
	}
	o.Assert(usersC, others[i].ID, others[i].facts())
	return nil
}

// DisableUser locks a user out until EnableUser is called; the user's open connections lose their rights immediately.
func (c *Controller) DisableUser(ctx context.Context, name string) error {
	err := c.changeUser(ctx, name, func(d userDoc) (bson.D, error) {
		if d.Disabled {
			return nil, nil
		}
		return bson.D{{"disabled", true}}, nil
	})
	if err != nil {
		return fmt.Errorf("failed to disable user: %w", err)
	}
	return nil
}

// EnableUser enables a disabled user, who regains the same rights.
func (c *Controller) EnableUser(ctx context.Context, name string) error {
	err := c.changeUser(ctx, name, func(d userDoc) (bson.D, error) {
		if !d.Disabled {
			return nil, nil
		}
		return bson.D{{"disabled", false}}, nil
	})
	if err != nil {
		return fmt.Errorf("failed to enable user: %w", err)
	}
	return nil
}

// RemoveUser removes a user permanently, with all rights. Models that the user owned remain, for superusers.
func (c *Controller) RemoveUser(ctx context.Context, name string) error {
	err := c.changeUser(ctx, name, func(userDoc) (bson.D, error) {
		return bson.D{{"removed", true}, {"access", ""}, {"password", ""}, {"hash", ""}}, nil
	})
	// What remains is meaningless without the user. If this is interrupted, calling RemoveUser again removes it, although it
	// returns an error because the user is removed, and so does AddUser.
	if err == nil || entity.IsNotFound(err) {
		if _, forgetErr := c.forgetRemoved(ctx, userID(name)); err == nil {
			err = forgetErr
		}
	}
	if err != nil {
		return fmt.Errorf("failed to delete user %q: %w", name, err)
	}
	return nil
}

// forgetRemoved removes what is recorded in the name of a user who was removed, by id, and could be of use to the next one of
// the name. It returns that user; the zero value if none is removed. It is idempotent, and nothing can be added meanwhile.
func (c *Controller) forgetRemoved(ctx context.Context, id string) (was userDoc, err error) {
	if err := c.db.Get(ctx, usersC, id, &was, "user"); entity.IsNotFound(err) || err == nil && !was.Removed {
		return userDoc{}, nil
	} else if err != nil {
		return was, err
	}
	for _, collection := range []string{modelUsersC, tokensC, sessionsC} {
		if err := c.drop(ctx, collection, bson.D{{"user", id}}); err != nil {
			return was, err
		}
	}
	for _, collection := range []string{modelsC, modelLeftoversC} {
		err := c.inSteps(ctx, collection, bson.D{{"owner", was.Name}, {"disowned", bson.D{{"$exists", false}}}}, func(o *mongo.Ops, of string) {
			o.Update(collection, of, bson.D{{"owner", was.Name}}, bson.D{{"$set", bson.D{{"disowned", true}}}})
		})
		if err != nil {
			return was, err
		}
	}
	return was, c.forgetLogins(ctx, id)
}

// forgetLogins removes the times of a user's logins.
func (c *Controller) forgetLogins(ctx context.Context, id string) error {
	rows, err := c.Models(ctx)
	if err != nil {
		return err
	}
	ids := []string{id}
	for _, row := range rows {
		ids = append(ids, modelUserID(row.UUID, id))
	}
	return c.db.Reading(ctx, loginsC, func(logins *mgo.Collection) error {
		_, err := logins.RemoveAll(bson.D{{"_id", bson.D{{"$in", ids}}}})
		return err
	})
}
