package state

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/mongo"
)

// A User is somebody who works with the controller.
type User struct {
	Name        string // as it was given; users are told apart without regard to case
	DisplayName string
	Access      string // to the controller: "", "login", "add-model" or "superuser"
	Disabled    bool
	CreatedBy   string
	Created     time.Time
	LastLogin   time.Time // zero for never

	password string // see Rights.Password
}

// Stamp returns what Rights.Password was when the user was read.
func (u User) Stamp() string { return u.password }

// A userDoc stays for ever, so that no name is ever somebody else's.
type userDoc struct {
	ID          string    `bson:"_id"` // see userID
	Name        string    `bson:"name"`
	DisplayName string    `bson:"displayname"`
	Access      string    `bson:"access"`
	Password    string    `bson:"password"` // bcrypt's own form; "" while there is none
	Key         string    `bson:"hash"`     // of the key by which a user sets the first password; "" once that is done
	Disabled    bool      `bson:"disabled"`
	Removed     bool      `bson:"removed"`
	CreatedBy   string    `bson:"createdby"`
	Created     time.Time `bson:"created"`
}

// userID is the id of a user's document.
func userID(name string) string { return strings.ToLower(name) }

// stands reports whether the user can log in.
func (d *userDoc) stands() bool { return !d.Removed && !d.Disabled && d.Password != "" }

// facts asserts that what the user may do, and whether they can log in, is as it
// was read.
func (d *userDoc) facts() bson.D {
	return bson.D{{"access", d.Access}, {"disabled", d.Disabled}, {"removed", d.Removed}, {"password", d.Password}}
}

func (d *userDoc) user() User {
	return User{Name: d.Name, DisplayName: d.DisplayName, Access: d.Access, Disabled: d.Disabled, CreatedBy: d.CreatedBy, Created: d.Created,
		password: stampOf(d.Password)}
}

// userDocOf reads a user who has not been removed.
func (c *Controller) userDocOf(name string) (userDoc, error) {
	var doc userDoc
	if err := c.db.Get(usersC, userID(name), &doc, fmt.Sprintf("user %q", name)); err != nil {
		return doc, err
	}
	if doc.Removed {
		return doc, permanentlyDeleted(entity.NotFound, name)
	}
	return doc, nil
}

func permanentlyDeleted(kind entity.Kind, name string) error {
	return entity.WithHint(entity.Errorf(kind, "user %q is permanently deleted", name), "The name of a user is never given again; choose another.")
}

// User returns a user who has not been removed.
func (c *Controller) User(ctx context.Context, name string) (User, error) {
	doc, err := c.userDocOf(name)
	if err != nil {
		return User{}, err
	}
	users, err := c.withLogins([]userDoc{doc})
	if err != nil {
		return User{}, err
	}
	return users[0], nil
}

// Users returns the users who have not been removed, by name; those who are
// disabled only if they are asked for.
func (c *Controller) Users(ctx context.Context, disabled bool) ([]User, error) {
	query := bson.D{{"removed", false}}
	if !disabled {
		query = append(query, bson.DocElem{Name: "disabled", Value: false})
	}
	var docs []userDoc
	if err := c.db.All(usersC, query, &docs); err != nil {
		return nil, err
	}
	sortBy(docs, func(d userDoc) string { return d.Name })
	return c.withLogins(docs)
}

// A loginDoc says when a user last logged in, or logged in at a model. It is
// written directly: a login changes nothing that others rest on.
type loginDoc struct {
	ID string    `bson:"_id"` // a user's, or a modelUserID
	At time.Time `bson:"at"`
}

// NoteLogin remembers that a user has logged in, at a model or ("") at the
// controller.
func (c *Controller) NoteLogin(ctx context.Context, name, model string) error {
	ids := []string{userID(name)}
	if model != "" {
		ids = append(ids, modelUserID(model, name))
	}
	at := c.now()
	return c.db.Reading(loginsC, func(logins *mgo.Collection) error {
		for _, id := range ids {
			if _, err := logins.UpsertId(id, bson.D{{"$set", bson.D{{"at", at}}}}); err != nil {
				return fmt.Errorf("cannot note a login: %w", err)
			}
		}
		return nil
	})
}

// logins returns when the last login of each id was; those without one are absent.
func (c *Controller) logins(ids []string) (map[string]time.Time, error) {
	var docs []loginDoc
	if err := c.db.All(loginsC, bson.D{{"_id", bson.D{{"$in", ids}}}}, &docs); err != nil {
		return nil, err
	}
	at := map[string]time.Time{}
	for _, d := range docs {
		at[d.ID] = d.At
	}
	return at, nil
}

func (c *Controller) withLogins(docs []userDoc) ([]User, error) {
	ids := make([]string, len(docs))
	for i, d := range docs {
		ids[i] = d.ID
	}
	at, err := c.logins(ids)
	users := make([]User, len(docs))
	for i, d := range docs {
		users[i] = d.user()
		users[i].LastLogin = at[d.ID]
	}
	return users, err
}

// AddUserParams describes a new user.
type AddUserParams struct {
	Name        string
	DisplayName string
	Password    string // "" for a key by which the user sets it
	Creator     string
}

// maxDisplayName bounds what users are called, in bytes.
const maxDisplayName = 256

// AddUser adds a user who may log in and no more. Without a password it returns
// a key, which is good for RegisterUser, once, and kept nowhere else. The error is
// AlreadyExists also when a user of that name was removed.
func (c *Controller) AddUser(ctx context.Context, p AddUserParams) (key []byte, err error) {
	doc := userDoc{ID: userID(p.Name), Name: p.Name, DisplayName: p.DisplayName, Access: AccessLogin, CreatedBy: p.Creator, Created: c.now()}
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
	if err == nil {
		err = change(ctx, c.db, func(o *ops) error {
			var there userDoc
			switch err := c.db.Get(usersC, doc.ID, &there, "user"); {
			case err == nil && there.Removed:
				return permanentlyDeleted(entity.AlreadyExists, p.Name)
			case err == nil:
				return entity.WithHint(entity.Errorf(entity.AlreadyExists, "username unavailable"), "The users there are: juju users --all")
			case !isNotFound(err):
				return err
			}
			o.insert(usersC, doc.ID, doc)
			return nil
		})
	}
	if err != nil {
		return nil, fmt.Errorf("failed to create user: %w", err)
	}
	return key, nil
}

// changeUser runs a transaction that sets fields of a user who has not been
// removed. Set returns what is to be set, given the user as they are now; nothing
// for what is so already. What takes a superuser away asserts another's.
func (c *Controller) changeUser(ctx context.Context, name string, set func(userDoc) (bson.D, error)) error {
	return change(ctx, c.db, func(o *ops) error {
		doc, err := c.userDocOf(name)
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
		if err := c.keepSuperuser(o, doc, fields); err != nil {
			return err
		}
		o.update(usersC, doc.ID, append(doc.facts(), bson.DocElem{Name: "hash", Value: doc.Key}), bson.D{{"$set", fields}})
		return nil
	})
}

// keepSuperuser asserts, of a change that makes a superuser less than that, that
// another one stands; there must always be somebody who can undo it.
func (c *Controller) keepSuperuser(o *ops, doc userDoc, fields bson.D) error {
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
	if err := c.db.All(usersC, bson.D{{"access", AccessSuperuser}, {"disabled", false}, {"removed", false}}, &others); err != nil {
		return err
	}
	i := slices.IndexFunc(others, func(d userDoc) bool { return d.ID != doc.ID && is(d) })
	if i < 0 {
		return entity.WithHint(entity.Errorf(entity.InUse, "user %q is the only superuser who can log in", doc.Name),
			"Make somebody else one first: juju grant USER superuser")
	}
	o.assert(usersC, others[i].ID, others[i].facts())
	return nil
}

// DisableUser keeps a user out until EnableUser; open connections lose their
// rights at once.
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

// EnableUser lets a disabled user in again, with the rights they had.
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

// RemoveUser removes a user for good; the name stays taken. Models that the user
// owns stay, and are the superusers'.
func (c *Controller) RemoveUser(ctx context.Context, name string) error {
	err := c.changeUser(ctx, name, func(userDoc) (bson.D, error) {
		return bson.D{{"removed", true}, {"access", ""}, {"password", ""}, {"hash", ""}}, nil
	})
	// Rights that are left mean nothing without the user; should this be cut short,
	// the next attempt goes on, though it is told that there is no such user.
	if err == nil || isNotFound(err) {
		if dropErr := c.dropRights(ctx, bson.D{{"user", userID(name)}}); err == nil {
			err = dropErr
		}
	}
	if err != nil {
		return fmt.Errorf("failed to delete user %q: %w", name, err)
	}
	return nil
}
